/** A hundred hollow nodes on a real control plane: scheduled to, asked for logs and figures, killed, cut off, drained. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Node, Pod } from '../../src/kube/index.js';
import { resources } from '../../src/kube-client/index.js';
import { CleanupStack, type ControlPlane, pollUntil, startControlPlane } from '../env/index.js';
import { type HollowFleet, startHollowFleet } from './hollow-fleet.js';

const nodeCount = 100;
const podCount = 300;
const cleanups = new CleanupStack();
let plane: ControlPlane;
let fleet: HollowFleet;

beforeAll(async () => {
  plane = await startControlPlane({
    cleanups,
    controllers: true,
    scheduler: true,
    // Longer than a lease is renewed in, as short as a test wants it.
    controllerArgs: ['--node-monitor-grace-period=25s', '--node-monitor-period=1s'],
  });
  fleet = await startHollowFleet({
    cleanups,
    plane,
    flags: [`--nodes=${nodeCount}`, '--threads=2', '--nodes-per-second=50', '--cpu=16', '--memory=64Gi'],
  });
  await fleet.until('ready', nodeCount);
});
afterAll(() => cleanups.run());

const kubectl = async (...args: readonly string[]): Promise<string> => (await plane.kubectl(args)).stdout;
const nodes = async (): Promise<readonly Node[]> => (await plane.admin.list(resources.nodes)).items;
const node = (name: string): Promise<Node> => plane.admin.get(resources.nodes, { name });
const pods = async (app: string): Promise<readonly Pod[]> =>
  (await plane.admin.list(resources.pods, { namespace: 'default', labelSelector: `app=${app}` })).items;

function condition(
  { status }: { readonly status?: { readonly conditions?: readonly { type: string; status: string }[] } },
  type: string,
): string | undefined {
  return status?.conditions?.find((one) => one.type === type)?.status;
}

const isReady = (one: Pod): boolean =>
  condition(one, 'Ready') === 'True' && one.metadata.deletionTimestamp === undefined;

async function eventually(what: string, look: () => Promise<boolean>, timeoutMs = 120_000): Promise<void> {
  await pollUntil(what, async () => ((await look()) ? true : undefined), {
    timeoutMs,
    intervalMs: 500,
    detail: () => fleet.process.logs().slice(-3000),
  });
}

function deployment(name: string, replicas: number, annotations: object = {}, spec: object = {}): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name }, annotations },
        spec: {
          terminationGracePeriodSeconds: 1,
          // As soon as the cluster gives a node up, not five minutes later.
          tolerations: ['unreachable', 'not-ready'].map((key) => ({
            key: `node.kubernetes.io/${key}`,
            operator: 'Exists',
            effect: 'NoExecute',
            tolerationSeconds: 1,
          })),
          containers: [
            {
              name: 'app',
              image: 'registry.test/app:1',
              resources: { requests: { cpu: '100m', memory: '64Mi' } },
              readinessProbe: { httpGet: { port: 8080, path: '/ready' }, periodSeconds: 1 },
            },
          ],
          ...spec,
        },
      },
    },
  };
}

it('all nodes are ready, as the machines that they pretend to be', async () => {
  await eventually('all nodes are ready and untainted', async () =>
    (await nodes()).every(
      (one) => condition(one, 'Ready') === 'True' && (one.spec?.taints ?? []).length === 0,
    ),
  );
  const [first] = await nodes();
  expect((await nodes()).length).toBe(nodeCount);
  expect(first?.status?.capacity).toMatchObject({ cpu: '16', memory: '64Gi', pods: '110' });
  expect(first?.metadata.labels).toMatchObject({ 'nodelet.dev/hollow': 'true', 'kubernetes.io/os': 'linux' });
});

it('a Deployment is spread over them and becomes ready', async () => {
  await plane.apply(
    deployment('web', podCount, {
      'sim.nodelet.dev/log': 'hello from a hollow pod',
      'sim.nodelet.dev/usage-cpu': '250m',
      'sim.nodelet.dev/usage-memory': '48Mi',
      'sim.nodelet.dev/probes': '8080/ready=fail:2s+ok',
    }),
  );
  await eventually('all pods are ready', async () => (await pods('web')).filter(isReady).length === podCount);
  const used = new Set((await pods('web')).map(({ spec }) => spec.nodeName));
  expect(used.size).toBeGreaterThan(nodeCount / 2);
  expect(new Set((await pods('web')).map(({ status }) => status?.podIP)).size).toBe(podCount);
});

it('kubectl gets logs and runs commands', async () => {
  const [pod] = await pods('web');
  const name = pod?.metadata.name ?? '';
  expect(await kubectl('logs', name)).toBe('hello from a hollow pod\n');
  expect(await kubectl('exec', name, '--', 'echo', 'in', 'the', 'pod')).toBe('in the pod\n');
  await expect(kubectl('exec', name, '--', 'sh', '-c', 'exit 3')).rejects.toThrow('exit code 3');
});

it("the figures that kubectl top is made of come through the API server's proxy", async () => {
  const [pod] = await pods('web');
  const place = `/api/v1/nodes/${pod?.spec.nodeName}/proxy`;
  const summary = JSON.parse(await kubectl('get', '--raw', `${place}/stats/summary`));
  const measured = summary.pods.find(
    ({ podRef }: { readonly podRef: { readonly name: string } }) => podRef.name === pod?.metadata.name,
  );
  expect(measured.cpu.usageNanoCores).toBe(250_000_000);
  expect(measured.memory.workingSetBytes).toBe(48 * 1024 ** 2);
  const text = await kubectl('get', '--raw', `${place}/metrics/resource`);
  expect(text).toMatch(
    new RegExp(
      `^pod_memory_working_set_bytes\\{namespace="default",pod="${pod?.metadata.name}"\\} 50331648 `,
      'm',
    ),
  );
  const total = new RegExp(`^pod_cpu_usage_seconds_total\\{.*pod="${pod?.metadata.name}"\\} (\\S+) `, 'm');
  expect(Number(total.exec(text)?.[1])).toBeGreaterThan(0.2);
  expect(await kubectl('get', '--raw', `${place}/healthz`)).toBe('ok');
});

it('pods of a node that dies are started elsewhere, and the node comes back', async () => {
  const [victim] = await pods('web');
  const name = victim?.spec.nodeName ?? '';
  expect((await fleet.command('kill', name)).stdout).toBe(`${name}\n`);
  await eventually(
    'the cluster misses the node',
    async () => condition(await node(name), 'Ready') === 'Unknown',
  );
  await eventually('its pods are ready elsewhere', async () => {
    const ready = (await pods('web')).filter(isReady);
    return ready.length === podCount && ready.every(({ spec }) => spec.nodeName !== name);
  });
  await fleet.command('restore', name);
  await eventually('the node is ready again', async () => condition(await node(name), 'Ready') === 'True');
  await eventually('the pods that it had are gone', async () =>
    (await pods('web')).every(({ spec }) => spec.nodeName !== name),
  );
});

it('a node that is cut off for a while comes back with its pods', async () => {
  const [victim] = (await pods('web')).filter(isReady);
  const name = victim?.spec.nodeName ?? '';
  await fleet.command('cut', name);
  await fleet.until('cut', 1);
  await expect(kubectl('get', '--raw', `/api/v1/nodes/${name}/proxy/healthz`)).rejects.toThrow();
  await fleet.command('restore', name);
  expect(await kubectl('get', '--raw', `/api/v1/nodes/${name}/proxy/healthz`)).toBe('ok');
  const before = (await plane.admin.get(resources.leases, { namespace: 'kube-node-lease', name })).spec
    ?.renewTime;
  await eventually('its lease is renewed again', async () => {
    const lease = await plane.admin.get(resources.leases, { namespace: 'kube-node-lease', name });
    return lease.spec?.renewTime !== before;
  });
  const after = (await pods('web')).find(({ metadata }) => metadata.uid === victim?.metadata.uid);
  expect(after?.spec.nodeName).toBe(name);
});

it('kubectl drain empties a node', async () => {
  const [victim] = (await pods('web')).filter(isReady);
  const name = victim?.spec.nodeName ?? '';
  await kubectl('drain', name, '--ignore-daemonsets', '--timeout=60s');
  await eventually('its pods are ready elsewhere', async () => {
    const all = await pods('web');
    return all.filter(isReady).length === podCount && all.every(({ spec }) => spec.nodeName !== name);
  });
});

it('nodes are added and removed while the others run', async () => {
  await fleet.command('add', '--nodes=2', '--name-prefix=extra-', '--cpu=2', '--labels=tier=extra');
  await eventually('the new nodes are ready', async () => {
    const extra = (await nodes()).filter(({ metadata }) => metadata.labels?.tier === 'extra');
    return extra.length === 2 && extra.every((one) => condition(one, 'Ready') === 'True');
  });
  await fleet.command('remove', 'extra-0', 'extra-1');
  const names = (await nodes()).map(({ metadata }) => metadata.name);
  expect(names).not.toContain('extra-0');
  expect(names).toHaveLength(nodeCount);
});

it('Ctrl-C ends all nodes and leaves their Node objects', async () => {
  // Of each of the two threads.
  const { opened } = (await fleet.report()).watches;
  expect(opened).toBeLessThan(2 * 8);
  await fleet.process.end('SIGINT');
  expect(fleet.process.logs()).not.toMatch(/Error|failed/);
  expect(await nodes()).toHaveLength(nodeCount);
});

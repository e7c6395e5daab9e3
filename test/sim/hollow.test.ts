/** Fifty hollow nodes of the library on a simulated API: scripts, deaths, cuts and returns, and nothing left at the end. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createHollowNodes,
  type HollowNodes,
  type Pod,
  SimulatedKubeApi,
  VirtualClock,
} from '../../src/index.js';
import { resources } from '../../src/kube-client/index.js';

const nodeCount = 50;
const names = Array.from({ length: nodeCount }, (_, index) => `hollow-${index}`);

let clock: VirtualClock;
let api: SimulatedKubeApi;
let fleet: HollowNodes;
let problems: string[];

beforeEach(async () => {
  clock = new VirtualClock();
  api = new SimulatedKubeApi({ clock });
  problems = [];
  fleet = createHollowNodes({
    api,
    clock,
    nodes: names.map((name, index) => ({
      name,
      profile: {
        cpus: index % 2 === 0 ? 8 : 64,
        labels: { 'test.example/kind': index % 2 === 0 ? 'small' : 'large' },
      },
    })),
    nodesPerSecond: 100,
    onProblem: (name, message) => void problems.push(`${name}: ${message}`),
  });
  await clock.advance(3_000);
});
afterEach(async () => {
  await fleet.stop();
  expect(clock.pendingTimers).toBe(0);
  expect(api.openWatches).toBe(0);
  expect(problems).toEqual([]);
});

async function createPod(
  name: string,
  nodeName: string,
  script: Readonly<Record<string, string>> = {},
  spec: object = {},
): Promise<void> {
  const annotations = Object.fromEntries(
    Object.entries(script).map(([key, value]) => [`sim.nodelet.dev/${key}`, value]),
  );
  await api.create(resources.pods, {
    metadata: { name, namespace: 'default', annotations },
    spec: { nodeName, containers: [{ name: 'app', image: 'app:1' }], ...spec },
  });
}

const pod = (name: string): Promise<Pod> => api.get(resources.pods, { namespace: 'default', name });
const condition = ({ status }: Pod, type: string): string | undefined =>
  status?.conditions?.find((one) => one.type === type)?.status;
const leaseTime = async (name: string): Promise<string | null | undefined> =>
  (await api.get(resources.leases, { namespace: 'kube-node-lease', name })).spec?.renewTime;

describe('hollow nodes', () => {
  it('are ready, with the capacity of the machines that they pretend to be', async () => {
    const { items } = await api.list(resources.nodes);
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual([...names].sort());
    for (const { metadata, status } of items) {
      const small = metadata.labels?.['test.example/kind'] === 'small';
      expect(status?.capacity).toEqual({
        cpu: small ? '8' : '64',
        memory: '256Gi',
        pods: '110',
        'ephemeral-storage': '536870912k',
      });
      expect(status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True');
    }
    expect(fleet.counts()).toMatchObject({ ready: nodeCount });
  });

  it('join one after another, at the rate that was asked for', async () => {
    const more = Array.from({ length: 30 }, (_, index) => ({ name: `late-${index}` }));
    fleet.add(more);
    await clock.advance(100);
    const early = fleet.counts();
    expect(early.waiting).toBeGreaterThan(15);
    await clock.advance(3_000);
    expect(fleet.counts()).toMatchObject({ ready: nodeCount + 30, waiting: 0 });
  });

  it('share the watches that they have in common', () => {
    const { opened, served } = fleet.watches();
    expect(served).toBeGreaterThanOrEqual(nodeCount * 4);
    expect(api.openWatches).toBe(opened);
    expect(opened).toBeLessThan(8);
  });

  it('run pods by their scripts', async () => {
    await createPod('runs', names[0]!);
    await createPod('ends', names[1]!, { 'run-time': '5s', 'exit-code': '3' }, { restartPolicy: 'Never' });
    await createPod('slow', names[2]!, { 'start-delay': '20s' });
    await createPod(
      'late',
      names[3]!,
      { probes: '8080/ready=fail:15s+ok' },
      {
        containers: [
          {
            name: 'app',
            image: 'app:1',
            readinessProbe: { httpGet: { port: 8080, path: '/ready' }, periodSeconds: 1 },
          },
        ],
      },
    );
    await clock.advance(10_000);
    expect((await pod('runs')).status?.phase).toBe('Running');
    const ended = await pod('ends');
    expect(ended.status?.phase).toBe('Failed');
    expect(ended.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(3);
    expect((await pod('slow')).status?.phase).toBe('Pending');
    expect(condition(await pod('late'), 'Ready')).toBe('False');
    await clock.advance(15_000);
    expect((await pod('slow')).status?.phase).toBe('Running');
    expect(condition(await pod('late'), 'Ready')).toBe('True');
  });

  it.each(['httpGet', 'tcpSocket', 'grpc'] as const)('%s probes find what the script says', async (kind) => {
    const probe = { [kind]: { port: 8080 }, periodSeconds: 1, failureThreshold: 2 };
    await createPod(
      'well',
      names[0]!,
      {},
      { containers: [{ name: 'app', image: 'a', livenessProbe: probe }] },
    );
    await createPod(
      'ill',
      names[0]!,
      { probes: 'fail' },
      {
        containers: [{ name: 'app', image: 'a', livenessProbe: probe }],
      },
    );
    await createPod(
      'deaf',
      names[0]!,
      { probes: '8080=hang' },
      {
        containers: [{ name: 'app', image: 'a', livenessProbe: probe }],
      },
    );
    await clock.advance(10_000);
    expect((await pod('well')).status?.containerStatuses?.[0]?.restartCount).toBe(0);
    expect((await pod('ill')).status?.containerStatuses?.[0]?.restartCount).toBeGreaterThan(0);
    expect((await pod('deaf')).status?.containerStatuses?.[0]?.restartCount).toBeGreaterThan(0);
  });

  it('pods of two nodes never have one address', async () => {
    for (const [index, name] of names.entries()) await createPod(`pod-${index}`, name);
    await clock.advance(5_000);
    const { items } = await api.list(resources.pods);
    expect(new Set(items.map(({ status }) => status?.podIP)).size).toBe(nodeCount);
  });

  it('pods with volumes of every kind run, though nothing is mounted', async () => {
    await createPod(
      'mounts',
      names[0]!,
      {},
      {
        containers: [
          { name: 'app', image: 'a', volumeMounts: [{ name: 'token', mountPath: '/var/run/secrets' }] },
        ],
        volumes: [
          { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
          { name: 'config', configMap: { name: 'not-there' } },
          { name: 'scratch', emptyDir: {} },
        ],
      },
    );
    await clock.advance(3_000);
    expect((await pod('mounts')).status?.phase).toBe('Running');
  });
});

describe('a node that dies', () => {
  it('says nothing any more, and comes back with a new boot and its pods started again', async () => {
    await createPod('web', names[7]!);
    await clock.advance(3_000);
    const node = await api.get(resources.nodes, { name: names[7]! });
    await clock.advance(20_000);
    const [dying, other] = [await leaseTime(names[7]!), await leaseTime(names[8]!)];
    expect(await fleet.kill([names[7]!])).toEqual([{ name: names[7], problem: undefined }]);
    await clock.advance(60_000);
    expect(await leaseTime(names[7]!)).toBe(dying);
    expect(await leaseTime(names[8]!)).not.toBe(other);
    // Its last word stays: to notice the silence is the business of the cluster.
    expect((await pod('web')).status?.phase).toBe('Running');
    expect(fleet.counts()).toMatchObject({ dead: 1, ready: nodeCount - 1 });
    await fleet.restore([names[7]!]);
    await clock.advance(30_000);
    expect(await leaseTime(names[7]!)).not.toBe(dying);
    expect(fleet.counts()).toMatchObject({ dead: 0, ready: nodeCount });
    const again = await api.get(resources.nodes, { name: names[7]! });
    expect(again.metadata.uid).toBe(node.metadata.uid);
    expect(again.status?.nodeInfo?.bootID).not.toBe(node.status?.nodeInfo?.bootID);
    const { status } = await pod('web');
    expect(status?.containerStatuses?.[0]?.restartCount).toBe(1);
    expect(status?.phase).toBe('Running');
  });

  it('a pod that is deleted meanwhile ends when the node is back', async () => {
    await createPod('web', names[7]!);
    await clock.advance(3_000);
    await fleet.kill([names[7]!]);
    await api.delete(resources.pods, { namespace: 'default', name: 'web' });
    await clock.advance(60_000);
    expect((await pod('web')).metadata.deletionTimestamp).toBeDefined();
    await fleet.restore([names[7]!]);
    await clock.advance(60_000);
    await expect(pod('web')).rejects.toThrow('not found');
  });
});

describe('a node that is cut off', () => {
  it('runs its pods on, takes no news, and tells everything when it is back', async () => {
    await createPod('short', names[5]!, { 'run-time': '40s' }, { restartPolicy: 'Never' });
    await clock.advance(10_000);
    const before = await leaseTime(names[5]!);
    await fleet.cut([names[5]!]);
    await createPod('new', names[5]!);
    await clock.advance(60_000);
    expect(await leaseTime(names[5]!)).toBe(before);
    expect((await pod('short')).status?.phase).toBe('Running');
    expect((await pod('new')).status?.phase ?? 'Pending').toBe('Pending');
    expect(fleet.node(names[5]!)?.pods()[0]?.status?.phase).toBe('Succeeded');
    await fleet.restore([names[5]!]);
    await clock.advance(60_000);
    expect((await pod('short')).status?.phase).toBe('Succeeded');
    expect((await pod('new')).status?.phase).toBe('Running');
    expect(await leaseTime(names[5]!)).not.toBe(before);
  });
});

describe('the nodes of a fleet', () => {
  it('can be removed, with their Node objects or without', async () => {
    await fleet.remove([names[0]!]);
    await fleet.remove([names[1]!], { keepsNodes: true });
    await clock.advance(30_000);
    const left = (await api.list(resources.nodes)).items.map(({ metadata }) => metadata.name);
    expect(left).not.toContain(names[0]);
    expect(left).toContain(names[1]);
    expect(fleet.list()).toHaveLength(nodeCount - 2);
  });

  it('a name that is not there is told, and the others are done', async () => {
    expect(await fleet.cut(['nobody', names[2]!])).toEqual([
      { name: 'nobody', problem: 'there is no such node in this process' },
      { name: names[2], problem: undefined },
    ]);
    expect(fleet.counts()).toMatchObject({ cut: 1 });
  });

  it('a name that is taken is refused', () => {
    expect(() => fleet.add([{ name: names[0]! }])).toThrow(`the node ${names[0]} is there already`);
    expect(() => fleet.add([{ name: 'new' }, { name: 'new' }])).toThrow('two of the new nodes have one name');
  });

  it('come through a broken API server', async () => {
    api.setReachable(false);
    await clock.advance(45_000);
    await createPod('later', names[9]!).catch(() => undefined);
    api.setReachable(true);
    await clock.advance(60_000);
    await createPod('last', names[9]!);
    await clock.advance(10_000);
    expect((await pod('last')).status?.phase).toBe('Running');
    expect(fleet.counts()).toMatchObject({ ready: nodeCount });
  });

  it('delete all Node objects at the end when asked to', async () => {
    await fleet.stop({ deletesNodes: true });
    expect((await api.list(resources.nodes)).items).toEqual([]);
  });
});

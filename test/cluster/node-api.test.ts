/** What the node tells of itself and its pods through the API server's proxy: health, pods, statistics, metrics, logs. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Pod } from '../../src/kube/index.js';
import { createTempDir } from '../env/index.js';
import {
  type FamilyRow,
  groupsNotServed,
  notServed,
  ofAgents,
  ofEveryKubelet,
  ofMembers,
  ofOtherPages,
} from '../metric-families.js';
import {
  busybox,
  type Cluster,
  eventually,
  forever,
  phaseIs,
  podManifest,
  shell,
  startCluster,
} from './cluster.js';
import { runKubectl } from './kubectl.js';
import { familiesOf } from './metric-page.js';

let cluster: Cluster;
const isNodelet = (process.env.NODELET_TEST_KUBELET ?? '') === '';
/** The node serves the machine's own directory of logs. */
const logFile = `nodelet-test-${process.pid}`;

beforeAll(async () => {
  cluster = await startCluster({
    node: {
      config: {
        enableSystemLogQuery: true,
        volumeStatsAggPeriod: '1s',
        evictionHard: { 'memory.available': '1Mi' },
      },
    },
  });
  mkdirSync('/var/log', { recursive: true });
  writeFileSync(`/var/log/${logFile}.log`, 'one\ntwo\n');
  await cluster.apply(
    podManifest('busy', {
      containers: [
        { name: 'idle', image: busybox, command: forever },
        {
          name: 'worker',
          image: busybox,
          command: shell('dd if=/dev/zero of=/dev/shm/ballast bs=1M count=20; while :; do :; done'),
          resources: { limits: { cpu: '300m', memory: '128Mi' } },
          readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
        },
      ],
    }),
    podManifest('ended', {
      restartPolicy: 'Never',
      containers: [{ name: 'app', image: busybox, command: ['true'] }],
    }),
  );
  await cluster.untilReady('busy');
  await cluster.untilPod('ended', 'has ended', phaseIs('Succeeded'));
});
afterAll(async () => {
  rmSync(`/var/log/${logFile}.log`, { force: true });
  await cluster?.stop();
});

const proxy = (path: string): string => `/api/v1/nodes/${cluster.node.name}/proxy${path}`;
const get = (path: string): Promise<string> => cluster.kubectl('get', '--raw', proxy(path));
const getJson = async <T>(path: string): Promise<T> => JSON.parse(await get(path));
const getFails = (path: string): Promise<string> => cluster.kubectlFails('get', '--raw', proxy(path));
const post = (path: string) => runKubectl(cluster, ['create', '--raw', proxy(path), '-f', '/dev/null']);

interface Usage {
  readonly time: string;
  readonly usageCoreNanoSeconds?: number;
  readonly usageNanoCores?: number;
  readonly workingSetBytes?: number;
  readonly usedBytes?: number;
  readonly capacityBytes?: number;
}

interface Summary {
  readonly node: {
    readonly nodeName: string;
    readonly cpu: Usage;
    readonly memory: Usage;
    readonly fs: Usage;
    readonly systemContainers?: readonly { readonly name: string; readonly memory: Usage }[];
  };
  readonly pods: readonly {
    readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
    readonly cpu: Usage;
    readonly memory: Usage;
    readonly volume?: readonly (Usage & {
      readonly name: string;
      readonly pvcRef?: { readonly name: string; readonly namespace: string };
    })[];
    readonly 'ephemeral-storage': Usage;
    readonly containers: readonly {
      readonly name: string;
      readonly cpu: Usage;
      readonly memory: Usage;
      readonly rootfs: Usage;
      readonly logs: Usage;
    }[];
  }[];
}

/** The value and the time of a sample. */
function sample(text: string, name: string, labels: readonly string[]): [number, number] {
  const line = text
    .split('\n')
    .find((each) => each.startsWith(`${name}{`) && labels.every((label) => each.includes(label)));
  const [, value, timeMs] = /\} (\S+)(?: (\d+))?$/.exec(line ?? '') ?? [];
  return [Number(value), Number(timeMs)];
}

describe.runIf(isNodelet)('what would happen', () => {
  it('is told of eviction, garbage and a shutdown, and nothing is done', async () => {
    const eviction = await getJson<{ next: string; signals: { signal: string }[] }>('/debug/what-if/evict');
    expect(eviction.next).toMatch(/^The next pass /);
    expect(eviction.signals.map(({ signal }) => signal)).toContain('memory.available');
    const garbage = await getJson<{ containers: { items: { pod: { name: string } }[] } }>(
      '/debug/what-if/gc',
    );
    expect(garbage.containers.items.map(({ pod }) => pod.name)).toContain('ended');
    expect(garbage).toMatchObject({ sandboxes: { omitted: 0 }, logDirectories: { omitted: 0 } });
    expect(await getJson('/debug/what-if/shutdown')).toMatchObject({ delaySeconds: 0 });
    expect((await cluster.pod('ended')).status?.phase).toBe('Succeeded');
  });

  it('is told of a configuration file that was sent', async () => {
    const { path: dir } = await createTempDir('what-if');
    const file = `${dir}/new.yaml`;
    const current = JSON.parse(readFileSync(cluster.node.configFile, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...current, maxPods: 1 }));
    const sent = await cluster.kubectl('create', '--raw', proxy('/debug/what-if/config'), '-f', file);
    rmSync(dir, { recursive: true });
    const told = JSON.parse(sent) as { kind: string; changes: { items: { field: string }[] } };
    expect(told.kind).toBe('accepted');
    expect(told.changes.items.map(({ field }) => field)).toContain('maxPods');
  });
});

describe('statistics', () => {
  it('of the node and its pods are summed up', async () => {
    let seen: Summary | undefined;
    await eventually('the worker has been measured at work', async () => {
      seen = await getJson<Summary>('/stats/summary');
      const worker = seen.pods.flatMap(({ containers }) => containers).find(({ name }) => name === 'worker');
      return (
        (worker?.cpu.usageNanoCores ?? 0) > 10_000_000 && (worker?.memory.workingSetBytes ?? 0) > 20 << 20
      );
    });
    expect(seen?.node.nodeName).toBe(cluster.node.name);
    expect(seen?.node.memory.workingSetBytes).toBeGreaterThan(100 << 20);
    expect(seen?.node.fs.capacityBytes).toBeGreaterThan(1 << 30);
    const system = seen?.node.systemContainers ?? [];
    // The agent's own is told only where it is the same for all controllers, which the machine decides.
    expect(system.map(({ name }) => name)).toContain('pods');
    for (const { memory } of system) expect(memory.workingSetBytes).toBeGreaterThan(1 << 20);
    expect(seen?.pods.map(({ podRef }) => podRef.name)).toEqual(['busy']);
    const [pod] = seen?.pods ?? [];
    const uid = (await cluster.pod('busy')).metadata.uid;
    expect(pod?.podRef).toEqual({ name: 'busy', namespace: 'default', uid });
    const worker = pod?.containers.find(({ name }) => name === 'worker');
    const idle = pod?.containers.find(({ name }) => name === 'idle');
    expect(worker?.cpu.usageNanoCores).toBeLessThan(600_000_000);
    expect(worker?.memory.workingSetBytes).toBeLessThan(128 << 20);
    expect(idle?.memory.workingSetBytes).toBeLessThan(20 << 20);
    expect(worker?.logs.usedBytes).toBeGreaterThan(0);
    expect(worker?.rootfs.capacityBytes).toBeGreaterThan(1 << 30);
    expect(pod?.memory.workingSetBytes).toBeGreaterThanOrEqual(worker?.memory.workingSetBytes ?? 0);
    expect(pod?.cpu.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  it('of volumes are in the summary, and those of claims are metrics', async () => {
    const { path: dir } = await createTempDir('local-volume', { cleanups: cluster.cleanups });
    const storage = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
    const here = { key: 'kubernetes.io/hostname', operator: 'In', values: [cluster.node.name] };
    await cluster.apply(
      {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'kept' },
        spec: {
          ...storage,
          capacity: { storage: '1Gi' },
          local: { path: dir },
          nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [here] }] } },
        },
      },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'kept', namespace: 'default' },
        spec: { ...storage, volumeName: 'kept', resources: { requests: { storage: '1Gi' } } },
      },
      podManifest('stored', {
        volumes: [
          { name: 'scratch', emptyDir: {} },
          { name: 'kept', persistentVolumeClaim: { claimName: 'kept' } },
        ],
        containers: [
          {
            name: 'app',
            image: busybox,
            command: shell('dd if=/dev/zero of=/scratch/file bs=1M count=3; exec sleep 1000000'),
            volumeMounts: [
              { name: 'scratch', mountPath: '/scratch' },
              { name: 'kept', mountPath: '/kept' },
            ],
          },
        ],
      }),
    );
    await cluster.untilReady('stored');
    const stored = async () =>
      (await getJson<Summary>('/stats/summary')).pods.find(({ podRef }) => podRef.name === 'stored');
    const volume = async (name: string) => (await stored())?.volume?.find((one) => one.name === name);
    await eventually('its volumes have been measured', async () => {
      const scratch = await volume('scratch');
      return (scratch?.usedBytes ?? 0) >= 3 << 20 && (await volume('kept')) !== undefined;
    });
    expect(await volume('scratch')).toMatchObject({
      usedBytes: expect.toSatisfy((bytes: number) => bytes < 4 << 20),
      inodesUsed: 2,
    });
    expect(await volume('kept')).toMatchObject({ pvcRef: { name: 'kept', namespace: 'default' } });
    expect((await volume('kept'))?.capacityBytes).toBeGreaterThan(1 << 30);
    const own = (await stored())?.volume?.map(({ name }) => name) ?? [];
    expect(own.filter((name) => !name.startsWith('kube-api-access')).sort()).toEqual(['kept', 'scratch']);
    expect(own).toHaveLength(3);
    expect((await stored())?.['ephemeral-storage'].usedBytes).toBeGreaterThanOrEqual(3 << 20);
    const labels = ['namespace="default"', 'persistentvolumeclaim="kept"'];
    const metrics = await get('/metrics');
    for (const name of [
      'capacity_bytes',
      'available_bytes',
      'used_bytes',
      'inodes',
      'inodes_free',
      'inodes_used',
    ])
      expect(sample(metrics, `kubelet_volume_stats_${name}`, labels)[0], name).toBeGreaterThan(0);
    await cluster.kubectl('delete', 'pod', 'stored', '--now');
  });

  it('of processor and memory alone have nothing else', async () => {
    const { node, pods } = await getJson<Summary>('/stats/summary?only_cpu_and_memory=true');
    expect(Object.keys(node)).not.toContain('fs');
    expect(Object.keys(pods[0]?.containers[0] ?? {})).not.toContain('rootfs');
  });

  it('for autoscalers grow with the work that is done', async () => {
    const read = async () => {
      const text = await get('/metrics/resource');
      expect(text).toContain('\nresource_scrape_error 0\n');
      expect(text).not.toContain('pod="ended"');
      return sample(text, 'container_cpu_usage_seconds_total', ['container="worker"', 'pod="busy"']);
    };
    const [first, firstMs] = await read();
    let [next, nextMs] = [first, firstMs];
    await eventually('there is a newer sample', async () => {
      [next, nextMs] = await read();
      return nextMs > firstMs + 1000;
    });
    const cores = (next - first) / ((nextMs - firstMs) / 1000);
    expect(cores).toBeGreaterThan(0.01);
    expect(cores).toBeLessThan(0.6);
    const memory = sample(await get('/metrics/resource'), 'container_memory_working_set_bytes', [
      'container="worker"',
    ]);
    expect(memory[0]).toBeGreaterThan(20 << 20);
  });

  // The reference asks the containerd at a fixed place for the names, and this is another one.
  it.runIf(isNodelet)('in the form of cAdvisor name the pod and the container', async () => {
    const labels = ['container="worker"', 'namespace="default"', 'pod="busy"', 'image="'];
    const text = await get('/metrics/cadvisor');
    expect(sample(text, 'container_cpu_usage_seconds_total', labels)[0]).toBeGreaterThan(0);
    expect(sample(text, 'container_memory_working_set_bytes', labels)[0]).toBeGreaterThan(20 << 20);
    // Every sample of a container and of its pod names the cgroup.
    expect(text).toMatch(
      /^container_memory_working_set_bytes\{[^}]*pod="busy",container="worker"[^}]*id="\/[^"]+"/m,
    );
    expect(text).not.toMatch(/^container_[^{]*\{[^}]*id=""/m);
  });
});

describe('metrics', () => {
  it('of the kubelet and its probes are there', async () => {
    const text = await get('/metrics');
    for (const name of ['kubelet_running_pods', 'kubelet_node_name', 'kubelet_http_requests_total']) {
      expect(text).toMatch(new RegExp(`^${name}[{ ]`, 'm'));
    }
    expect(text).toMatch(/^kubelet_runtime_operations_total\{operation_type="[^"]+"\} \d+$/m);
    const probes = await get('/metrics/probes');
    const labels = ['container="worker"', 'probe_type="Readiness"', 'result="successful"'];
    expect(sample(probes, 'prober_probe_total', labels)[0]).toBeGreaterThan(0);
    await get('/healthz');
    expect(await get('/metrics/slis')).toMatch(/^kubernetes_healthcheck\{name="ping",type="healthz"\} 1$/m);
  });
});

describe('the node', () => {
  it('is well', async () => {
    expect(await get('/healthz')).toBe('ok');
    expect(await get('/healthz?verbose')).toMatch(/^\[\+\]ping ok\n\[\+\]log ok\n\[\+\]syncloop ok\n/);
  });

  it('lists its pods, and those that run', async () => {
    const { kind, items } = await getJson<{ kind: string; items: Pod[] }>('/pods');
    expect([kind, items.map(({ metadata }) => metadata.name).sort()]).toEqual(['PodList', ['busy', 'ended']]);
    const running = await getJson<{ items: Pod[] }>('/runningpods/');
    const busy = running.items.find(({ metadata }) => metadata.name === 'busy');
    expect(busy?.spec.containers.map(({ name }) => name).sort()).toEqual(['idle', 'worker']);
  });

  it('shows how it is configured', async () => {
    const { kubeletconfig } = await getJson<{ kubeletconfig: Record<string, unknown> }>('/configz');
    expect(kubeletconfig).toMatchObject({
      kind: 'KubeletConfiguration',
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      port: cluster.node.port,
      syncFrequency: '10s',
      enableSystemLogQuery: true,
      authorization: { mode: 'Webhook', webhook: { cacheAuthorizedTTL: '2s' } },
    });
  });

  it('serves its directory of logs, and nothing around it', async () => {
    expect(await get('/logs/')).toContain(`<a href="${logFile}.log">${logFile}.log</a>`);
    expect(await get(`/logs/${logFile}.log`)).toBe('one\ntwo\n');
    expect(await get(`/logs/?query=${logFile}`)).toBe('one\ntwo\n');
    expect(await get('/logs/?query=no-such-service')).toBe('\nlog not found for no-such-service\n');
    expect(await getFails('/logs/?query=../../etc/passwd')).toMatch(
      /^Error from server \(NotAcceptable\): query: Invalid value: \["\.\.\/\.\.\/etc\/passwd"\]: /,
    );
    expect(await getFails('/logs/none.log')).toContain('NotFound');
  });

  it('runs a command in a container', async () => {
    expect(await post('/run/default/busy/idle?cmd=echo+hi')).toMatchObject({ exitCode: 0, text: 'hi\n' });
    expect((await post('/run/default/busy/idle?cmd=false')).stderr).toContain(
      `("command 'false' exited with 1:`,
    );
  });

  it('says why it makes no checkpoint', async () => {
    expect((await post('/checkpoint/default/busy/idle')).stderr).toBe(
      'Error from server (InternalError): an error on the server ("checkpointing of default/busy/idle failed (rpc error: code = Unimplemented desc = method CheckpointContainer not implemented)") has prevented the request from succeeding\n',
    );
    expect((await post('/checkpoint/default/busy/none')).stderr).toContain('NotFound');
  });

  it.each(['/spec/', '/stats/', '/nothing'])('does not know %s', async (path) => {
    expect(await getFails(path)).toContain('NotFound');
  });
});

describe('the metric families of a busy node', () => {
  const byName = (rows: readonly FamilyRow[]) => new Map(rows.map((row) => [row.name, row]));
  const main = byName([...ofEveryKubelet, ...ofMembers, ...ofAgents]);
  const others = byName(ofOtherPages);
  const isLeftOut = (name: string): boolean =>
    name in notServed || Object.keys(groupsNotServed).some((start) => name.startsWith(start));

  it.each(['/metrics', '/metrics/resource', '/metrics/probes', '/metrics/slis'])(
    'of %s have the types, stabilities, labels and buckets of the table',
    async (page) => {
      await get('/healthz');
      const found = familiesOf(await get(page)).filter(({ name }) => isNodelet || !isLeftOut(name));
      expect(found.length).toBeGreaterThan(page === '/metrics' ? 90 : 2);
      const known = page === '/metrics' ? main : others;
      expect(found).toEqual(found.map(({ name }) => known.get(name) ?? `${name} is not in the table`));
    },
  );
});

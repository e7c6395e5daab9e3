/** Start-up and the sync loop as a whole kubelet shows them: what holds it back, and what it does meanwhile. */
import { afterEach, describe, expect, it } from 'vitest';
import { sleep } from '../../src/async/index.js';
import { CriError } from '../../src/cri/index.js';
import { resources } from '../../src/kube-client/index.js';
import type { PodCgroups } from '../../src/kubelet/index.js';
import { Registry } from '../../src/metrics/index.js';
import { ClusterMachine, startMember } from './cluster-machine.js';
import { Machine } from './machine.js';
import { endNodes, hostFacts, minute, type Node, nodeName, second, startNode } from './node.js';
import { apiPod } from './pods.js';
import { startVolumeNode } from './volume-node.js';

afterEach(endNodes);

const down = new CriError('Unavailable', 'no answer');
const refused = new CriError('Unknown', 'it cannot be stopped');

describe('the gate of the sync loop', () => {
  it('handles nothing before the runtime is ready and the PLEG has looked once', async () => {
    const machine = new Machine();
    machine.setCondition('RuntimeReady', false, 'Starting', 'not yet');
    const node = await startNode({ machine });
    node.set([apiPod('a')]);
    await node.advance(20 * second);
    expect(node.kubelet.pods()).toEqual([]);
    expect(node.kubelet.blockers()).toContain(
      'container runtime not ready: RuntimeReady=false reason:Starting message:not yet',
    );
    expect(node.kubelet.blockers()).toContain('container runtime status check may not have completed yet');
    machine.setCondition('RuntimeReady', true);
    await node.untilReady('a', 6 * second);
    expect(node.line.of('runPodSandbox')).toHaveLength(1);
  });

  it('stays closed while the PLEG has yet to be successful', async () => {
    const machine = new Machine();
    const works = machine.faults.add({ rpc: 'listPodSandbox', times: Infinity, error: down });
    const node = await startNode({ machine });
    node.set([apiPod('a')]);
    await node.advance(20 * second);
    expect(node.kubelet.blockers()).toEqual(['PLEG is not healthy: pleg has yet to be successful']);
    expect(node.kubelet.pods()).toEqual([]);
    works();
    await node.untilReady('a', 7 * second);
  });

  it('a runtime that does not tell its version at first is asked again', async () => {
    const machine = new Machine();
    machine.faults.add({ rpc: 'version', times: 2, error: down });
    const node = await startNode({ machine });
    node.set([apiPod('a')]);
    await node.untilReady('a', 2 * second);
    expect(node.recorded('runtime.state')[0]?.message).toBe(
      'the runtime cannot be used yet: rpc error: code = Unavailable desc = no answer',
    );
    expect(node.container('a')?.containerID).toMatch(/^sim:/);
  });

  it('tests again after 0.1, 0.2, 0.4 … 5 s', async () => {
    const machine = new Machine();
    machine.setCondition('RuntimeReady', false);
    const node = await startNode({ machine, events: false });
    node.set([apiPod('a')]);
    await node.advance(0);
    // Ready at 0.25 s, when the status is asked for next; the gate is tested at 0.3 s.
    machine.setCondition('RuntimeReady', true);
    const opened = (): number | undefined =>
      node.recorded('loop.gate').find(({ message }) => message === 'Pods are synchronized')?.timeMs;
    await node.until('the gate opens', () => opened() !== undefined);
    expect(opened()! - node.recorded('loop.gate')[0]!.timeMs).toBe(300);
  });

  it('closes 30 s after the last good status; what failed meanwhile is tried again once it opens', async () => {
    const node = await startNode();
    node.set([apiPod('a')]);
    await node.untilReady('a');
    await node.advance(5 * second);
    const statusWorks = node.machine.faults.add({ rpc: 'status', times: Infinity, error: down });
    const stopWorks = node.machine.faults.add({ rpc: 'stopContainer', times: Infinity, error: refused });
    const sandboxWorks = node.machine.faults.add({ rpc: 'stopPodSandbox', times: Infinity, error: refused });
    await node.advance(22 * second);
    expect(node.kubelet.blockers()).toEqual([]);
    node.delete('a', 30);
    await node.advance(second);
    expect(node.line.of('stopContainer')).toHaveLength(1);
    expect(node.events('a', 'FailedKillPod').length).toBe(1);
    await node.advance(minute);
    expect(node.kubelet.blockers()).toEqual(['container runtime is down']);
    expect(node.recorded('loop.gate').at(-1)?.because).toBe('container runtime is down');
    expect(node.line.of('stopContainer')).toHaveLength(1);
    expect(node.machine.running('a')).toHaveLength(1);
    stopWorks();
    sandboxWorks();
    statusWorks();
    await node.untilStopped('a', 15 * second);
    await node.until('the pod is finished', () => node.recorded('pod.finished', 'a').length === 1);
    expect(node.status('a')?.phase).toBe('Failed');
  });

  it('closes when the PLEG was last active more than 3 min ago, and opens again', async () => {
    const node = await startNode({ events: false });
    node.set([apiPod('a')]);
    await node.untilReady('a');
    const works = node.machine.faults.add({ rpc: 'listContainers', times: Infinity, error: down });
    await node.advance(3 * minute - second);
    expect(node.kubelet.blockers()).toEqual([]);
    await node.advance(3 * second);
    expect(node.kubelet.blockers()).toEqual([
      expect.stringMatching(/^PLEG is not healthy: pleg was last seen active 3m\S+ ago; threshold is 3m0s$/),
    ]);
    node.put(apiPod('b'));
    await node.advance(10 * second);
    expect(node.status('b')).toBeUndefined();
    works();
    await node.untilReady('b', 10 * second);
    expect(node.kubelet.blockers()).toEqual([]);
    expect(node.machine.running('a')).toHaveLength(1);
    expect(node.line.of('startContainer')).toHaveLength(2);
  });
});

describe('the network', () => {
  it('holds back pods that need one of their own, for 1 to 1.5 s at a time', async () => {
    const machine = new Machine();
    machine.setCondition('NetworkReady', false, 'NoPlugin', 'cni is not there');
    const node = await startNode({ machine });
    node.set([apiPod('own'), apiPod('host', { spec: { hostNetwork: true } })]);
    await node.untilReady('host');
    await node.advance(10 * second);
    const events = node.events('own', 'NetworkNotReady');
    expect(events[0]?.message).toBe(
      'network is not ready: container runtime network not ready: NetworkReady=false reason:NoPlugin message:cni is not there',
    );
    const gaps = events.slice(1).map(({ timeMs }, index) => timeMs - events[index]!.timeMs);
    expect(gaps.length).toBeGreaterThanOrEqual(6);
    for (const gap of gaps) {
      expect(gap).toBeGreaterThanOrEqual(1_000);
      expect(gap).toBeLessThan(1_600);
    }
    expect(node.machine.seenSandboxes('own')).toEqual([]);
    machine.setCondition('NetworkReady', true);
    await node.untilReady('own', 7 * second);
  });
});

describe('the health of the loop', () => {
  it('fails when the loop hangs for more than 5 min', async () => {
    let isHanging = false;
    const machine = new Machine();
    const unused = async (): Promise<void> => {};
    const cgroups: PodCgroups = {
      list: async () => {
        if (isHanging) await sleep(machine.time, 6 * minute);
        return [];
      },
      exists: async () => true,
      ensure: unused,
      destroy: unused,
      destroyLater: () => {},
      minimizeCpu: unused,
      parentOf: () => '',
    };
    const node = await startNode({ machine, kubelet: { cgroups, config: { syncFrequency: minute } } });
    const syncLoop = (): string | undefined =>
      node.kubelet.healthChecks.find(({ name }) => name === 'syncloop')!.check();
    node.set([apiPod('a')]);
    await node.untilReady('a');
    isHanging = true;
    await node.advance(5 * minute);
    expect(syncLoop()).toBeUndefined();
    await node.advance(10 * second);
    expect(syncLoop()).toBe('sync Loop took longer than expected');
    isHanging = false;
    await node.advance(2 * minute);
    expect(syncLoop()).toBeUndefined();
  });

  it('is good as long as the loop was never entered', async () => {
    const machine = new Machine();
    machine.setCondition('RuntimeReady', false);
    const node = await startNode({ machine });
    await node.advance(10 * minute);
    expect(node.kubelet.healthChecks[0]!.check()).toBeUndefined();
  });
});

describe('what the runtime shows', () => {
  const syncs = 'kubelet_pod_worker_duration_seconds_count';

  it('a container that is removed leads to no sync', async () => {
    const node = await startNode({ events: false });
    node.set([
      apiPod('a', {
        containers: ['once', 'app'],
        sim: { 'once.run-time': '1s' },
        spec: { restartPolicy: 'OnFailure' },
      }),
    ]);
    await node.until('one has ended', () => node.container('a', 'once')?.state?.terminated !== undefined);
    await node.advance(5 * second);
    const before = node.metric(syncs, { operation_type: 'sync' });
    const exited = node.machine.seenContainers('a').find(({ state }) => state === 'exited')!;
    await node.machine.removeContainer({ containerId: exited.id });
    await node.advance(5 * second);
    expect(node.metric(syncs, { operation_type: 'sync' })).toBe(before);
    expect(node.container('a', 'once')?.state?.terminated?.exitCode).toBe(0);
  });

  it('the death of a container of no known pod is no sync, but its remains are removed', async () => {
    const first = await startNode();
    first.set([apiPod('a')]);
    await first.untilReady('a');
    await first.crash();
    const node = await startNode({ machine: first.machine });
    node.set([]);
    await node.untilStopped('a');
    await node.until(
      'the container is removed',
      () => node.machine.seenContainers('a').length === 0,
      10 * second,
    );
    expect(node.metric(syncs, { operation_type: 'sync' })).toBeUndefined();
  });
});

describe('sources', () => {
  it('a pod that goes before all sources are ready is stopped once they are', async () => {
    const node = await startNode({ sources: ['api', 'file'] });
    node.set([apiPod('a')]);
    await node.untilReady('a');
    node.set([]);
    await node.advance(10 * second);
    expect(node.machine.running('a')).toHaveLength(1);
    expect(node.recorded('pod.remove', 'a')).toHaveLength(1);
    node.set([], 'file');
    await node.untilStopped('a', 3 * second);
    expect(node.line.of('stopContainer').map(({ request }) => request.timeout)).toEqual([30]);
  });

  it('what runs without being configured is not touched before all sources are ready', async () => {
    const first = await startNode();
    first.set([apiPod('a'), apiPod('b')]);
    await first.untilReady('a');
    await first.untilReady('b');
    await first.crash();
    const node = await startNode({ machine: first.machine, sources: ['api', 'file'] });
    node.set([apiPod('b')]);
    await node.advance(30 * second);
    expect(node.machine.running()).toHaveLength(2);
    node.set([], 'file');
    await node.untilStopped('a', 5 * second);
    expect(node.machine.running('b')).toHaveLength(1);
    expect(node.line.of('startContainer')).toEqual([]);
  });

  it('a pod that goes without having been deleted gets its full grace period', async () => {
    const node = await startNode();
    node.set([apiPod('a', { graceSeconds: 45, sim: { 'ignores-term': 'true' } })]);
    await node.untilReady('a');
    node.set([]);
    await node.advance(44 * second);
    expect(node.machine.running('a')).toHaveLength(1);
    await node.untilStopped('a', 2 * second);
    expect(node.line.of('stopContainer').map(({ request }) => request.timeout)).toEqual([45]);
    expect(node.machine.seenContainers('a').every(({ exitCode }) => exitCode === 137)).toBe(true);
  });
});

describe('what a machine is warned of', () => {
  it.each([
    [
      1,
      [
        'Warning CgroupV1 cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1',
      ],
    ],
    [2, []],
  ] as const)('cgroup v%d', async (cgroupVersion, told) => {
    const registry = new Registry();
    const node = await startNode({ kubelet: { host: { ...hostFacts, cgroupVersion }, registry } });
    expect(warnings(node, 'CgroupV1')).toEqual(told);
    expect(registry.text()).toContain(`kubelet_cgroup_version ${cgroupVersion}\n`);
  });

  it.each([
    [true, 'kubelet is posting ready status'],
    [false, 'kubelet is posting ready status. WARNING: CPU hardcapping unsupported'],
  ])('CPU quotas %s: the node is ready all the same', async (isCpuQuotaAvailable, message) => {
    const on = new ClusterMachine();
    const host = { ...hostFacts, cgroupVersion: 1, isCpuQuotaAvailable } as const;
    const config = { localStorageCapacityIsolation: false };
    const member = await startMember({ on, kubelet: { host, config } });
    await member.node.advance(30 * second);
    const { status } = await on.api.get(resources.nodes, { name: nodeName });
    expect(status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'True',
      message,
    });
  });

  const onDisk = 'PossibleMemoryBackedVolumesOnDisk';
  it.each<[rule: string, swapCapacityBytes: number, kernelRelease: string, refuses: boolean, told: number]>([
    ['swap and an old kernel', 1024, '5.14.0', true, 1],
    ['swap and an old kernel that can', 1024, '5.14.0', false, 0],
    ['swap and a new kernel', 1024, '6.4.0', false, 0],
    ['no swap', 0, '5.14.0', true, 0],
  ])('volumes in memory: %s', async (_, swapCapacityBytes, kernelRelease, refuses, told) => {
    const host = { ...hostFacts, swapCapacityBytes };
    const started = await startVolumeNode({ kernelRelease, kubelet: { host } });
    let left = refuses ? 1 : 0;
    started.host.inject({
      at: ({ operation }) => operation === 'mount' && left-- > 0,
      when: 'before',
      effect: { kind: 'fail', code: 'EINVAL' },
    });
    const volumes = [{ name: 'v', emptyDir: { medium: 'Memory' as const } }];
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    const containers = [{ name: 'app', image: 'app:1', volumeMounts }];
    started.node.set([apiPod('p', { containers, spec: { volumes } })]);
    await started.node.untilReady('p');
    expect(warnings(started.node, onDisk)).toEqual(
      Array<string>(told).fill(
        `Warning ${onDisk} The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.`,
      ),
    );
  });
});

const warnings = (node: Node, reason: string): string[] =>
  node.entries
    .filter(({ event }) => event?.reason === reason)
    .map(({ event, message }) => `${event?.type} ${event?.reason} ${message}`);

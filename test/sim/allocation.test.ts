/** Pods that ask for other resources while they run: what is given, what waits, and what a restart makes of it. */
import { afterEach, describe, expect, it } from 'vitest';
import { sleep } from '../../src/async/index.js';
import { resolveFeatureGates } from '../../src/config/index.js';
import { CriError } from '../../src/cri/index.js';
import { SimulatedMachine } from '../../src/host/index.js';
import type { Container, Node as NodeObject, Pod, PodCondition } from '../../src/kube/index.js';
import { parseResourceCheckpoint } from '../../src/kube/index.js';
import type { AdmissionRule } from '../../src/kubelet/admission/admission.js';
import { enoughResources } from '../../src/kubelet/admission/node-fit.js';
import { explainPod, explanationText } from '../../src/timeline/index.js';
import { Machine } from './machine.js';
import { endNodes, minute, type Node, type NodeOptions, nodeName, second, startNode } from './node.js';
import { apiPod, type PodShape } from './pods.js';
import { Outside, rootDir, startVolumeNode, type VolumeNode } from './volume-node.js';

afterEach(endNodes);

const nodeOf = (cpu: string): NodeObject => ({
  metadata: { name: nodeName, labels: {} },
  status: { allocatable: { cpu, memory: '8Gi', pods: '110' } },
});
const kubeletOf = (cpu = '2'): NodeOptions['kubelet'] => ({ node: () => nodeOf(cpu) });

function asking(name: string, cpu: string, shape: PodShape & { generation?: number } = {}): Pod {
  const container: Container = { name: 'app', image: 'app:1', resources: { requests: { cpu } } };
  const pod = apiPod(name, { containers: [container], ...shape });
  return { ...pod, metadata: { ...pod.metadata, generation: shape.generation ?? 1 } };
}

const condition = (node: Node, name: string, type: string): PodCondition | undefined =>
  node.status(name)?.conditions?.find((one) => one.type === type);
const pending = (node: Node, name: string): PodCondition | undefined =>
  condition(node, name, 'PodResizePending');
const given = (node: Node, name: string): string | undefined => node.container(name)?.allocatedResources?.cpu;

const tooMuch = (requested: number, used: number, capacity: number): string =>
  `Node didn't have enough resource: cpu, requested: ${requested}, used: ${used}, capacity: ${capacity}`;

describe('a resize', () => {
  it('with room is recorded, made real and told', async () => {
    const node = await startNode({ kubelet: kubeletOf() });
    node.put(asking('a', '1'));
    await node.untilReady('a');
    const [before] = node.machine.running('a');
    node.put(asking('a', '1500m', { generation: 2 }));
    await node.until('it is completed', () => node.reasons('a').includes('ResizeCompleted'));
    expect(node.reasons('a').filter((reason) => reason.startsWith('Resize'))).toEqual([
      'ResizeStarted',
      'ResizeCompleted',
    ]);
    expect(node.events('a', 'ResizeStarted')[0]?.message).toBe(
      'Pod resize started: {"containers":[{"name":"app","resources":{"requests":{"cpu":"1500m"}}}],"generation":2}',
    );
    expect(given(node, 'a')).toBe('1500m');
    expect(node.machine.running('a')).toEqual([before]);
    await node.advance(second);
    expect(condition(node, 'a', 'PodResizeInProgress')).toBeUndefined();
    expect(
      node.metric('kubelet_container_requested_resizes_total', {
        resource: 'cpu',
        requirement: 'requests',
        operation: 'increase',
      }),
    ).toBe(1);
  });

  it('takes two syncs: one makes it real, one sees it done', async () => {
    const node = await startNode({ kubelet: kubeletOf() });
    node.put(asking('a', '1'));
    await node.untilReady('a');
    await node.advance(5 * second);
    // A type without a sync yet has no figure.
    const counted = (type: string): number =>
      node.metric('kubelet_pod_worker_duration_seconds_count', { operation_type: type }) || 0;
    const before = counted('update') + counted('sync');
    node.put(asking('a', '1500m', { generation: 2 }));
    await node.until('it is done', () => node.reasons('a').includes('ResizeCompleted'));
    await node.advance(5 * second);
    expect(counted('update') + counted('sync') - before).toBe(2);
  });

  it('of a pod at rest asks the runtime nothing before it is made real', async () => {
    const node = await startNode({ kubelet: kubeletOf() });
    node.put(asking('a', '1'));
    await node.untilReady('a');
    // Until a sync has looked at a later moment than that at which the pod was started.
    await node.advance(2 * minute);
    const before = node.line.calls.length;
    node.put(asking('a', '1500m', { generation: 2 }));
    await node.until('it is done', () => node.reasons('a').includes('ResizeCompleted'));
    const methods = node.line.calls.slice(before).map(({ method }) => method);
    expect(methods.slice(0, methods.indexOf('updateContainerResources'))).toEqual([
      'updatePodSandboxResources',
    ]);
  });

  it('of a pod whose containers are known has nothing listed before it is told', async () => {
    const node = await startNode({ kubelet: kubeletOf() });
    node.put(asking('a', '1'));
    await node.untilReady('a');
    await node.advance(2 * minute);
    const before = node.line.calls.length;
    node.put(asking('a', '1500m', { generation: 2 }));
    await node.until('it is done', () => node.reasons('a').includes('ResizeCompleted'));
    const methods = node.line.calls.slice(before).map(({ method }) => method);
    expect(new Set(methods.slice(methods.indexOf('updateContainerResources') + 1))).toEqual(
      new Set(['podSandboxStatus', 'containerStatus']),
    );
    expect(node.container('a')?.resources?.requests?.cpu).toBe('1500m');
  });

  it('that the runtime takes its time for is shown to be under way', async () => {
    let isSlow = false;
    const node = await startNode({
      kubelet: kubeletOf(),
      through: (machine) => ({
        ...machine,
        updateContainerResources: async (request, options) => {
          if (isSlow) await sleep(machine.time, 10 * second);
          return machine.updateContainerResources(request, options);
        },
      }),
    });
    node.put(asking('a', '1'));
    await node.untilReady('a');
    isSlow = true;
    node.put(asking('a', '1500m', { generation: 2 }));
    await node.advance(5 * second);
    expect(condition(node, 'a', 'PodResizeInProgress')).toMatchObject({
      status: 'True',
      observedGeneration: 2,
    });
    expect(node.reasons('a')).not.toContain('ResizeCompleted');
    await node.until('it is completed', () => node.reasons('a').includes('ResizeCompleted'));
    await node.advance(second);
    expect(condition(node, 'a', 'PodResizeInProgress')).toBeUndefined();
  });

  it('that fails says why once, is tried at each sync, and is completed for the same spec', async () => {
    let isBroken = false;
    const node = await startNode({
      kubelet: kubeletOf(),
      through: (machine) => ({
        ...machine,
        updateContainerResources: async (request, options) => {
          if (isBroken) throw new CriError('Internal', 'the kernel refuses');
          return machine.updateContainerResources(request, options);
        },
      }),
    });
    node.put(asking('a', '1'));
    await node.untilReady('a');
    isBroken = true;
    node.put(asking('a', '1500m', { generation: 2 }));
    const failed = (): boolean => condition(node, 'a', 'PodResizeInProgress')?.reason === 'Error';
    await node.until('it fails', failed);
    const first = node.line.of('updateContainerResources').length;
    await node.advance(5 * minute);
    expect(node.line.of('updateContainerResources').length).toBeGreaterThan(first + 2);
    expect(condition(node, 'a', 'PodResizeInProgress')).toMatchObject({
      status: 'True',
      reason: 'Error',
      message: expect.stringContaining('the kernel refuses'),
      observedGeneration: 2,
    });
    const events = node.events('a', 'ResizeError').map(({ message }) => message);
    expect(events).toEqual([
      expect.stringMatching(
        /^Pod resize error: \{"containers":\[\{"name":"app","resources":\{"requests":\{"cpu":"1500m"\}\}\}\],"generation":2,"error":".*the kernel refuses/,
      ),
    ]);
    isBroken = false;
    await node.until('it is completed', () => node.reasons('a').includes('ResizeCompleted'), 5 * minute);
    expect(node.events('a', 'ResizeCompleted')[0]?.message).toContain('"generation":2}');
    await node.advance(second);
    expect(condition(node, 'a', 'PodResizeInProgress')).toBeUndefined();
    expect(node.machine.running('a').map(({ attempt }) => attempt)).toEqual([0]);
  });

  it('without room waits, tells why once, and is accepted when the other pod goes', async () => {
    const node = await startNode({ kubelet: kubeletOf('4') });
    node.put(asking('other', '2'));
    node.put(asking('a', '1'));
    await node.untilReady('other');
    await node.untilReady('a');
    node.put(asking('a', '5', { generation: 2 }));
    await node.until('it waits', () => pending(node, 'a') !== undefined);
    expect(pending(node, 'a')).toMatchObject({
      status: 'True',
      reason: 'Deferred',
      message: tooMuch(5000, 2000, 4000),
      observedGeneration: 2,
    });
    expect(
      node.metric('kubelet_pod_pending_resizes', { reason: 'deferred', priority_bucket: 'normal' }),
    ).toBe(1);
    await node.advance(4 * minute);
    const events = node.events('a', 'ResizeDeferred');
    expect(events).toHaveLength(1);
    expect(events[0]?.message).toMatch(
      /^Pod resize OutOfcpu: \{"containers":\[.*"generation":2,"error":"Node/,
    );
    const { timeline } = node.kubelet;
    const text = explanationText(explainPod(timeline.ofPod('uid-of-a'), timeline.ofNode(), node.clock.now()));
    expect(text).toContain('Given: cpu 1; asked for: cpu 5\n');
    expect(text).toContain(
      `Waits for:\n  its resize to cpu 5, having cpu 1: Deferred (OutOfcpu): ${tooMuch(5000, 2000, 4000)}\n`,
    );
    expect(text).toContain('end or shrink pods that hold cpu, or ask for less');
    expect(given(node, 'a')).toBe('1');
    const allocated = node.kubelet.allocatedPods().find(({ metadata }) => metadata.name === 'a');
    expect(allocated?.spec.containers[0]?.resources?.requests?.cpu).toBe('1');
    node.put(asking('a', '4', { generation: 3 }));
    await node.until('it is told anew', () => node.events('a', 'ResizeDeferred').length === 2);
    await node.until('for the new spec', () => pending(node, 'a')?.observedGeneration === 3);
    node.drop('other');
    await node.until('it is given', () => given(node, 'a') === '4');
    await node.advance(second);
    expect(pending(node, 'a')).toBeUndefined();
    const accepted = 'kubelet_pod_deferred_accepted_resizes_total';
    expect(node.metric(accepted, { retry_trigger: 'pods_removed' })).toBe(1);
    expect(
      node.metric('kubelet_pod_pending_resizes', { reason: 'deferred', priority_bucket: 'normal' }),
    ).toBe(0);
  });

  it('that is taken back waits no more', async () => {
    const node = await startNode({ kubelet: kubeletOf() });
    node.put(asking('a', '1'));
    await node.untilReady('a');
    node.put(asking('a', '3', { generation: 2 }));
    await node.until('it waits', () => pending(node, 'a') !== undefined);
    node.put(asking('a', '1', { generation: 3 }));
    await node.until('it does not', () => pending(node, 'a') === undefined);
    expect(node.line.of('updateContainerResources')).toEqual([]);
    expect(
      node.metric('kubelet_pod_deferred_resize_duration_seconds_count', {
        resolution: 'reverted',
        priority_bucket: 'normal',
      }),
    ).toBe(1);
  });

  it.each<[string, string, (node: Node) => void]>([
    ['ends', 'pod_terminated', () => undefined],
    ['shrinks', 'pod_resized', (node) => node.put(asking('other', '100m', { generation: 2 }))],
  ])('is accepted when another pod %s', async (what, trigger, change) => {
    const node = await startNode({ kubelet: kubeletOf() });
    const ends = { spec: { restartPolicy: 'Never' as const }, sim: { 'run-time': '30s' } };
    node.put(asking('other', '1', what === 'ends' ? ends : {}));
    node.put(asking('a', '1'));
    await node.untilReady('a');
    await node.untilReady('other');
    node.put(asking('a', '1500m', { generation: 2 }));
    await node.until('it waits', () => pending(node, 'a') !== undefined);
    change(node);
    await node.until('it is given', () => given(node, 'a') === '1500m');
    expect(node.metric('kubelet_pod_deferred_accepted_resizes_total', { retry_trigger: trigger })).toBe(1);
  });

  it('of a Guaranteed pod cannot be done beside pinned CPUs, and is not tried again', async () => {
    const node = await startNode({
      kubelet: { ...kubeletOf(), config: { cpuManagerPolicy: 'static', systemReserved: { cpu: '1' } } },
    });
    const whole = (cpu: string, generation: number): Pod =>
      asking('a', cpu, {
        generation,
        containers: [
          {
            name: 'app',
            image: 'app:1',
            resources: { requests: { cpu, memory: '1Gi' }, limits: { cpu, memory: '1Gi' } },
          },
        ],
      });
    node.put(whole('1', 1));
    await node.untilReady('a');
    node.put(whole('1500m', 2));
    await node.until('it is refused', () => pending(node, 'a') !== undefined);
    expect(pending(node, 'a')).toMatchObject({
      reason: 'Infeasible',
      message: 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
    });
    await node.advance(10 * minute);
    expect(
      node.metric('kubelet_pod_infeasible_resizes_total', {
        reason_detail: 'guaranteed_pod_cpu_manager_static_policy',
      }),
    ).toBe(1);
    expect(node.reasons('a')).toContain('ResizeInfeasible');
  });

  it('of a critical pod has others make room', async () => {
    const node = await startNode({ kubelet: kubeletOf() });
    const critical = { spec: { priority: 2_000_000_000 } };
    node.put(asking('small', '1'));
    node.put(asking('a', '1', critical));
    await node.untilReady('a');
    await node.untilReady('small');
    node.put(asking('a', '1500m', { ...critical, generation: 2 }));
    await node.until('it is given', () => given(node, 'a') === '1500m');
    expect(node.status('small')).toMatchObject({ phase: 'Failed', reason: 'Preempting' });
  });

  it('of a critical pod waits where the scheduler makes room', async () => {
    const { gates } = resolveFeatureGates({ InPlacePodVerticalScalingSchedulerPreemption: true });
    const node = await startNode({ kubelet: { ...kubeletOf(), gates } });
    const critical = { spec: { priority: 2_000_000_000 } };
    node.put(asking('small', '1'));
    node.put(asking('a', '1', critical));
    await node.untilReady('a');
    await node.untilReady('small');
    node.put(asking('a', '1500m', { ...critical, generation: 2 }));
    await node.until('it waits', () => pending(node, 'a')?.reason === 'Deferred');
    expect(pending(node, 'a')?.message).toBe(tooMuch(1500, 1000, 2000));
    expect(node.status('small')?.phase).toBe('Running');
  });

  it('that waits is tried when three minutes have passed, not for a pod that comes', async () => {
    const tried: string[] = [];
    const room = enoughResources(() => nodeOf('2'));
    const counted: AdmissionRule = {
      ...room,
      admit: (attempt) => {
        if (attempt.operation === 'resize') tried.push(attempt.pod.metadata.name ?? '');
        return room.admit(attempt);
      },
    };
    const node = await startNode({ kubelet: { ...kubeletOf(), admission: [counted] } });
    node.put(asking('other', '1'));
    node.put(asking('a', '500m'));
    await node.untilReady('a');
    await node.untilReady('other');
    node.put(asking('a', '1500m', { generation: 2 }));
    await node.until('it waits', () => pending(node, 'a')?.reason === 'Deferred');
    expect(tried).toEqual(['a']);
    await node.advance(5 * second);
    node.put(asking('new', '100m'));
    await node.untilReady('new');
    await node.advance(2 * minute);
    expect(tried).toEqual(['a']);
    await node.advance(minute);
    expect(tried).toEqual(['a', 'a']);
    await node.advance(3 * minute);
    expect(tried).toEqual(['a', 'a', 'a']);
    expect(node.events('a', 'ResizeDeferred')).toHaveLength(1);
  });
});

it('the update of a refused pod starts nothing', async () => {
  const node = await startNode({ kubelet: kubeletOf() });
  node.put(asking('a', '3'));
  await node.untilPhase('a', 'Failed');
  node.put(asking('a', '1', { generation: 2 }));
  await node.advance(5 * second);
  expect(node.status('a')).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu' });
  expect(node.machine.running('a')).toEqual([]);
});

describe('after a restart', () => {
  interface World {
    readonly machine: Machine;
    readonly files: SimulatedMachine;
  }
  const start = (world: World, more: Partial<NodeOptions> = {}): Promise<VolumeNode> =>
    startVolumeNode({ ...world, kubelet: kubeletOf(), ...more });
  const path = `${rootDir}/allocated_pods_state`;

  it('nobody is refused for a resize that was not given', async () => {
    const world = { machine: new Machine(), files: new SimulatedMachine() };
    const first = await start(world);
    first.node.set([asking('a', '1'), asking('b', '1')]);
    await first.node.untilReady('a');
    await first.node.untilReady('b');
    const before = world.machine.running();
    first.node.set([asking('a', '1500m', { generation: 2 }), asking('b', '1')]);
    await first.node.until('it waits', () => pending(first.node, 'a') !== undefined);
    const waiting = first.node.pod('a')!;
    await first.crash();
    const next = await start(world);
    next.node.set([waiting, asking('b', '1')]);
    await next.node.untilReady('a');
    await next.node.untilReady('b');
    expect(pending(next.node, 'a')).toMatchObject({ reason: 'Deferred', observedGeneration: 2 });
    await next.node.advance(minute);
    expect(world.machine.running()).toEqual(before);
    expect([given(next.node, 'a'), given(next.node, 'b')]).toEqual(['1', '1']);
    expect(next.node.status('b')?.phase).toBe('Running');
    next.node.drop('b');
    await next.node.until('it is given', () => given(next.node, 'a') === '1500m');
  });

  it('nobody is refused for a spec that changed meanwhile, nor for a pod that came meanwhile', async () => {
    const world = { machine: new Machine(), files: new SimulatedMachine() };
    const first = await start(world);
    first.node.set([asking('a', '1'), asking('b', '1')]);
    await first.node.untilReady('a');
    await first.node.untilReady('b');
    await first.crash();
    const next = await start(world);
    const old = asking('early', '1');
    const early = { ...old, metadata: { ...old.metadata, creationTimestamp: '2025-01-01T00:00:00Z' } };
    next.node.set([asking('a', '1500m', { generation: 2 }), asking('b', '1'), early]);
    await next.node.untilReady('a');
    await next.node.untilReady('b');
    expect(next.node.status('early')).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu' });
    await next.node.until('it waits', () => pending(next.node, 'a') !== undefined);
    expect(world.machine.running('b')).toHaveLength(1);
  });

  it('the file is that of the reference, and a removal alone does not write it', async () => {
    const world = { machine: new Machine(), files: new SimulatedMachine() };
    const { node } = await start(world);
    const outside = new Outside(world.files);
    node.set([]);
    await node.advance(second);
    expect(await outside.text(path)).toBeUndefined();
    node.set([asking('a', '1'), asking('b', '1')]);
    await node.untilReady('a');
    await node.untilReady('b');
    const text = await outside.text(path);
    expect([...parseResourceCheckpoint(text ?? '').keys()]).toEqual(['uid-of-a', 'uid-of-b']);
    node.drop('b');
    await node.untilStopped('b');
    await node.advance(minute);
    expect(await outside.text(path)).toBe(text);
  });

  it.each([
    ['broken', '{"data":"{}","checksum":1}'],
    ['gone', undefined],
  ])('with a file that is %s pods that run stay, with what they have', async (what, text) => {
    const world = { machine: new Machine(), files: new SimulatedMachine() };
    const first = await start(world);
    first.node.set([asking('a', '1'), asking('b', '1')]);
    await first.node.untilReady('a');
    await first.node.untilReady('b');
    const before = world.machine.running();
    await first.crash();
    const outside = new Outside(world.files);
    if (text !== undefined) await outside.write(path, text);
    else await outside.remove(path);
    const next = await start(world);
    next.node.set([asking('a', '1500m', { generation: 2 }), asking('b', '1')]);
    await next.node.until('it waits', () => pending(next.node, 'a') !== undefined);
    await next.node.untilReady('b');
    expect(world.machine.running()).toEqual(before);
    expect([given(next.node, 'a'), given(next.node, 'b')]).toEqual(['1', '1']);
    const warnings = next.node.events(undefined, 'CheckpointSetAside').map(({ message }) => message);
    expect(warnings.some((message) => message.startsWith(path))).toBe(what === 'broken');
  });

  it.each([
    ['the API knows what they have', true],
    ['nobody knows what they have', false],
  ])('with both files broken pods that run stay: %s', async (_, isTold) => {
    const world = { machine: new Machine(), files: new SimulatedMachine() };
    const first = await start(world);
    first.node.set([asking('a', '1'), asking('b', '1')]);
    await first.node.untilReady('a');
    await first.node.untilReady('b');
    const before = world.machine.running();
    const { status } = first.node.pod('a')!;
    await first.crash();
    const outside = new Outside(world.files);
    for (const name of ['allocated_pods_state', 'actuated_pods_state'])
      await outside.write(`${rootDir}/${name}`, 'broken');
    const next = await start(world);
    next.node.set([asking('a', '1500m', { generation: 2, ...(isTold ? { status } : {}) }), asking('b', '1')]);
    await next.node.untilReady('a');
    await next.node.untilReady('b');
    await next.node.advance(minute);
    expect(world.machine.running()).toEqual(before);
    expect(given(next.node, 'a')).toBe(isTold ? '1' : '1500m');
    expect(pending(next.node, 'a') !== undefined).toBe(isTold);
  });

  it('a resize that was impossible is tried again, once all sources have spoken', async () => {
    const world = { machine: new Machine(), files: new SimulatedMachine() };
    const first = await start(world);
    first.node.set([asking('a', '1')]);
    await first.node.untilReady('a');
    await first.crash();
    const told: PodCondition = {
      type: 'PodResizePending',
      status: 'True',
      reason: 'Infeasible',
      message: 'not on that node',
      observedGeneration: 2,
      lastProbeTime: null,
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const next = await start(world, { sources: ['api', 'file'] });
    const waiting = asking('a', '1500m', { generation: 2, status: { phase: 'Running', conditions: [told] } });
    next.node.set([waiting]);
    await next.node.untilReady('a');
    expect(pending(next.node, 'a')).toMatchObject({ reason: 'Infeasible', observedGeneration: 2 });
    await next.node.advance(2 * minute);
    expect(given(next.node, 'a')).toBe('1');
    next.node.set([], 'file');
    await next.node.until('it is given', () => given(next.node, 'a') === '1500m', 31 * second);
  });

  describe('at any moment of two resizes', () => {
    /** A machine that notes when its containers were promised more than it has. */
    class TightMachine extends Machine {
      /** Of containers in the order in which they were made; each was made with one CPU. */
      shares(): number[] {
        return [...this.store.containers.values()].map(({ resources }) => resources?.cpuShares ?? 1024);
      }

      override checkNothingTwice(): void {
        super.checkNothingTwice();
        const shares = this.shares().reduce((sum, one) => sum + one, 0);
        if (shares > 2048) this.violations.add(`${shares} of 2048 shares are given`);
      }
    }
    interface TightWorld extends World {
      readonly machine: TightMachine;
    }
    const newWorld = (): TightWorld => ({ machine: new TightMachine(), files: new SimulatedMachine() });
    const wanted = (): Pod[] => [
      asking('a', '500m', { generation: 2 }),
      asking('b', '1500m', { generation: 2 }),
    ];
    const story = async (world: World, more: Partial<NodeOptions> = {}, change?: number) => {
      const first = await start(world, more);
      const { node, host } = first;
      node.set([asking('a', '1'), asking('b', '1')]);
      await node.advance(10 * second);
      const from = { changes: host.calls.length, calls: node.line.calls.length };
      const at = change === undefined ? Number.POSITIVE_INFINITY : from.changes + change;
      const isThen = ({ number }: { number: number }): boolean => number === at;
      host.inject({ at: isThen, when: 'before', effect: { kind: 'run', action: () => node.line.cut() } });
      host.inject({ at: isThen, when: 'before', effect: { kind: 'die' } });
      node.set(wanted());
      await node.advance(10 * second);
      await first.crash();
      return { changes: host.calls.length - from.changes, from, calls: node.line.calls };
    };
    /** The next agent gives both what they ask for, restarts nothing, and refuses nobody. */
    const goesOn = async (world: TightWorld): Promise<void> => {
      const { node } = await start(world);
      node.set(wanted());
      const isDone = (): boolean => given(node, 'a') === '500m' && given(node, 'b') === '1500m';
      await node.until('both are given', isDone, 5 * minute);
      await node.advance(5 * second);
      expect(world.machine.seenContainers().map(({ attempt }) => attempt)).toEqual([0, 0]);
      expect(world.machine.shares()).toEqual([512, 1536]);
      await endNodes();
    };

    it('at which the agent dies with a file, nothing is given twice and nothing is lost', async () => {
      const { changes } = await story(newWorld());
      await endNodes();
      expect(changes).toBeGreaterThan(5);
      for (let change = 1; change <= changes; change++) {
        const world = newWorld();
        await story(world, {}, change);
        await goesOn(world);
      }
    }, 120_000);

    it('at which the agent dies with a call of the runtime, nothing is given twice and nothing is lost', async () => {
      const whole = await story(newWorld());
      await endNodes();
      const cuts = whole.calls.flatMap(({ method }, index) =>
        index >= whole.from.calls && method.startsWith('update') ? [index + 1] : [],
      );
      expect(cuts.length).toBeGreaterThan(1);
      for (const call of cuts) {
        for (const withEffect of [false, true]) {
          const world = newWorld();
          await story(world, { cut: { call, withEffect } });
          await goesOn(world);
        }
      }
    }, 120_000);
  });
});

import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Pod, PodStatus } from '../../kube/index.js';
import { Registry } from '../../metrics/index.js';
import { samples } from '../../metrics/test-samples.js';
import { Timeline } from '../../timeline/index.js';
import { createPodMetrics } from '../metrics.js';
import { StatusManager, type VersionedStatus } from './manager.js';
import { rejectedStatus } from './overrides.js';
import { generate, instance, makePod, observe, sidecar, statusOf } from './pod-fixtures.js';

const mirrorUid = 'mirror-1';

function setUp(pod: Pod = makePod(), mirror?: Pod) {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const timeline = new Timeline({ clock });
  const registry = new Registry();
  const manager = new StatusManager({
    clock,
    timeline,
    podOf: (uid) => (uid === pod.metadata.uid ? pod : undefined),
    mirrorOf: () => mirror,
    translateUid: (uid) => (uid === mirrorUid ? 'uid-1' : uid),
    metrics: createPodMetrics(registry),
  });
  const changes: VersionedStatus[] = [];
  manager.onChange((change) => changes.push(change));
  const said = () =>
    timeline.ofPod('uid-1').map(({ what, message, because }) => `${what}: ${message} | ${because}`);
  const terminations = () =>
    Object.entries(samples(registry)).filter(([series]) => series.includes('terminated'));
  return { clock, timeline, manager, terminations, changes, pod, said };
}

const runningPod = (pod: Pod): PodStatus => generate(pod, observe([instance('a', 'running')]));
const waitingPod = (pod: Pod): PodStatus => generate(pod, observe([]));
const endedPod = (pod: Pod, exitCode: number): PodStatus =>
  generate(pod, observe([instance('a', 'exited', { exitCode })]));

describe('StatusManager.set', () => {
  it('stamps start time and transition times, and keeps them while nothing changes', async () => {
    const { manager, clock, pod } = setUp();
    manager.set(pod, waitingPod(pod));
    await clock.advance(5_000);
    manager.set(pod, runningPod(pod));
    const status = manager.get('uid-1');
    expect(status?.startTime).toBe('2026-01-01T00:00:00Z');
    const times = Object.fromEntries((status?.conditions ?? []).map((c) => [c.type, c.lastTransitionTime]));
    expect(times).toMatchObject({ Ready: '2026-01-01T00:00:05Z', PodScheduled: '2026-01-01T00:00:00Z' });
  });
  it('does not count the same status twice', () => {
    const { manager, changes, pod } = setUp();
    expect(manager.set(pod, runningPod(pod))).toBe('accepted');
    expect(manager.set(pod, runningPod(pod))).toBe('unchanged');
    expect(manager.version('uid-1')).toBe(1);
    expect(changes).toHaveLength(1);
  });
  it('counts it for a pod that is being deleted', () => {
    const pod = makePod({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
    const { manager, said } = setUp(pod);
    manager.set(pod, runningPod(pod));
    const before = said().length;
    expect(manager.set(pod, runningPod(pod))).toBe('accepted');
    expect(manager.version('uid-1')).toBe(2);
    expect(said()).toHaveLength(before);
  });
  it('discards an update that revives a container', () => {
    const pod = makePod({ policy: 'OnFailure' });
    const { manager, timeline } = setUp(pod);
    manager.set(pod, endedPod(pod, 0));
    expect(manager.set(pod, runningPod(pod))).toBe('discarded');
    expect(manager.get('uid-1')?.phase).toBe('Succeeded');
    expect(timeline.ofPod('uid-1').at(-1)).toMatchObject({ kind: 'problem', what: 'status.discard' });
  });
  it('accepts the restart of a failed container', () => {
    const pod = makePod({ policy: 'OnFailure' });
    const { manager } = setUp(pod);
    manager.set(pod, endedPod(pod, 1));
    expect(manager.set(pod, runningPod(pod))).toBe('accepted');
  });
  it('records the generation it has seen, which never falls', () => {
    const pod = makePod({ metadata: { generation: 4 } });
    const { manager } = setUp(pod);
    manager.set(pod, runningPod(pod));
    manager.set({ ...pod, metadata: { ...pod.metadata, generation: 3 } }, waitingPod(pod));
    expect(manager.get('uid-1')?.observedGeneration).toBe(4);
  });
  it('starts from the API status, or for a static pod from its mirror’s', () => {
    const startTime = '2025-12-31T00:00:00Z';
    const pod = makePod({ status: { startTime } });
    const { manager } = setUp(pod);
    manager.set(pod, runningPod(pod));
    expect(manager.get('uid-1')?.startTime).toBe(startTime);
    const staticPod = makePod({ metadata: { annotations: { 'kubernetes.io/config.source': 'file' } } });
    const other = setUp(staticPod, pod);
    other.manager.set(staticPod, runningPod(staticPod));
    expect(other.manager.get('uid-1')?.startTime).toBe(startTime);
  });
  it('accepts the mirror’s UID', () => {
    const { manager, pod } = setUp();
    manager.set(pod, runningPod(pod));
    expect(manager.get(mirrorUid)).toBe(manager.get('uid-1'));
    expect(manager.get('other')).toBeUndefined();
  });
  it('keeps a rejection unchanged, with a start time', () => {
    const { manager, pod } = setUp();
    manager.set(pod, rejectedStatus(pod, 'OutOfcpu', 'too much'));
    expect(manager.get('uid-1')).toEqual({
      phase: 'Failed',
      reason: 'OutOfcpu',
      message: 'Pod was rejected: too much',
      qosClass: 'BestEffort',
      startTime: '2026-01-01T00:00:00Z',
    });
  });
  it('does not share objects with its caller', () => {
    const { manager, pod } = setUp();
    const given = runningPod(pod);
    manager.set(pod, given);
    given.containerStatuses![0]!.ready = false;
    expect(manager.get('uid-1')?.containerStatuses?.[0]?.ready).toBe(true);
  });
});

describe('StatusManager and probes', () => {
  it('makes a container unready and recomputes the conditions in place', () => {
    const { manager, pod } = setUp();
    manager.set(pod, runningPod(pod));
    const order = manager.get('uid-1')?.conditions?.map(({ type }) => type);
    expect(manager.setContainerReadiness('uid-1', 'a-0', false)).toBe('accepted');
    const status = manager.get('uid-1');
    expect(status?.containerStatuses?.[0]?.ready).toBe(false);
    expect(status?.conditions?.map(({ type }) => type)).toEqual(order);
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Ready',
        status: 'False',
        message: 'containers with unready status: [a]',
      }),
    );
    expect(manager.setContainerReadiness('uid-1', 'containerd://a-0', true)).toBe('accepted');
    expect(manager.version('uid-1')).toBe(3);
  });
  it('tells no generation that the status is not about', () => {
    const pod = makePod({ metadata: { generation: 2 } });
    const { manager } = setUp(pod);
    const judged = { ...pod, metadata: { ...pod.metadata, generation: 1 } };
    manager.set(judged, runningPod(judged));
    manager.setContainerReadiness('uid-1', 'a-0', false);
    const { observedGeneration, conditions = [] } = manager.get('uid-1') ?? {};
    expect(observedGeneration).toBe(1);
    expect(conditions.map((condition) => condition.observedGeneration)).not.toContain(2);
  });
  it('sets only `started`, also for sidecars', () => {
    const pod = makePod({ initContainers: [sidecar('s')] });
    const { manager } = setUp(pod);
    manager.set(pod, generate(pod, observe([instance('a', 'running'), instance('s', 'running')])));
    expect(manager.setContainerStarted('uid-1', 's-0', false)).toBe('accepted');
    expect(manager.get('uid-1')?.initContainerStatuses?.[0]).toMatchObject({ started: false, ready: true });
    expect(manager.setContainerStarted('uid-1', 's-0', false)).toBe('unchanged');
  });
  it.each<[string, string, string, boolean]>([
    ['an unknown container', 'uid-1', 'x', false],
    ['an unknown pod', 'uid-2', 'a-0', false],
    ['no change', 'uid-1', 'a-0', true],
  ])('ignores %s', (_, uid, id, isReady) => {
    const { manager, pod } = setUp();
    manager.set(pod, runningPod(pod));
    expect(manager.setContainerReadiness(uid, id, isReady)).toBe('unchanged');
    expect(manager.version('uid-1')).toBe(1);
  });
});

describe('StatusManager.terminate', () => {
  it('ends what still looked alive and finishes the pod for good', () => {
    const { manager, pod } = setUp();
    manager.set(pod, runningPod(pod));
    expect(manager.terminate(pod)).toBe('accepted');
    expect(manager.entry('uid-1')).toMatchObject({
      version: 2,
      isFinished: true,
      status: { phase: 'Failed', containerStatuses: [{ state: { terminated: { exitCode: 137 } } }] },
    });
    manager.set(pod, endedPod(pod, 0));
    expect(manager.entry('uid-1')?.isFinished).toBe(true);
  });
  it('counts as a change each time', () => {
    const { manager, pod } = setUp();
    manager.terminate(pod);
    manager.terminate(pod);
    expect(manager.version('uid-1')).toBe(2);
  });
});

describe('StatusManager housekeeping', () => {
  it('forgets deleted pods', () => {
    const { manager, pod } = setUp();
    manager.set(pod, runningPod(pod));
    manager.removeOrphaned(new Set(['uid-1']));
    expect(manager.entries()).toHaveLength(1);
    manager.removeOrphaned(new Set());
    expect(manager.entries()).toHaveLength(0);
    expect(manager.version('uid-1')).toBe(0);
  });
  it('keeps the time of the first change', async () => {
    const { manager, clock, pod } = setUp();
    manager.set(pod, waitingPod(pod));
    await clock.advance(1_000);
    manager.set(pod, runningPod(pod));
    expect(manager.entry('uid-1')?.firstChangeMs).toBe(Date.UTC(2026, 0, 1));
  });
  it('no longer calls an unsubscribed listener', () => {
    const { manager, pod } = setUp();
    let calls = 0;
    const leave = manager.onChange(() => {
      calls += 1;
    });
    manager.set(pod, waitingPod(pod));
    leave();
    manager.set(pod, runningPod(pod));
    expect(calls).toBe(1);
  });
});

describe('what the manager records', () => {
  it('records each change once, with its cause', () => {
    const { manager, pod, said } = setUp();
    for (let round = 0; round < 2; round++) manager.set(pod, waitingPod(pod));
    for (let round = 0; round < 2; round++) manager.set(pod, runningPod(pod));
    manager.set(pod, endedPod(pod, 3));
    const failure = { reason: 'CrashLoopBackOff', message: 'back-off 10s' };
    const crashed = generate(pod, observe([instance('a', 'exited', { exitCode: 3 })]), {
      startFailure: () => failure,
    });
    manager.set(pod, crashed);
    expect(said()).toEqual([
      'container.state: none → Waiting (ContainerCreating) | ContainerCreating',
      'pod.phase: none → Pending | a Waiting (ContainerCreating)',
      'pod.ready: Ready none → False | containers with unready status: [a]',
      'container.state: Waiting (ContainerCreating) → Running | the runtime started it',
      'pod.phase: Pending → Running | a Running',
      'pod.ready: Ready False → True | all containers are ready',
      'container.state: Running → Terminated (exit 3) | exit code 3, Error',
      'pod.ready: Ready True → False | containers with unready status: [a]',
      'container.state: Terminated (exit 3) → Waiting (CrashLoopBackOff) | back-off 10s, last run exited 3',
    ]);
  });
  it('counts each container exit once', () => {
    const { manager, pod, terminations } = setUp();
    const ended = observe([instance('a', 'exited', { exitCode: 3 })]);
    const startFailure = () => ({ reason: 'CrashLoopBackOff', message: '' });
    manager.set(pod, runningPod(pod));
    manager.set(pod, generate(pod, ended));
    manager.set(pod, generate(pod, ended, { startFailure }));
    const again = observe([
      instance('a', 'running', { id: 'a-1' }),
      instance('a', 'exited', { exitCode: 3 }),
    ]);
    manager.set(pod, generate(pod, again));
    const twice = observe([
      instance('a', 'exited', { id: 'a-1', exitCode: 4 }),
      instance('a', 'exited', { exitCode: 3 }),
    ]);
    manager.set(pod, generate(pod, twice, { startFailure }));
    const series = 'kubelet_terminated_containers_total{container_type="container"';
    expect(terminations()).toEqual([
      [`${series},exit_code="3",reason="Error"}`, 1],
      [`${series},exit_code="4",reason="Error"}`, 1],
    ]);
  });
  it('counts the exit of an init container as one', () => {
    const { manager, pod, terminations } = setUp(makePod({ spec: { initContainers: [{ name: 'i' }] } }));
    const container = { name: 'i', ready: false, restartCount: 0, image: '', imageID: '' };
    const state = { terminated: { exitCode: 137, reason: 'OOMKilled', containerID: 'sim://i-0' } };
    manager.set(pod, { initContainerStatuses: [{ ...container, state: { running: {} } }] });
    manager.set(pod, { initContainerStatuses: [{ ...container, state }] });
    expect(terminations()).toEqual([
      [
        'kubelet_terminated_containers_total{container_type="init_container",exit_code="137",reason="OOMKilled"}',
        1,
      ],
    ]);
  });
  it('does not repeat what the API knew before the agent restarted', () => {
    const pod = makePod({ policy: 'Never' });
    const known = setUp(pod);
    known.manager.set(pod, endedPod(pod, 1));
    const restarted = { ...pod, status: known.manager.get('uid-1')! };
    const { manager, terminations, said } = setUp(restarted);
    expect(manager.set(restarted, endedPod(restarted, 1))).toBe('accepted');
    expect(terminations()).toEqual([]);
    expect(said()).toEqual([]);
  });
});

describe('an eviction as the manager sees it', () => {
  it('fails the pod at once and lets it succeed when its containers did', () => {
    const { manager, pod } = setUp();
    manager.set(pod, runningPod(pod));
    manager.set(pod, { ...runningPod(pod), phase: 'Failed', reason: 'Evicted', message: 'm' });
    const cached = manager.get('uid-1');
    manager.set(pod, generate(pod, observe([instance('a', 'exited')]), { cached, podIsTerminal: true }));
    expect(manager.get('uid-1')?.phase).toBe('Succeeded');
    expect(manager.get('uid-1')?.reason).toBeUndefined();
  });
  it('keeps the old status of a container that ended and was removed', () => {
    const pod = makePod({ policy: 'Never' });
    const { manager } = setUp(pod);
    manager.set(pod, {
      ...endedPod(pod, 1),
      containerStatuses: [statusOf('a', 'exit 1', { restartCount: 5 })],
    });
    const cached = manager.get('uid-1');
    expect(manager.set(pod, generate(pod, observe([]), { cached }))).not.toBe('discarded');
    expect(manager.get('uid-1')?.containerStatuses).toMatchObject([
      { restartCount: 5, state: { terminated: { exitCode: 1 } } },
    ]);
  });
});

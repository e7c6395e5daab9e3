/** Resizes that wait, while their pods change or end under the hands of whoever judges them. */
import { describe, expect, it } from 'vitest';
import { Gate, TaskGroup, VirtualClock } from '../../async/index.js';
import { DurableFiles, simulatedHost } from '../../host/index.js';
import type { Pod } from '../../kube/index.js';
import { Registry } from '../../metrics/index.js';
import { AllocatedResources, createAllocationMetrics } from '../../resources/allocation/index.js';
import { Timeline } from '../../timeline/index.js';
import type { ResizeAnswer } from './allocation-admission.js';
import { AllocationManager } from './allocation-manager.js';
import { ResizeStates } from './resize-states.js';

function podOf(uid: string, cpu: string, generation = 1): Pod {
  return {
    metadata: { uid, name: uid, namespace: 'default', generation },
    spec: { containers: [{ name: 'app', image: 'i', resources: { requests: { cpu } } }] },
  };
}

interface WorldOptions {
  readonly answer?: ResizeAnswer;
  readonly sources?: { ready: boolean };
  readonly features?: readonly string[];
}

async function world(
  pods: readonly Pod[],
  { answer = { admit: true }, sources = { ready: true }, features = [] }: WorldOptions = {},
) {
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const reasons: string[] = [];
  timeline.subscribe(({ event, pod }) => event && reasons.push(`${pod?.uid} ${event.reason}`));
  const metrics = createAllocationMetrics(new Registry());
  const host = simulatedHost();
  const observer = { setAside: () => {}, failing: () => {}, recovered: () => {} };
  const store = new DurableFiles({ files: host.files, clock, observer });
  const allocated = new AllocatedResources({ checkpoint: { rootDir: '/var/lib/kubelet', store } });
  const known = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  for (const pod of pods) allocated.set(pod);
  const states = new ResizeStates({ clock, timeline, metrics, podOf: (uid) => known.get(uid) });
  const hooks: { judging: () => void; recording: () => void } = { judging: () => {}, recording: () => {} };
  const judged: string[] = [];
  const tasks = new TaskGroup({
    onError: (_task, error) => {
      throw error;
    },
  });
  const manager = new AllocationManager({
    clock,
    timeline,
    metrics,
    tasks,
    allocated,
    states,
    admission: {
      judgeResize: async ({ metadata, spec }) => {
        judged.push(`${metadata.uid} ${spec.containers[0]?.resources?.requests?.cpu}`);
        await Promise.resolve();
        hooks.judging();
        return answer;
      },
      requestsOf: () => new Map(),
    },
    pods: { byUid: (uid) => known.get(uid) },
    active: () => [...known.values()],
    features,
    turns: new Gate(1),
    allSourcesReady: () => sources.ready,
    sync: () => {},
  });
  await allocated.recorded('a');
  host.inject({
    at: ({ operation }) => operation === 'writeFile',
    when: 'before',
    effect: { kind: 'run', action: async () => hooks.recording() },
  });
  const update = (pod: Pod): void => {
    const before = known.get(pod.metadata.uid);
    known.set(pod.metadata.uid, pod);
    manager.updated(before, pod);
  };
  const added = (changed: readonly Pod[]): void => {
    for (const pod of changed) known.set(pod.metadata.uid, pod);
    manager.added(changed);
  };
  const given = (uid: string): string | undefined => {
    const pod = known.get(uid);
    return pod && allocated.allocatedPod(pod).spec.containers[0]?.resources?.requests?.cpu;
  };
  return {
    clock,
    manager,
    metrics,
    states,
    hooks,
    judged,
    reasons,
    added,
    update,
    given,
    settled: () => tasks.drained(),
  };
}

const deferred: ResizeAnswer = { admit: false, kind: 'Deferred', reason: 'OutOfcpu', message: 'no room' };

describe('a pod that ends while resizes are tried', () => {
  it.each([
    { name: 'its own, refused', ends: 'a', answer: deferred },
    { name: 'its own, accepted', ends: 'a', answer: { admit: true } as const },
    { name: 'one before it, refused', ends: 'b', answer: deferred },
    { name: 'one before it, accepted', ends: 'b', answer: { admit: true } as const },
  ])('is told nothing of its resize: $name', async ({ ends, answer }) => {
    const { manager, states, hooks, reasons, added, settled } = await world(
      [podOf('a', '1'), podOf('b', '1')],
      {
        answer,
      },
    );
    hooks.judging = () => {
      hooks.judging = () => {};
      manager.statusChanged(ends, { phase: 'Succeeded' });
    };
    added([podOf('a', '2', 2), podOf('b', '2', 2)]);
    await settled();
    expect(states.conditions(ends)).toEqual([]);
    expect(reasons.filter((reason) => reason.startsWith(`${ends} `))).toEqual([]);
  });
});

it.each([
  ['the node declares it', ['InPlacePodVerticalScalingInitContainers'], []],
  ['the node does not declare it', [], ['a FailedNodeDeclaredFeaturesCheck']],
])('tells of a resize that needs a feature where %s', async (_rule, features, told) => {
  const withInit = (cpu: string, generation: number): Pod => {
    const pod = podOf('a', '1', generation);
    const init = { name: 'init', image: 'i', resources: { requests: { cpu } } };
    return { ...pod, spec: { ...pod.spec, initContainers: [init] } };
  };
  const { reasons, update, settled } = await world([withInit('1', 1)], { answer: deferred, features });
  update(withInit('2', 2));
  await settled();
  expect(reasons.filter((reason) => reason.includes('Features'))).toEqual(told);
});

it('a pod that ends while a resize waits and another is under way shows neither', async () => {
  const { manager, metrics, states, update, settled } = await world([podOf('a', '1')], { answer: deferred });
  update(podOf('a', '2', 2));
  await settled();
  states.syncBegins(podOf('a', '1', 2), true);
  expect(states.conditions('a').map(({ type }) => type)).toEqual(['PodResizePending', 'PodResizeInProgress']);
  manager.statusChanged('a', { phase: 'Failed' });
  await settled();
  expect(states.conditions('a')).toEqual([]);
  const labels = { resolution: 'terminated', priority_bucket: 'normal' };
  expect(metrics.deferredDuration.count(labels)).toBe(1);
});

it('a resize that comes before all sources have spoken is judged within 30 s of that', async () => {
  const sources = { ready: false };
  const { clock, judged, update } = await world([podOf('a', '1')], { sources });
  update(podOf('a', '2', 2));
  await clock.advance(5 * 60_000);
  expect(judged).toEqual([]);
  sources.ready = true;
  await clock.advance(30_000);
  expect(judged).toEqual(['a 2']);
});

it('a resize that comes at any step of a round is judged without another trigger', async () => {
  for (let turns = 0; turns < 60; turns++) {
    const { judged, update, settled } = await world([podOf('a', '1'), podOf('b', '1')], { answer: deferred });
    update(podOf('a', '2', 2));
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    update(podOf('b', '2', 2));
    await settled();
    expect(judged, `after ${turns} turns`).toContain('b 2');
  }
});

describe('a pod that changes while its resize is recorded', () => {
  it.each([
    { name: 'to something else', cpu: '3' },
    { name: 'back to what it had', cpu: '1' },
  ])('is given what it asks for at last: $name', async ({ cpu }) => {
    const { hooks, update, given, judged, settled } = await world([podOf('a', '1')]);
    hooks.recording = () => {
      hooks.recording = () => {};
      update(podOf('a', cpu, 3));
    };
    update(podOf('a', '2', 2));
    await settled();
    expect(given('a')).toBe(cpu);
    expect(judged).toEqual(['a 2', `a ${cpu}`]);
  });
});

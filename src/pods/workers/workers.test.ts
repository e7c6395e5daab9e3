import { beforeEach, describe, expect, it } from 'vitest';
import { settle, VirtualClock, WorkQueue } from '../../async/index.js';
import {
  absentPodStatus,
  type ObservedContainerStatus,
  type ObservedPod,
  type ObservedPodStatus,
} from '../../cri/index.js';
import type { Pod, PodStatus } from '../../kube/index.js';
import { Registry } from '../../metrics/index.js';
import { samples } from '../../metrics/test-samples.js';
import { Timeline } from '../../timeline/index.js';
import { createPodMetrics } from '../metrics.js';
import { killPodAndWait } from './kill-and-wait.js';
import type { PodSyncer, PodUpdate, SyncOutcome } from './types.js';
import { PodWorkers } from './workers.js';

function pod(uid: string, change: { static?: boolean; name?: string; grace?: number } = {}): Pod {
  return {
    metadata: {
      uid,
      name: change.name ?? `pod-${uid}`,
      namespace: 'default',
      ...(change.static === true ? { annotations: { 'kubernetes.io/config.source': 'file' } } : {}),
    },
    spec: { containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: change.grace ?? 30 },
    status: { phase: 'Pending' },
  };
}

const deleted = (base: Pod, grace: number): Pod => ({
  ...base,
  metadata: {
    ...base.metadata,
    deletionTimestamp: '2026-01-01T00:00:00Z',
    deletionGracePeriodSeconds: grace,
  },
});

const runtimePod = (uid: string): ObservedPod => ({
  uid,
  name: `pod-${uid}`,
  namespace: 'default',
  sandboxes: [],
  containers: [],
  observedAtMs: 0,
});

/** A syncer that notes every call and can be held up or made to fail. */
class NotedSyncer implements PodSyncer {
  readonly calls: string[] = [];
  readonly signals = new Map<string, AbortSignal>();
  readonly mirrors: (string | undefined)[] = [];
  hold: Promise<void> | undefined;
  failing: Error | undefined;
  terminal = false;
  /** What a sync comes to in place of being done. */
  outcome: SyncOutcome | undefined;
  terminatedFails = false;
  async #note(call: string): Promise<void> {
    this.calls.push(call);
    await this.hold;
    if (this.failing !== undefined) throw this.failing;
  }
  async syncPod(request: Parameters<PodSyncer['syncPod']>[0]): Promise<SyncOutcome> {
    this.signals.set(request.pod.metadata.uid!, request.signal);
    this.mirrors.push(request.mirror?.metadata.uid);
    await this.#note(`${request.type} ${request.pod.metadata.uid}`);
    return this.outcome ?? { kind: 'done', terminal: this.terminal };
  }
  settledAtMs = 0;
  async syncTerminatingPod(request: Parameters<PodSyncer['syncTerminatingPod']>[0]): Promise<SyncOutcome> {
    const status: PodStatus = { phase: 'Running' };
    request.statusOverride?.(status);
    const phase = request.statusOverride === undefined ? '' : ` as ${status.phase}`;
    await this.#note(`terminating ${request.pod.metadata.uid} grace ${request.graceSeconds}${phase}`);
    return { kind: 'done', terminal: false, settledAtMs: this.settledAtMs };
  }
  async syncTerminatingRuntimePod(request: ObservedPod): Promise<SyncOutcome> {
    await this.#note(`terminating runtime ${request.uid}`);
    return { kind: 'done', terminal: false };
  }
  async syncTerminatedPod(request: Parameters<PodSyncer['syncTerminatedPod']>[0]): Promise<SyncOutcome> {
    await this.#note(`terminated ${request.pod.metadata.uid}`);
    if (this.terminatedFails) throw new Error('volume still mounted');
    return { kind: 'done', terminal: false };
  }
}

const running = (uid: string): ObservedPodStatus => ({
  ...absentPodStatus(uid),
  // Only name and state matter to the workers.
  containers: [{ name: 'c', state: 'running' } as ObservedContainerStatus],
});

describe('PodWorkers', () => {
  let clock: VirtualClock;
  let timeline: Timeline;
  let syncer: NotedSyncer;
  let queue: WorkQueue<string>;
  let workers: PodWorkers;
  let statuses: Map<string, ObservedPodStatus>;
  let statusError: Error | undefined;
  let registry: Registry;
  const wantedAfterMs: number[] = [];

  beforeEach(() => {
    wantedAfterMs.length = 0;
    clock = new VirtualClock();
    timeline = new Timeline({ clock });
    syncer = new NotedSyncer();
    queue = new WorkQueue(clock);
    statuses = new Map();
    statusError = undefined;
    registry = new Registry();
    const read = (uid: string): ObservedPodStatus => statuses.get(uid) ?? absentPodStatus(uid);
    workers = new PodWorkers({
      clock,
      timeline,
      syncer,
      queue,
      resyncMs: 60_000,
      random: () => 0,
      statuses: {
        peek: (uid) => ({ status: read(uid) }),
        newerThan: async (uid, afterMs) => {
          wantedAfterMs.push(afterMs);
          if (statusError !== undefined) throw statusError;
          return read(uid);
        },
      },
      metrics: createPodMetrics(registry),
    });
  });

  /** Plays the sync loop: pods whose time has come are synced. */
  const wakeDue = async (...pods: Pod[]): Promise<void> => {
    const due = queue.take();
    for (const one of pods) if (due.includes(one.metadata.uid!)) workers.update({ type: 'sync', pod: one });
    await settle();
  };

  it('a kill is never undone by a later update', async () => {
    workers.update({ type: 'create', pod: pod('1') });
    workers.update({ type: 'kill', pod: pod('1') });
    workers.update({ type: 'update', pod: pod('1') });
    await settle();
    expect(syncer.calls.filter((call) => !call.startsWith('create'))).toEqual([
      'terminating 1 grace 30',
      'terminated 1',
    ]);
    expect(workers.stateOf('1')?.kind).toBe('finished');
  });

  it('tells once which pods are finished, until nobody listens', async () => {
    const finished: string[] = [];
    const leave = workers.onFinished((uid) => finished.push(uid));
    workers.update({ type: 'create', pod: pod('1') });
    await settle();
    expect(finished).toEqual([]);
    workers.update({ type: 'kill', pod: pod('1') });
    await settle();
    expect(finished).toEqual(['1']);
    leave();
    workers.update({ type: 'create', pod: pod('2') });
    workers.update({ type: 'kill', pod: pod('2') });
    await settle();
    expect(workers.stateOf('2')?.kind).toBe('finished');
    expect(finished).toEqual(['1']);
  });

  it('updates that arrive during a step collapse into the newest', async () => {
    let release: () => void = () => {};
    syncer.hold = new Promise((resolve) => {
      release = resolve;
    });
    workers.update({ type: 'create', pod: pod('1') });
    await settle();
    for (let n = 0; n < 5; n++) workers.update({ type: 'update', pod: pod('1') });
    workers.update({ type: 'sync', pod: pod('1') });
    release();
    await settle();
    expect(syncer.calls).toEqual(['create 1', 'sync 1']);
  });

  it('a mirror that is no longer there is not shown to later syncs', async () => {
    const fixed = pod('1', { static: true });
    workers.update({ type: 'create', pod: fixed });
    await settle();
    workers.update({ type: 'update', pod: fixed, mirror: pod('m') });
    await settle();
    workers.update({ type: 'update', pod: fixed });
    await settle();
    expect(syncer.mirrors).toEqual([undefined, 'm', undefined]);
  });

  it('grace only shrinks, and each shrinking cancels the step under way', async () => {
    let release: () => void = () => {};
    const hold = (): void => {
      syncer.hold = new Promise((resolve) => {
        release = resolve;
      });
    };
    hold();
    workers.update({ type: 'create', pod: pod('1') });
    await settle();
    const syncSignal = syncer.signals.get('1')!;
    const dying = deleted(pod('1'), 15);
    workers.update({ type: 'update', pod: dying });
    expect(syncSignal.aborted).toBe(true);
    release();
    hold();
    syncer.failing = new Error('not yet');
    await settle();
    workers.update({ type: 'kill', pod: dying, kill: { graceOverrideSeconds: 5 } });
    release();
    await settle();
    workers.update({ type: 'kill', pod: dying, kill: { graceOverrideSeconds: 60 } });
    await settle();
    expect(syncer.calls).toEqual([
      'create 1',
      'terminating 1 grace 15',
      'terminating 1 grace 5',
      'terminating 1 grace 5',
    ]);
    expect(workers.stateOf('1')).toMatchObject({ kind: 'terminating', deleted: true, graceSeconds: 5 });
  });

  it('an eviction makes content removable at once; one after deletion does not, but its status counts', async () => {
    workers.syncKnown(new Set(['1', '2']));
    syncer.failing = new Error('still there');
    workers.update({ type: 'create', pod: pod('1') });
    workers.update({ type: 'create', pod: pod('2') });
    await settle();
    workers.update({ type: 'kill', pod: pod('1'), kill: { evict: true } });
    expect(workers.shouldContentBeRemoved('1')).toBe(true);
    workers.update({ type: 'update', pod: deleted(pod('2'), 30) });
    workers.update({
      type: 'kill',
      pod: pod('2'),
      kill: {
        evict: true,
        statusOverride: (status) => {
          status.phase = 'Failed';
        },
      },
    });
    await settle();
    expect(workers.shouldContentBeRemoved('2')).toBe(false);
    expect(syncer.calls).toContain('terminating 2 grace 30 as Failed');
  });

  describe('pods seen only in the runtime', () => {
    it('can only be killed: nothing else compiles', () => {
      // @ts-expect-error A pod that nobody configured cannot be created.
      const create: PodUpdate = { type: 'create', runtimePod: runtimePod('9') };
      // @ts-expect-error Nor can a kill name a configured pod and one of the runtime.
      const both: PodUpdate = { type: 'kill', pod: pod('9'), runtimePod: runtimePod('9') };
      expect([create.type, both.type]).toEqual(['create', 'kill']);
    });
    it('are killed and then forgotten', async () => {
      workers.update({ type: 'killRuntimePod', runtimePod: runtimePod('9') });
      await settle();
      expect(syncer.calls).toEqual(['terminating runtime 9']);
      expect(workers.stateOf('9')).toBeUndefined();
    });
    it('are tried again by the next full set when the kill failed', async () => {
      syncer.failing = new Error('runtime away');
      workers.update({ type: 'killRuntimePod', runtimePod: runtimePod('9') });
      await settle();
      syncer.failing = undefined;
      expect(workers.syncKnown(new Set()).get('9')).toEqual({
        state: 'terminating',
        orphan: true,
        hasConfig: false,
        isStatic: false,
      });
      await settle();
      expect(syncer.calls).toEqual(['terminating runtime 9', 'terminating runtime 9']);
      expect(workers.stateOf('9')).toBeUndefined();
    });
    it('are stopped with their spec when that is known', async () => {
      workers.update({ type: 'create', pod: pod('1') });
      await settle();
      workers.update({ type: 'killRuntimePod', runtimePod: runtimePod('1') });
      await settle();
      expect(syncer.calls).toEqual(['create 1', 'terminating 1 grace 30', 'terminated 1']);
    });
    it('are ignored while the pod is terminated but not cleaned up', async () => {
      workers.update({ type: 'create', pod: pod('1') });
      await settle();
      syncer.terminatedFails = true;
      workers.update({ type: 'kill', pod: pod('1') });
      await settle();
      expect(workers.stateOf('1')?.kind).toBe('terminated');
      const calls = syncer.calls.length;
      workers.update({ type: 'killRuntimePod', runtimePod: runtimePod('1') });
      await settle();
      expect(syncer.calls).toHaveLength(calls);
    });
  });

  describe('static pods of one full name', () => {
    const two = pod('2', { static: true, name: 'same' });
    const three = pod('3', { static: true, name: 'same' });
    const four = pod('4', { static: true, name: 'same' });
    it('run one at a time in order; one killed while waiting never syncs', async () => {
      for (const one of [two, three, four]) workers.update({ type: 'create', pod: one });
      await settle();
      expect(syncer.calls).toEqual(['create 2']);
      workers.update({ type: 'kill', pod: three });
      await settle();
      expect(workers.stateOf('3')?.kind).toBe('finished');
      workers.update({ type: 'kill', pod: two });
      await settle();
      expect(workers.isStaticPodTerminating('same_default')).toBe(false);
      await wakeDue(four);
      expect(syncer.calls).toEqual(['create 2', 'terminating 2 grace 30', 'terminated 2', 'sync 4']);
    });
    it('are stopped like any other if they run from before, though they never had their turn here', async () => {
      statuses.set('2', running('2'));
      workers.update({ type: 'create', pod: deleted(two, 5) });
      await settle();
      expect(syncer.calls).toEqual(['terminating 2 grace 5', 'terminated 2']);
    });
    it('leave an API pod of the same name alone', async () => {
      workers.update({ type: 'create', pod: two });
      workers.update({ type: 'create', pod: pod('5', { name: 'same' }) });
      await settle();
      expect(syncer.calls).toEqual(['create 2', 'create 5']);
    });
    it('say when a started one is being stopped', async () => {
      workers.update({ type: 'create', pod: two });
      await settle();
      syncer.failing = new Error('still there');
      workers.update({ type: 'kill', pod: two });
      await settle();
      expect(workers.isStaticPodTerminating('same_default')).toBe(true);
    });
  });

  it('a create while the pod is torn down restarts it after the next full set', async () => {
    const same = pod('1', { static: true });
    workers.update({ type: 'create', pod: same });
    await settle();
    let release: () => void = () => {};
    syncer.hold = new Promise((resolve) => {
      release = resolve;
    });
    workers.update({ type: 'kill', pod: same });
    workers.update({ type: 'create', pod: same });
    await settle();
    expect(workers.syncKnown(new Set(['1'])).has('1')).toBe(true);
    release();
    await settle();
    expect(workers.stateOf('1')?.kind).toBe('finished');
    expect(workers.syncKnown(new Set(['1'])).has('1')).toBe(false);
    workers.update({ type: 'create', pod: same });
    await settle();
    expect(syncer.calls.at(-1)).toBe('create 1');
  });

  it('a pod that was over before it was first seen is only cleaned up', async () => {
    const over: Pod = { ...pod('1'), status: { phase: 'Succeeded' } };
    workers.update({ type: 'create', pod: over });
    await settle();
    expect(syncer.calls).toEqual(['terminated 1']);
  });
  it('a pod that is over but still runs is stopped first', async () => {
    statuses.set('1', running('1'));
    workers.update({ type: 'create', pod: { ...pod('1'), status: { phase: 'Succeeded' } } });
    await settle();
    expect(syncer.calls).toEqual(['terminating 1 grace 30', 'terminated 1']);
  });

  it('a sync that ends the pod is followed by its teardown without delay', async () => {
    syncer.terminal = true;
    workers.update({ type: 'create', pod: pod('1') });
    await settle();
    expect(syncer.calls).toEqual(['create 1', 'terminating 1 grace undefined', 'terminated 1']);
    expect(clock.monotonic()).toBe(0);
  });

  describe('orphans', () => {
    it('that never started are dropped without a call', async () => {
      const one = pod('1', { static: true, name: 'same' });
      const two = pod('2', { static: true, name: 'same' });
      workers.update({ type: 'create', pod: one });
      workers.update({ type: 'create', pod: two });
      await settle();
      expect([...workers.syncKnown(new Set(['1'])).keys()]).toEqual(['1']);
      await settle();
      expect(syncer.calls).toEqual(['create 1']);
    });
    it('that started are stopped without explicit grace, then terminated, then forgotten', async () => {
      workers.update({ type: 'create', pod: pod('1') });
      await settle();
      workers.syncKnown(new Set());
      await settle();
      expect(syncer.calls).toEqual(['create 1', 'terminating 1 grace undefined', 'terminated 1']);
      expect(workers.syncKnown(new Set()).size).toBe(0);
      expect(workers.stateOf('1')).toBeUndefined();
    });
    it('whose stopping fails are replayed with the same grace by every full set', async () => {
      workers.update({ type: 'create', pod: pod('1') });
      await settle();
      syncer.failing = new Error('stuck');
      workers.update({ type: 'update', pod: deleted(pod('1'), 7) });
      await settle();
      workers.syncKnown(new Set());
      await settle();
      syncer.failing = undefined;
      workers.syncKnown(new Set());
      await settle();
      expect(syncer.calls.filter((call) => call.startsWith('terminating'))).toEqual(
        Array(3).fill('terminating 1 grace 7'),
      );
      expect(workers.stateOf('1')?.kind).toBe('finished');
    });
  });

  it('a step wants a status from after the one before, even if that failed', async () => {
    await clock.advance(5_000);
    workers.update({ type: 'create', pod: pod('1') });
    await settle();
    await clock.advance(1_000);
    syncer.failing = new Error('half done');
    workers.update({ type: 'update', pod: pod('1') });
    await settle();
    await clock.advance(1_000);
    workers.update({ type: 'update', pod: pod('1') });
    await settle();
    expect(wantedAfterMs).toEqual([Number.NEGATIVE_INFINITY, 5_000, 6_000]);
  });

  it('a step after one that changed nothing goes by what that one went by, or newer', async () => {
    workers.update({ type: 'create', pod: pod('1') });
    await settle();
    await clock.advance(1_000);
    syncer.outcome = { kind: 'done', terminal: false, isUnchanged: true };
    for (let turn = 0; turn < 2; turn++) {
      workers.update({ type: 'update', pod: pod('1') });
      await settle();
      await clock.advance(1_000);
    }
    syncer.outcome = undefined;
    workers.update({ type: 'update', pod: pod('1') });
    await settle();
    await clock.advance(1_000);
    workers.update({ type: 'update', pod: pod('1') });
    await settle();
    expect(wantedAfterMs).toEqual([Number.NEGATIVE_INFINITY, 0, 0, 0, 3_000]);
  });

  it('what was observed since a pod was stopped is enough for its last step', async () => {
    workers.update({ type: 'create', pod: pod('1') });
    await settle();
    await clock.advance(5_000);
    syncer.settledAtMs = 3_000;
    workers.update({ type: 'kill', pod: pod('1') });
    await settle();
    expect(syncer.calls.at(-1)).toBe('terminated 1');
    expect(wantedAfterMs).toEqual([Number.NEGATIVE_INFINITY, 0, 3_000]);
  });

  it('a status that cannot be determined is an event and counts as an error', async () => {
    statusError = new Error('runtime is gone');
    workers.update({ type: 'create', pod: pod('1') });
    await settle();
    expect(syncer.calls).toEqual([]);
    expect(timeline.ofPod('1').find((entry) => entry.event?.reason === 'FailedSync')?.message).toBe(
      'error determining status: runtime is gone',
    );
    await clock.advance(10_000);
    statusError = undefined;
    await wakeDue(pod('1'));
    expect(syncer.calls).toEqual(['sync 1']);
  });

  it('measures each update once it is real', async () => {
    workers.update({ type: 'create', pod: pod('1'), startMs: 0 });
    await clock.advance(3_000);
    workers.update({ type: 'kill', pod: pod('1'), startMs: 1_000 });
    await settle();
    expect(samples(registry)).toEqual({
      'kubelet_pod_worker_duration_seconds_count{operation_type="create"}': 1,
      'kubelet_pod_worker_duration_seconds_sum{operation_type="create"}': 0,
      'kubelet_pod_worker_duration_seconds_count{operation_type="kill"}': 1,
      'kubelet_pod_worker_duration_seconds_sum{operation_type="kill"}': 2,
      kubelet_containers_per_pod_count_count: 1,
      kubelet_containers_per_pod_count_sum: 1,
    });
  });

  describe('killPodAndWait', () => {
    it('resolves when all containers have stopped', async () => {
      workers.update({ type: 'create', pod: pod('1') });
      await settle();
      await killPodAndWait({ clock, timeline, workers }, pod('1'), { evict: true });
      expect(workers.isKnownTerminated('1')).toBe(true);
      expect(clock.pendingTimers).toBeLessThanOrEqual(1);
    });
    it('times out on a finished pod', async () => {
      workers.update({ type: 'create', pod: pod('1') });
      workers.update({ type: 'kill', pod: pod('1') });
      await settle();
      const killing = killPodAndWait({ clock, timeline, workers }, pod('1'), {
        evict: false,
        graceOverrideSeconds: 0,
      });
      const refused = expect(killing).rejects.toThrow('timeout waiting to kill pod');
      await clock.advance(10_000);
      await refused;
      expect(timeline.ofPod('1').at(-1)?.event?.reason).toBe('ExceededGracePeriod');
    });
    it('stops waiting when the caller does, and says nothing', async () => {
      workers.update({ type: 'create', pod: pod('1') });
      workers.update({ type: 'kill', pod: pod('1') });
      await settle();
      const timers = clock.pendingTimers;
      const caller = new AbortController();
      const context = { clock, timeline, workers, signal: caller.signal };
      const killing = killPodAndWait(context, pod('1'), { evict: false });
      caller.abort();
      await expect(killing).rejects.toThrow('context canceled');
      expect(clock.pendingTimers).toBe(timers);
      expect(timeline.ofPod('1').filter(({ event }) => event !== undefined)).toEqual([]);
      await expect(killPodAndWait(context, pod('2'), { evict: false })).rejects.toThrow('canceled');
    });
  });

  const error = new Error('not yet');
  it.each<[string, (nowMs: number) => SyncOutcome, number]>([
    [
      'a back-off until its end',
      (nowMs) => ({ kind: 'retry', reason: 'backOff', atMs: nowMs + 20_000, error }),
      20_000,
    ],
    ['no network', () => ({ kind: 'retry', reason: 'networkNotReady', error }), 1_000],
    ['a runtime that is away', () => ({ kind: 'retry', reason: 'runtimeUnavailable', error }), 1_000],
    ['any other error', () => ({ kind: 'retry', reason: 'error', error }), 10_000],
  ])('a sync that has to be retried says so and waits: %s', async (_, outcome, waitMs) => {
    syncer.outcome = outcome(clock.now());
    const nextTryMs = clock.now() + waitMs;
    workers.update({ type: 'create', pod: pod('1') });
    await settle();
    expect(timeline.ofPod('1').find(({ what }) => what === 'worker.sync')).toMatchObject({
      kind: 'problem',
      error: 'not yet',
      data: { nextTryMs },
    });
    await clock.advance(waitMs - 1);
    expect(queue.take()).toEqual([]);
    await clock.advance(1);
    expect(queue.take()).toEqual(['1']);
  });

  it('a sync that was cancelled has not failed, and the update that cancelled it comes next', async () => {
    let release: () => void = () => {};
    syncer.hold = new Promise((resolve) => {
      release = resolve;
    });
    syncer.outcome = { kind: 'cancelled' };
    workers.update({ type: 'create', pod: pod('1') });
    await settle();
    workers.update({ type: 'kill', pod: pod('1') });
    release();
    await settle();
    expect(syncer.calls).toEqual(['create 1', 'terminating 1 grace 30', 'terminated 1']);
    expect(timeline.ofPod('1').filter(({ what }) => what === 'worker.sync')).toMatchObject([
      { kind: 'notice', message: 'sync was cancelled' },
    ]);
  });

  it('stop awaits the workers and leaves no timer of theirs', async () => {
    workers.update({ type: 'create', pod: pod('1') });
    await workers.stop();
    queue.stop();
    expect(clock.pendingTimers).toBe(0);
    expect(workers.idle).toBe(true);
  });
});

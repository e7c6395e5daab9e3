import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, TaskGroup, VirtualClock } from '../../async/index.js';
import type { Event, Pod } from '../../kube/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { ApiError, resources } from '../../kube-client/index.js';
import { Timeline } from '../../timeline/index.js';
import { eventNames } from './event-object.js';
import { ApiEventRecorder, eventRate } from './event-recorder.js';

const pod = { uid: 'u-1', name: 'web', namespace: 'shop' };
const known = new Map<string, Pod>();
let clock: VirtualClock;
let api: SimulatedKubeApi;
let timeline: Timeline;
let tasks: TaskGroup;
let nodeUid: string | undefined;
let turns: { podsMove: boolean; podsWait: boolean; podsResize?: boolean };

beforeEach(async () => {
  nodeUid = undefined;
  turns = { podsMove: false, podsWait: false };
  clock = new VirtualClock();
  api = new SimulatedKubeApi({ clock });
  timeline = new Timeline({ clock });
  const recorder = new ApiEventRecorder({
    clock,
    timeline,
    api,
    nodeName: 'node',
    random: () => 0.5,
    podOf: (uid) => known.get(uid),
    nodeUid: () => nodeUid,
    turns,
  });
  tasks = new TaskGroup({
    onError: (_, error) => {
      throw error;
    },
  });
  tasks.start('events', (signal) => recorder.run(signal));
  await settle();
});
afterEach(async () => {
  await tasks.stop();
  expect(clock.pendingTimers).toBe(0);
});
const stored = async (): Promise<Event[]> => [...(await api.list(resources.events)).items];
const made = (verb: string): number =>
  api.calls.filter((call) => call.verb === verb && call.resource === 'events').length;
const told = (): string[] => timeline.ofNode().map(({ what }) => what);

describe('ApiEventRecorder', () => {
  it('names the pod’s resource version as of the event', async () => {
    known.set(pod.uid, { metadata: { ...pod, resourceVersion: '17' }, spec: { containers: [] } });
    timeline.event(pod, 'Normal', 'Killing', 'it ends');
    known.clear();
    await settle();
    expect((await stored())[0]?.involvedObject.resourceVersion).toBe('17');
  });
  it('names the UID of the node once it is known, and always the same', async () => {
    const uids: (string | undefined)[] = [];
    for (const uid of [undefined, 'uid-1', 'uid-2']) {
      nodeUid = uid;
      timeline.nodeEvent('node', 'Normal', `Reason${uids.length}`, 'a message');
      await settle();
      const event = (await stored()).find(({ reason }) => reason === `Reason${uids.length}`);
      uids.push(event?.involvedObject.uid);
    }
    expect(uids).toEqual([undefined, 'uid-1', 'uid-1']);
  });
  it('an event about a pod', async () => {
    timeline.event(pod, 'Warning', 'BackOff', 'it fails', 'spec.containers{app}');
    await settle();
    const [event] = await stored();
    expect(event).toMatchObject({
      metadata: { namespace: 'shop' },
      involvedObject: {
        apiVersion: 'v1',
        kind: 'Pod',
        namespace: 'shop',
        name: 'web',
        uid: 'u-1',
        fieldPath: 'spec.containers{app}',
      },
      reason: 'BackOff',
      message: 'it fails',
      type: 'Warning',
      count: 1,
      source: { component: 'kubelet', host: 'node' },
      reportingComponent: 'kubelet',
      reportingInstance: 'node',
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
    });
    expect(event?.metadata.name).toMatch(/^web\.[0-9a-f]{16}$/);
  });
  it('an event keeps its annotations', async () => {
    const annotations = { starved_resource: 'memory' };
    timeline.record({
      kind: 'event',
      what: 'event.Evicted',
      message: 'The node was low on resource: memory. ',
      pod,
      event: { type: 'Warning', reason: 'Evicted', annotations },
    });
    await settle();
    expect((await stored())[0]).toMatchObject({ metadata: { annotations }, reason: 'Evicted' });
  });
  it('an event about the node is in the default namespace and has no UID', async () => {
    timeline.nodeEvent('node', 'Normal', 'Starting', 'Starting kubelet.');
    await settle();
    expect((await stored())[0]).toMatchObject({
      metadata: { namespace: 'default' },
      involvedObject: { apiVersion: 'v1', kind: 'Node', name: 'node' },
    });
    expect((await stored())[0]?.involvedObject).not.toHaveProperty('uid');
  });
  it('what is no event stays here', async () => {
    timeline.record({ kind: 'decision', what: 'agent.task', message: 'y', pod });
    await settle();
    expect(api.calls).toEqual([]);
  });
  it('thirty equal events are one object, nothing written after the 25th', async () => {
    for (let n = 0; n < 30; n++) timeline.event(pod, 'Warning', 'BackOff', 'it fails');
    await clock.advance(1000);
    expect([made('create'), made('patch')]).toEqual([1, 24]);
    expect(await stored()).toMatchObject([{ count: 25 }]);
  });
  it('twelve messages of one reason within a minute', async () => {
    for (let n = 1; n <= 12; n++) {
      timeline.event(pod, 'Warning', 'Failed', `message ${n}`);
      await clock.advance(5000);
    }
    const combined = (await stored()).filter(({ message }) => message?.startsWith('(combined'));
    expect(combined).toMatchObject([{ message: '(combined from similar events): message 12', count: 3 }]);
    expect(await stored()).toHaveLength(10);
  });
  it('an event that expired is created again with its count', async () => {
    timeline.event(pod, 'Normal', 'Pulled', 'done');
    await settle();
    const [first] = await stored();
    await api.delete(resources.events, { namespace: 'shop', name: first?.metadata.name ?? '' });
    timeline.event(pod, 'Normal', 'Pulled', 'done');
    await settle();
    expect(await stored()).toMatchObject([{ count: 2 }]);
  });
  it('a rejection is final and reported', async () => {
    const error = new ApiError({ code: 403, message: 'no' });
    api.faults.add({ verb: 'create', fault: { kind: 'refuse', error } });
    timeline.event(pod, 'Normal', 'Pulled', 'one');
    timeline.event(pod, 'Normal', 'Pulled', 'two');
    await settle();
    expect((await stored()).map(({ message }) => message)).toEqual(['two']);
    expect(timeline.ofPod('u-1').map(({ what }) => what)).toContain('events.refused');
  });
  it('a create whose response was lost makes no second event', async () => {
    api.faults.add({ verb: 'create', fault: { kind: 'lose-response' } });
    timeline.event(pod, 'Normal', 'Pulled', 'one');
    await clock.advance(20_000);
    expect(made('create')).toBe(2);
    expect(await stored()).toHaveLength(1);
    expect(told()).toEqual([]);
  });
  it('a minute without the API loses nothing', async () => {
    api.setReachable(false);
    for (let n = 0; n < 5; n++) timeline.event(pod, 'Normal', `Reason${n}`, 'x');
    await clock.advance(60_000);
    api.setReachable(true);
    await clock.advance(10_000);
    expect(await stored()).toHaveLength(5);
    expect(told()).toEqual([]);
  });
  it('while pods are queued, a normal event waits for them', async () => {
    turns.podsWait = true;
    timeline.event(pod, 'Normal', 'Started', 'it runs');
    await clock.advance(10_000);
    expect(await stored()).toEqual([]);
    turns.podsWait = false;
    await clock.advance(500);
    expect(await stored()).toMatchObject([{ reason: 'Started', lastTimestamp: '2026-01-01T00:00:00Z' }]);
  });
  it('while a pod starts, a normal event waits for it, or for two seconds', async () => {
    turns.podsMove = true;
    timeline.event(pod, 'Normal', 'Created', 'it is made');
    await clock.advance(1_500);
    expect(await stored()).toEqual([]);
    await clock.advance(500);
    expect(await stored()).toMatchObject([{ reason: 'Created' }]);
    timeline.event(pod, 'Normal', 'Started', 'it runs');
    turns.podsMove = false;
    await clock.advance(500);
    expect(await stored()).toHaveLength(2);
  });
  it('while a pod is resized, a normal event waits a moment, or for two seconds', async () => {
    turns.podsResize = true;
    timeline.event(pod, 'Normal', 'ResizeStarted', 'it grows');
    await clock.advance(99);
    turns.podsResize = false;
    expect(await stored()).toEqual([]);
    await clock.advance(1);
    expect(await stored()).toMatchObject([
      { reason: 'ResizeStarted', lastTimestamp: '2026-01-01T00:00:00Z' },
    ]);
    turns.podsResize = true;
    timeline.event(pod, 'Normal', 'ResizeCompleted', 'it has grown');
    await clock.advance(1_999);
    expect(await stored()).toHaveLength(1);
    await clock.advance(1);
    expect(await stored()).toHaveLength(2);
  });
  it('while pods are queued, no event waits longer than twenty seconds', async () => {
    turns.podsWait = true;
    timeline.event(pod, 'Normal', 'Started', 'it runs');
    await clock.advance(15_000);
    timeline.event(pod, 'Normal', 'Pulled', 'it is here');
    await clock.advance(5_000);
    expect(await stored()).toMatchObject([{ reason: 'Started' }]);
    await clock.advance(15_000);
    expect(await stored()).toHaveLength(2);
  });
  it('a clock that is set back delays nothing', async () => {
    turns.podsMove = true;
    timeline.event(pod, 'Normal', 'Started', 'it runs');
    const hourAgo = clock.now() - 3_600_000;
    clock.now = () => hourAgo;
    turns.podsMove = false;
    await clock.advance(500);
    expect(await stored()).toHaveLength(1);
  });
  it('while pods are queued, a warning is sent at once, after the events before it', async () => {
    turns.podsWait = true;
    timeline.event(pod, 'Normal', 'Created', 'it is made');
    timeline.event(pod, 'Warning', 'Failed', 'it does not start');
    timeline.event(pod, 'Normal', 'Killing', 'it ends');
    await clock.advance(500);
    expect((await stored()).map(({ reason }) => reason)).toEqual(['Created', 'Failed']);
  });
  it('ten minutes without the API: few tries, a bounded queue, two reports', async () => {
    api.setReachable(false);
    for (let n = 0; n < 1500; n++) timeline.event({ ...pod, uid: `u-${n}` }, 'Normal', 'Pulled', 'x');
    await clock.advance(600_000);
    expect(made('create')).toBeLessThan(80);
    expect(told()).toEqual(['events.lose']);
    api.setReachable(true);
    await clock.advance(20_000);
    expect(told()).toEqual(['events.lose', 'events.resume']);
    expect((await stored()).length).toBeGreaterThan(990);
  });
});

describe('names', () => {
  it('are unique within one tick', () => {
    const nameOf = eventNames();
    expect(nameOf('a', 1000)).toBe('a.3b9aca00');
    expect(nameOf('a', 1000)).toBe('a.3b9aca01');
  });
  it('an invalid name becomes a UUID', () => {
    expect(eventNames()('x'.repeat(250), 1000)).toMatch(/^[0-9a-f-]{36}$/);
    expect(eventNames()('Node_A', 1000)).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('eventRate', () => {
  it.each([
    ['as configured', 50, 100, { qps: 50, burst: 100 }],
    ['a rate of 0 means no limit', 0, 100, undefined],
    ['a burst of 0 falls back', 5, 0, { qps: 5, burst: 10 }],
  ])('%s', (_, eventRecordQPS, eventBurst, expected) => {
    expect(eventRate({ eventRecordQPS, eventBurst })).toEqual(expected);
  });
});

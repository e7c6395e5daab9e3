import { describe, expect, it } from 'vitest';
import { Cancelled, VirtualClock } from '../async/index.js';
import { describeError } from './entry.js';
import { logReader } from './log.js';
import { Timeline } from './timeline.js';

const podA = { uid: 'a', name: 'web', namespace: 'default' };

describe('Timeline', () => {
  it('keeps the last entries of each pod', () => {
    const timeline = new Timeline({ entriesPerPod: 3 });
    for (let n = 1; n <= 10; n++)
      timeline.record({ kind: 'effect', what: 'agent.task', message: `${n}`, pod: podA });
    expect(timeline.ofPod('a').map((entry) => entry.message)).toEqual(['8', '9', '10']);
  });
  it('forgets the pod that was quiet for longest', () => {
    const timeline = new Timeline({ maxPods: 2 });
    for (const uid of ['a', 'b', 'a', 'c']) timeline.event({ ...podA, uid }, 'Normal', 'Started', 'x');
    expect(timeline.pods()).toEqual(['a', 'c']);
  });
  it('keeps of a pod no more than it may take, and always the last entry', () => {
    const timeline = new Timeline({ bytesPerPod: 2_000 });
    const record = (length: number) =>
      timeline.record({ kind: 'effect', what: 'agent.task', message: 'm'.repeat(length), pod: podA });
    for (const length of [500, 600, 700, 800]) record(length);
    expect(timeline.ofPod('a').map(({ message }) => message.length)).toEqual([700, 800]);
    record(5_000);
    expect(timeline.ofPod('a').map(({ message }) => message.length)).toEqual([5_000]);
  });
  it('keeps of all pods no more than they may take together', () => {
    const timeline = new Timeline({ maxBytes: 10_000 });
    for (let n = 0; n < 100; n++) {
      const pod = { ...podA, uid: `${n % 30}` };
      timeline.record({ kind: 'effect', what: 'agent.task', message: `${n}`.repeat(300), pod });
    }
    expect(timeline.podBytes).toBeLessThanOrEqual(10_000);
    expect(timeline.podBytes).toBeGreaterThan(8_000);
    expect(timeline.pods().at(-1)).toBe(`${99 % 30}`);
  });
  it('bounds what is kept of pods that are gone, the last ones first, and keeps quiet pods that are there', () => {
    const timeline = new Timeline({ goneBytes: 1_200 });
    const record = (uid: string) =>
      timeline.record({
        kind: 'effect',
        what: 'agent.task',
        message: 'm'.repeat(200),
        pod: { ...podA, uid },
      });
    for (const uid of ['quiet', 'a', 'b', 'c', 'd']) record(uid);
    timeline.boundGone(new Set(['quiet']));
    expect(timeline.pods()).toEqual(['quiet', 'b', 'c', 'd']);
    timeline.boundGone(new Set());
    expect(timeline.pods()).toEqual(['b', 'c', 'd']);
  });
  it('cuts a text that is too long for anybody to read', () => {
    const timeline = new Timeline();
    const { message, error } = timeline.record({
      kind: 'problem',
      what: 'agent.task',
      message: 'm'.repeat(20_000),
      error: new Error('e'.repeat(20_000)),
    });
    expect([message.length, message.at(-1), error?.length]).toEqual([16_385, '…', 16_385]);
  });
  it('gives every entry to the readers until they leave', () => {
    const timeline = new Timeline();
    const seen: number[] = [];
    const leave = timeline.subscribe((entry) => seen.push(entry.seq));
    timeline.record({ kind: 'notice', what: 'agent.task', message: 'one' });
    leave();
    timeline.record({ kind: 'notice', what: 'agent.task', message: 'two' });
    expect(seen).toEqual([1]);
    expect(timeline.ofNode()).toHaveLength(2);
  });
  it('tells the same event quietly when it is repeated', () => {
    const timeline = new Timeline();
    const levels = ['a', 'a', 'b'].map(
      (message) => timeline.event(podA, 'Warning', 'BackOff', message).level,
    );
    expect(levels).toEqual(['warn', 'debug', 'warn']);
  });
  const caused = (...texts: string[]): Error => {
    const [first = '', ...rest] = texts;
    return rest.length === 0 ? new Error(first) : new Error(first, { cause: caused(...rest) });
  };
  it.each([
    ['each once', ['outer', 'inner', 'inner'], 'outer: inner'],
    [
      'not what was said already',
      ['cannot start: no such image', 'no such image'],
      'cannot start: no such image',
    ],
    [
      'not the form of gRPC for the same text',
      ['rpc error: code = Unknown desc = no such image', '2 UNKNOWN: no such image'],
      'rpc error: code = Unknown desc = no such image',
    ],
    [
      'what gRPC says beside it',
      ['context deadline exceeded', '4 DEADLINE_EXCEEDED: Deadline exceeded after 2s'],
      'context deadline exceeded: 4 DEADLINE_EXCEEDED: Deadline exceeded after 2s',
    ],
    ['what comes after an empty text', ['', 'inner'], 'inner'],
  ])('names the causes of an error: %s', (_, texts, expected) => {
    expect(describeError(caused(...texts))).toBe(expected);
  });
});

it('names a gRPC error once when its details were said already', () => {
  const status = Object.assign(new Error('rpc error: code = Unknown desc = no image'), {
    details: 'no image',
  });
  expect(describeError(new Error('no image', { cause: status }))).toBe('no image');
  expect(describeError(status)).toBe('rpc error: code = Unknown desc = no image');
});

it('marks the entry of cancelled work, whatever its text says', () => {
  const timeline = new Timeline();
  const record = (error: unknown) =>
    timeline.record({ kind: 'problem', what: 'agent.task', message: 'm', error }).cancelled;
  expect(record(new Error('sync failed', { cause: new Cancelled('stopped') }))).toBe(true);
  expect(record(new Error('context canceled'))).toBeUndefined();
  expect(record(undefined)).toBeUndefined();
});

describe('logReader', () => {
  const logged = (format: 'text' | 'json', verbosity: number): string[] => {
    const lines: string[] = [];
    const timeline = new Timeline({ clock: new VirtualClock(Date.UTC(2026, 0, 1)) });
    timeline.subscribe(logReader({ format, verbosity, write: (line) => lines.push(line) }));
    timeline.record({
      kind: 'effect',
      what: 'container.start',
      message: 'container started',
      because: 'exited 1, policy Always',
      pod: podA,
      container: 'app',
      durationMs: 12.4,
    });
    timeline.record({ kind: 'observation', what: 'pleg', message: 'seen' });
    return lines;
  };
  it('writes text lines with fields', () => {
    expect(logged('text', 0)).toEqual([
      '2026-01-01T00:00:00.000Z INFO  container.start: container started pod=default/web container=app because="exited 1, policy Always" ms=12\n',
    ]);
  });
  it('writes JSON lines', () => {
    expect(JSON.parse(logged('json', 0)[0]!)).toMatchObject({
      msg: 'container started',
      podUID: 'a',
      container: 'app',
    });
  });
  it('shows the steps of a plan as members, and in text by the message only', () => {
    const lines: string[] = [];
    const timeline = new Timeline({ clock: new VirtualClock(Date.UTC(2026, 0, 1)) });
    for (const format of ['text', 'json'] as const) {
      timeline.subscribe(logReader({ format, verbosity: 0, write: (line) => lines.push(line) }));
    }
    const steps = [{ action: 'killPod', reason: 'PodDeleted' }] as const;
    const data = { sandbox: 'stop', attempt: 0, steps, more: 0 } as const;
    timeline.record({ kind: 'decision', what: 'pod.plan', message: 'kill pod', data });
    expect(lines[0]).toBe(
      '2026-01-01T00:00:00.000Z INFO  pod.plan: kill pod sandbox=stop attempt=0 more=0\n',
    );
    expect(JSON.parse(lines[1]!)).toMatchObject(data);
  });
  it('shows observations with more verbosity', () => {
    expect(logged('text', 4)).toHaveLength(2);
  });
});

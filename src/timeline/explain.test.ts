import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../async/index.js';
import { openDiskRing, readDiskRing } from './disk-ring.js';
import type { EntryInit, TimelineEntry } from './entry.js';
import { explainPod } from './explain.js';
import { explanationText } from './explain-text.js';
import { Timeline } from './timeline.js';

const pod = { uid: 'u', name: 'web-n', namespace: 'default' };

/** Entries as they are recorded, a second apart. */
async function recorded(
  ...inits: (EntryInit & { readonly node?: true })[]
): Promise<{ entries: TimelineEntry[]; node: TimelineEntry[]; nowMs: number }> {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const timeline = new Timeline({ clock });
  for (const { node, ...init } of inits) {
    timeline.record(node === true ? init : { ...init, pod });
    await clock.advance(1000);
  }
  return { entries: [...timeline.ofPod('u')], node: [...timeline.ofNode()], nowMs: clock.now() };
}

const state = (to: 'Running' | `Waiting (${string})`, because: string, restartCount = 0): EntryInit => ({
  kind: 'transition',
  what: 'container.state',
  message: `none → ${to}`,
  because,
  container: 'app',
  data: {
    from: 'none',
    ...(to === 'Running'
      ? { to: 'running' as const }
      : { to: 'waiting' as const, reason: to.slice('Waiting ('.length, -1) }),
    restartCount,
  },
});
const plan: EntryInit = {
  kind: 'decision',
  what: 'pod.plan',
  message: 'create sandbox',
  because: 'the pod has no sandbox yet',
};

it('tells the start of a pod by the steps of its plan', async () => {
  const steps = [
    { action: 'createSandbox', attempt: 0, reason: 'NoSandbox' },
    { action: 'startContainer', container: 'app', containerType: 'container', reason: 'NoSandbox' },
  ] as const;
  const data = { sandbox: 'create', attempt: 0, steps, more: 3 } as const;
  const { entries, node, nowMs } = await recorded({ ...plan, what: 'pod.plan', message: 'x', data });
  expect(explainPod(entries, node, nowMs).inProgress?.text).toBe(
    'its start (create sandbox, attempt 0; start container app; 3 more)',
  );
});

describe('a pull that takes long', () => {
  const event = (reason: 'Pulling' | 'Failed'): EntryInit => ({
    kind: 'event',
    what: `event.${reason}`,
    message: `${reason} image "app:1"`,
    container: 'app',
    event: { type: 'Normal', reason },
  });
  const progress = (message: string, doneBytes?: number): EntryInit => ({
    kind: 'notice',
    what: 'image.progress',
    message,
    container: 'app',
    level: 'debug',
    data: { image: 'app:1', ...(doneBytes === undefined ? {} : { doneBytes }) },
  });
  it.each<[string, EntryInit[], string, number]>([
    ['not known yet', [event('Pulling')], 'the image of container app', 0],
    [
      'known',
      [event('Pulling'), progress('40 % of 3.0 MB', 12)],
      'the image of container app: 40 % of 3.0 MB',
      0,
    ],
    [
      'told by an event, too',
      [event('Pulling'), progress('40 % of 3.0 MB', 12), event('Pulling')],
      'the image of container app: 40 % of 3.0 MB',
      0,
    ],
    [
      'that of an earlier try no longer counts',
      [event('Pulling'), progress('40 % of 3.0 MB', 12), event('Failed'), event('Pulling')],
      'the image of container app',
      3,
    ],
    [
      'the runtime does not tell',
      [event('Pulling'), progress('it does not tell')],
      'the image of container app',
      0,
    ],
  ])('%s', async (_, inits, text, sinceSeconds) => {
    const { entries, node, nowMs } = await recorded(...inits);
    const sinceMs = Date.UTC(2026, 0, 1) + sinceSeconds * 1000;
    expect(explainPod(entries, node, nowMs).inProgress).toEqual({ text, sinceMs });
  });
});

/** The error of a gRPC call, as the runtime's client makes it. */
const statusOf = (details: string): Error =>
  Object.assign(new Error(`rpc error: code = Unknown desc = ${details}`), { details });

const allocated = (given: string): EntryInit => ({
  kind: 'decision',
  what: 'pod.allocated',
  message: 'the pod is given its resources',
  data: { given },
});
const resizeWaits = (reason: 'Deferred' | 'Infeasible', cause: string, because: string): EntryInit => ({
  kind: 'decision',
  what: 'pod.resizeWaits',
  message: 'the resize waits',
  because,
  data: { reason, cause, asked: 'cpu 3', given: 'cpu 1' },
  level: 'warn',
});

describe('the resources of a pod', () => {
  const full = resizeWaits('Deferred', 'OutOfcpu', "Node didn't have enough resource: cpu");
  const settled: EntryInit = {
    kind: 'transition',
    what: 'pod.resizeSettled',
    message: 'the resize does not wait any more: reverted',
    data: { resolution: 'reverted' },
  };
  it.each<[string, EntryInit[], string, RegExp | undefined]>([
    ['it has what it asks for', [allocated('cpu 1')], 'Given: cpu 1\n', undefined],
    [
      'it asks for more than there is',
      [allocated('cpu 1'), full],
      'Given: cpu 1; asked for: cpu 3\n',
      /tried again .* every 3 minutes; end or shrink pods that hold cpu, or ask for less/,
    ],
    [
      'it asks under pressure',
      [allocated('cpu 1'), resizeWaits('Deferred', 'Evicted', 'The node had condition: [DiskPressure].')],
      'Given: cpu 1; asked for: cpu 3\n',
      /relieve the pressure/,
    ],
    [
      'it asks for what the node can never do',
      [allocated('cpu 1'), resizeWaits('Infeasible', 'Infeasible', 'no')],
      'Given: cpu 1; asked for: cpu 3\n',
      /this node can never do it/,
    ],
    ['it asks no more', [allocated('cpu 1'), full, settled], 'Given: cpu 1\n', undefined],
    ['it was given more', [allocated('cpu 1'), full, allocated('cpu 3')], 'Given: cpu 3\n', undefined],
  ])('%s', async (_rule, inits, line, unblock) => {
    const { entries, node, nowMs } = await recorded(plan, state('Running', 'it started'), ...inits);
    const explanation = explainPod(entries, node, nowMs);
    expect(explanationText(explanation)).toContain(line);
    expect(explanation.unblock).toHaveLength(unblock === undefined ? 0 : 1);
    if (unblock === undefined) return;
    expect(explanation.unblock[0]).toMatch(unblock);
    expect(explanation.waitsFor[0]).toMatch(/^its resize to cpu 3, having cpu 1: (Deferred|Infeasible) \(/);
  });
});

describe('explainPod', () => {
  it.each<[string, (EntryInit & { readonly node?: true })[], RegExp | undefined, RegExp | undefined]>([
    [
      'a running pod waits for nothing',
      [plan, state('Running', 'the runtime started it')],
      undefined,
      undefined,
    ],
    [
      'a crash loop tells when it is tried again',
      [
        plan,
        {
          kind: 'decision',
          what: 'container.wait',
          message: 'app is not started yet',
          container: 'app',
          data: { waitMs: 10_000 },
        },
        state(
          'Waiting (CrashLoopBackOff)',
          'back-off 10s restarting failed container=app, last run exited 1',
          3,
        ),
      ],
      /container app: CrashLoopBackOff, next try at 00:00:11 \(in 8s\): back-off 10s/,
      /tried again by itself/,
    ],
    [
      'an image that cannot be pulled',
      [plan, state('Waiting (ErrImagePull)', 'not found')],
      /ErrImagePull: not found/,
      /check the image name/,
    ],
    [
      'a pod that is being created waits for nothing special',
      [plan, state('Waiting (ContainerCreating)', '')],
      undefined,
      undefined,
    ],
    [
      'a pod that is being stopped',
      [
        plan,
        {
          kind: 'transition',
          what: 'pod.terminating',
          message: 'pod is being stopped',
          because: 'it was deleted',
          data: { graceSeconds: 30 },
        },
      ],
      /its containers to stop, as it was deleted; its grace period ends in 29s/,
      undefined,
    ],
    [
      'a pod that waits for its turn',
      [{ kind: 'decision', what: 'pod.wait', message: 'pod waits', because: 'another came first' }],
      /its turn: another came first/,
      /remove its manifest/,
    ],
    [
      'a volume that cannot be mounted',
      [
        {
          kind: 'event',
          what: 'event.FailedMount',
          message: 'Unable to attach or mount volumes: x',
          event: { type: 'Warning', reason: 'FailedMount' },
        },
      ],
      /FailedMount: Unable to attach/,
      /spec\.volumes/,
    ],
    [
      'a refused pod',
      [
        {
          kind: 'event',
          what: 'event.OutOfpods',
          message: 'full',
          event: { type: 'Warning', reason: 'OutOfpods' },
        },
      ],
      /refused \(OutOfpods\): full/,
      /make room/,
    ],
    [
      'a pod that requests more than there is',
      [
        {
          kind: 'event',
          what: 'event.OutOfcpu',
          message: 'full',
          event: { type: 'Warning', reason: 'OutOfcpu' },
        },
      ],
      /refused \(OutOfcpu\): full/,
      /request less cpu.*nodelet describe node/,
    ],
    [
      'a pod that selects other nodes',
      [
        {
          kind: 'event',
          what: 'event.NodeAffinity',
          message: 'no match',
          event: { type: 'Warning', reason: 'NodeAffinity' },
        },
      ],
      /refused \(NodeAffinity\): no match/,
      /--node-labels/,
    ],
    [
      'a node whose runtime is away',
      [
        plan,
        state('Running', ''),
        {
          kind: 'notice',
          what: 'loop.gate',
          message: 'Skipping pod synchronization',
          because: 'container runtime is down',
          data: { open: false },
          node: true,
        },
      ],
      /the node: container runtime is down/,
      /start the container runtime/,
    ],
  ])('%s', async (_rule, inits, waitsFor, unblock) => {
    const { entries, node, nowMs } = await recorded(...inits);
    const explanation = explainPod(entries, node, nowMs);
    if (waitsFor === undefined) expect(explanation.waitsFor).toEqual([]);
    else expect(explanation.waitsFor.join('\n')).toMatch(waitsFor);
    if (unblock !== undefined) expect(explanation.unblock.join('\n')).toMatch(unblock);
  });

  it.each<[string, EntryInit[], string | undefined]>([
    [
      'a back-off: the next try',
      [
        {
          kind: 'decision',
          what: 'container.wait',
          message: 'app is not started yet',
          container: 'app',
          data: { waitMs: 10_000 },
        },
        state('Waiting (CrashLoopBackOff)', 'back-off 10s restarting failed container'),
      ],
      'app: next try at 00:00:11 (in 8s)',
    ],
    [
      'a container without a next try: its message',
      [state('Waiting (ErrImagePull)', 'not found')],
      'app: not found',
    ],
    [
      'a pod that is being stopped: the rest of its grace period',
      [
        {
          kind: 'transition',
          what: 'pod.terminating',
          message: 'pod is being stopped',
          because: 'it was deleted',
          data: { graceSeconds: 30 },
        },
      ],
      'its containers to stop, within 29s',
    ],
    [
      'nothing shorter than the whole',
      [{ kind: 'decision', what: 'pod.wait', message: 'pod waits', because: 'another came first' }],
      undefined,
    ],
  ])('says in brief, %s', async (_rule, inits, brief) => {
    const { entries, nowMs } = await recorded(plan, ...inits);
    expect(explainPod(entries, [], nowMs).waits.map((wait) => wait.brief)).toEqual([brief]);
  });

  it('does not send to the log of a container that never started', async () => {
    const { entries, nowMs } = await recorded(
      plan,
      {
        kind: 'effect',
        what: 'container.start',
        message: 'app did not start',
        container: 'app',
        error: new Error('exec: "x": not found', { cause: statusOf('exec: "x": not found') }),
      },
      state('Waiting (CrashLoopBackOff)', 'back-off 10s'),
    );
    expect(explainPod(entries, [], nowMs).unblock).toEqual([
      'container app: it could not be started: exec: "x": not found; check its command and image',
    ]);
  });

  it('does not take for the present what was last known of a pod that nobody keeps any more', async () => {
    const { entries } = await recorded(plan, state('Waiting (CrashLoopBackOff)', 'back-off 10s'), {
      kind: 'decision',
      what: 'container.wait',
      message: 'not yet',
      container: 'app',
      data: { waitMs: 10_000 },
    });
    const text = explanationText(explainPod(entries, [], Number.POSITIVE_INFINITY), {
      gone: 'The run is gone.',
    });
    expect(text.split('\n\n').at(-1)).toBe(
      [
        'The run is gone.',
        'At 00:00:02, the last that is known: Pending, not ready',
        '  app: Waiting (CrashLoopBackOff)',
        'Waited for:',
        '  container app: CrashLoopBackOff: back-off 10s',
        '',
      ].join('\n'),
    );
  });

  it('fits a screen and says what was left out', async () => {
    const { entries, nowMs } = await recorded(plan, state('Running', 'the runtime started it'), {
      kind: 'transition',
      what: 'pod.phase',
      message: 'Pending → Running',
      because: 'app Running',
      data: { from: 'Pending', to: 'Running' },
    });
    expect(explanationText(explainPod(entries, [], nowMs), { maxSteps: 2 })).toBe(
      [
        'Pod default/web-n (u)',
        '',
        '  … 1 earlier steps; --all shows them',
        '  00:00:01   app: none → Running  because the runtime started it',
        '  00:00:02   Pending → Running  because app Running',
        '',
        'Now: Running, not ready',
        '  app: Running',
        'Waits for: its containers to become ready, since 00:00:01',
        '',
      ].join('\n'),
    );
  });
});

describe('the ring on disk', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'nodelet-ring-'));
  });
  afterEach(() => rm(dir, { recursive: true }));

  it('keeps the latest entries within its size, readable by its owner only', async () => {
    const ring = openDiskRing({
      dir: path.join(dir, 'ring'),
      maxBytes: 4000,
      onError: (error) => expect(error).toBeUndefined(),
    });
    const timeline = new Timeline();
    timeline.subscribe(ring.reader);
    for (let n = 0; n < 200; n++)
      timeline.record({ kind: 'effect', what: 'agent.task', message: `entry ${n}`, pod });
    await ring.close();
    const { entries } = await readDiskRing(path.join(dir, 'ring'));
    expect(entries.at(-1)?.message).toBe('entry 199');
    expect(entries.length).toBeLessThan(90);
    for (const name of await readdir(path.join(dir, 'ring'))) {
      const { size, mode } = await stat(path.join(dir, 'ring', name));
      expect(size).toBeLessThan(5000);
      expect(mode & 0o777).toBe(0o600);
    }
  });
  it('goes on where an earlier process stopped, leaving out a line that was cut', async () => {
    const write = async (message: string): Promise<void> => {
      const ring = openDiskRing({ dir, onError: (error) => expect(error).toBeUndefined() });
      const timeline = new Timeline();
      timeline.subscribe(ring.reader);
      timeline.record({ kind: 'effect', what: 'agent.task', message, pod });
      await ring.close();
    };
    await write('first');
    await writeFile(path.join(dir, 'entries.jsonl'), '{"seq":7,"mess', { flag: 'a' });
    await write('second');
    expect((await readDiskRing(dir)).entries.map(({ message }) => message)).toEqual(['first', 'second']);
  });
  it('skips and counts lines of other versions and lines that are no entries', async () => {
    const lines = ['{"seq":1,"message":"without a version"}', '{"v":2,"seq":1}', 'null', '7', '{"v":1,"se'];
    await writeFile(path.join(dir, 'entries.1.jsonl'), `${lines.join('\n')}\n`);
    const ring = openDiskRing({ dir, onError: (error) => expect(error).toBeUndefined() });
    const timeline = new Timeline();
    timeline.subscribe(ring.reader);
    const recorded = timeline.record({
      kind: 'decision',
      what: 'container.wait',
      message: 'not yet',
      pod,
      data: { waitMs: 10 },
    });
    await ring.close();
    expect(await readDiskRing(dir)).toEqual({ entries: [recorded], skipped: lines.length });
    const [line = ''] = (await readFile(path.join(dir, 'entries.jsonl'), 'utf8')).split('\n');
    expect(JSON.parse(line)).toEqual({ v: 1, ...recorded });
  });
  it('tells once when it cannot write', async () => {
    const errors: unknown[] = [];
    await writeFile(path.join(dir, 'file'), '');
    const ring = openDiskRing({ dir: path.join(dir, 'file'), onError: (error) => errors.push(error) });
    const timeline = new Timeline();
    timeline.subscribe(ring.reader);
    timeline.record({ kind: 'effect', what: 'agent.task', message: 'm', pod });
    timeline.record({ kind: 'effect', what: 'agent.task', message: 'm', pod });
    await ring.close();
    expect(errors).toHaveLength(1);
  });
});

/** The durable store: complete files, one write at a time, failures reported once. */
import { describe, expect, it } from 'vitest';
import { isCancelled, VirtualClock } from '../../async/index.js';
import type { HostFiles } from '../host.js';
import type { HostCall } from '../simulated/faults.js';
import { type SimulatedHost, simulatedHost } from '../simulated/simulated-host.js';
import { DurableFiles } from './durable-files.js';
import { DurableState } from './durable-state.js';
import { replaceFile } from './replace-file.js';
import { setAside } from './set-aside.js';

const path = '/var/agent/state';

function world(host: SimulatedHost = simulatedHost(), signal?: AbortSignal) {
  const clock = new VirtualClock();
  const told: string[] = [];
  const store = new DurableFiles({
    files: host.files,
    clock,
    ...(signal === undefined ? {} : { signal }),
    observer: {
      setAside: (file) => told.push(`set aside ${file.path}: ${file.reason}`),
      failing: (file, error, failures) => told.push(`failing ${file} ${error.code} ${failures}`),
      recovered: (file, failures) => told.push(`recovered ${file} ${failures}`),
    },
  });
  const content = async (): Promise<string> => new TextDecoder().decode(await host.files.readFile(path));
  return { host, clock, store, told, content };
}

/** Holds up matching calls until released. */
function stuck(host: SimulatedHost, isStuck: (call: HostCall) => boolean): () => void {
  const waiting: (() => void)[] = [];
  let isOver = false;
  const hold = (): void =>
    host.inject({
      at: (call) => !isOver && isStuck(call),
      when: 'before',
      effect: {
        kind: 'run',
        action: () => {
          hold();
          return new Promise((resolve) => waiting.push(resolve));
        },
      },
    });
  hold();
  return () => {
    isOver = true;
    for (const go of waiting.splice(0)) go();
  };
}

const refuse = (host: SimulatedHost, code: string, at: (call: HostCall) => boolean): void =>
  host.inject({ at, when: 'before', effect: { kind: 'fail', code } });

describe('a replacement', () => {
  const cuts = [
    { unsyncedBytes: 'lost', unsyncedNames: 'kept' },
    { unsyncedBytes: 'cut in half', unsyncedNames: 'kept' },
    { unsyncedBytes: 'lost', unsyncedNames: 'undone' },
    { unsyncedBytes: 'kept', unsyncedNames: 'undone' },
  ] as const;
  it.each(cuts)('leaves the old or the new content if power fails at any step: %o', async (cut) => {
    for (let at = 1, isDone = false; !isDone; at++) {
      const host = simulatedHost();
      await replaceFile(host.files, path, 'old content');
      host.inject({ at: (host.calls.at(-1)?.number ?? 0) + at, when: 'before', effect: { kind: 'die' } });
      isDone = await replaceFile(host.files, path, 'new content').then(
        () => true,
        () => false,
      );
      host.machine.powerCut(cut);
      const left = simulatedHost({ machine: host.machine });
      const text = new TextDecoder().decode(await left.files.readFile(path));
      expect(isDone ? ['new content'] : ['old content', 'new content']).toContain(text);
      expect(at).toBeLessThan(20);
    }
  });

  it.each(cuts)('in new directories survives a power cut: %o', async (cut) => {
    const host = simulatedHost();
    await replaceFile(host.files, '/var/a/b/c/file', 'content');
    host.machine.powerCut(cut);
    const left = simulatedHost({ machine: host.machine });
    expect(new TextDecoder().decode(await left.files.readFile('/var/a/b/c/file'))).toBe('content');
  });

  it.each(['ENOSPC', 'EIO', 'EROFS', 'EMFILE'])(
    'that fails with %s at any of its calls leaves the old content and nothing else',
    async (code) => {
      for (let at = 1, isDone = false; !isDone; at++) {
        const { host, content } = world();
        await replaceFile(host.files, path, 'old');
        const first = (host.calls.at(-1)?.number ?? 0) + at;
        refuse(host, code, (call) => call.changing && call.number === first);
        isDone = await replaceFile(host.files, path, 'new').then(
          () => true,
          () => false,
        );
        expect(await host.files.readdir('/var/agent')).toEqual(['state']);
        expect(isDone ? ['new'] : ['old', 'new']).toContain(await content());
      }
    },
  );

  it('overwrites the leftovers of an earlier one', async () => {
    const { host, content } = world();
    await replaceFile(host.files, path, 'old');
    host.machine.makeSpecialFile(`${path}.tmp`, 'fifo');
    await replaceFile(host.files, path, 'new');
    await host.files.mkdir(`${path}.tmp`);
    await replaceFile(host.files, path, 'newest');
    expect(await content()).toBe('newest');
    expect(await host.files.readdir('/var/agent')).toEqual(['state']);
  });
});

describe('the store', () => {
  it('makes only the first and the newest of many writes to one file', async () => {
    const { host, store, content } = world();
    await store.write(path, 'start');
    const before = host.calls.length;
    await Promise.all(['a', 'b', 'c', 'd'].map((text) => store.write(path, text)));
    expect(await content()).toBe('d');
    expect(host.calls.slice(before).filter(({ operation }) => operation === 'rename')).toHaveLength(2);
  });

  it('a removal after a write wins', async () => {
    const { host, store } = world();
    const done = [store.write(path, 'a'), store.write(path, 'b'), store.remove(path)];
    await Promise.all(done);
    expect(await host.files.readdir('/var/agent')).toEqual([]);
    await store.remove(path);
  });

  it('waits for a stuck disk up to its limit with two calls at a time, and recovers', async () => {
    const { host, clock, store, told, content } = world();
    await store.write(path, 'start');
    const release = stuck(host, ({ operation }) => operation === 'syncFile');
    const files = [path, `${path}-2`, `${path}-3`];
    const writes = files.map((file) => store.write(file, 'new').catch(({ code }) => code));
    await clock.advance(29_000);
    await clock.advance(2_000);
    expect(await Promise.all(writes)).toEqual(['ETIMEDOUT', 'ETIMEDOUT', 'ETIMEDOUT']);
    expect(host.calls.filter(({ operation }) => operation === 'syncFile')).toHaveLength(3);
    const newest = store.write(path, 'newest');
    release();
    await newest;
    expect(await content()).toBe('newest');
    expect(told).toContain(`failing ${path} ETIMEDOUT 1`);
    expect(told).toContain(`recovered ${path} 1`);
  });

  it('refuses writes when too many files wait for the disk', async () => {
    const { host, clock, store } = world();
    const release = stuck(host, ({ operation }) => operation === 'writeFile');
    const writes = Array.from({ length: 1001 }, (_, n) =>
      store.write(`${path}-${n}`, '').catch(({ code }) => code),
    );
    expect(await writes.at(-1)).toBe('EAGAIN');
    await clock.advance(31_000);
    expect(new Set(await Promise.all(writes))).toEqual(new Set(['ETIMEDOUT', 'EAGAIN']));
    release();
  });

  it.each(['ENOSPC', 'EIO', 'EROFS', 'EMFILE'])(
    'reports %s of a file once, again after ten minutes, and its recovery',
    async (code) => {
      const { host, clock, store, told, content } = world();
      await store.write(path, 'old');
      let isFailing = true;
      refuse(host, code, (call) => isFailing && call.changing);
      const attempt = (): Promise<unknown> => store.write(path, 'new').catch((error) => error.code);
      for (let n = 0; n < 100; n++) expect(await attempt()).toBe(code);
      await clock.advance(600_000);
      await attempt();
      isFailing = false;
      expect(await attempt()).toBeUndefined();
      expect(told).toEqual([
        `failing ${path} ${code} 1`,
        `failing ${path} ${code} 101`,
        `recovered ${path} 101`,
      ]);
      expect(await content()).toBe('new');
    },
  );

  it('waits out too many open files, which say nothing about a file', async () => {
    const { host, clock, store, told } = world();
    await store.write(path, 'whole');
    let failures = 3;
    refuse(host, 'EMFILE', ({ operation }) => operation === 'readFile' && failures-- > 0);
    const reading = store.read(path, (text) => text);
    await clock.advance(10_000);
    expect(await reading).toEqual({ kind: 'found', value: 'whole' });
    refuse(host, 'EMFILE', ({ operation }) => operation === 'readFile');
    const refused = store.read(path, (text) => text).catch((error: Error) => error.message);
    await clock.advance(60_000);
    expect(await refused).toBe(`${path} could not be read`);
    expect(told).toEqual([]);
  });

  it('is read again where the disk failed, and set aside where it goes on failing', async () => {
    const { host, clock, store, told } = world();
    await store.write(path, 'whole');
    let failures = 2;
    refuse(host, 'EIO', ({ operation }) => operation === 'readFile' && failures-- > 0);
    const reading = store.read(path, (text) => text);
    await clock.advance(1_000);
    expect(await reading).toEqual({ kind: 'found', value: 'whole' });
    failures = 100;
    for (let count = 0; count < 10; count++) refuse(host, 'EIO', ({ operation }) => operation === 'readFile');
    const refused = store.read(path, (text) => text);
    await clock.advance(60_000);
    expect(await refused).toMatchObject({ kind: 'set aside', reason: 'it cannot be read (EIO)' });
    expect(told).toEqual([`set aside ${path}: it cannot be read (EIO)`]);
  });

  it('keeps what was told of and cannot be read beside it', async () => {
    const { host, clock, store } = world();
    await store.write(path, 'old');
    await host.files.writeFile(`${path}.tmp`, 'told');
    for (let count = 0; count < 10; count++)
      refuse(host, 'EIO', (call) => call.operation === 'readFile' && call.path === `${path}.tmp`);
    const reading = store.readNewest(path, (text) => text);
    await clock.advance(60_000);
    expect(await reading).toEqual({ kind: 'found', value: 'old' });
    expect([...(await host.files.readdir('/var/agent'))].sort()).toEqual(['state', 'state.tmp']);
  });

  it('removes what an interrupted replacement left beside it', async () => {
    const { host, store } = world();
    await store.write(path, 'whole');
    await host.files.writeFile(`${path}.tmp`, 'half');
    expect(await store.read(path, (text) => text)).toEqual({ kind: 'found', value: 'whole' });
    expect(await host.files.readdir('/var/agent')).toEqual(['state']);
  });

  it('is not waited for by an agent that stops', async () => {
    const host = simulatedHost();
    const stopping = new AbortController();
    const { clock, store, told, content } = world(host, stopping.signal);
    await store.write(path, 'whole');
    const release = stuck(host, ({ operation }) => operation === 'stat');
    const outcomes = [
      store.read(path, (text) => text).catch(isCancelled),
      store.readNewest(path, (text) => text).catch(isCancelled),
    ];
    stopping.abort();
    expect(await Promise.all(outcomes)).toEqual([true, true]);
    expect(clock.pendingTimers).toBe(0);
    release();
    // Nothing is set aside for it, and it may still be written.
    await store.write(path, 'new');
    expect(await content()).toBe('new');
    expect(told).toEqual([]);
  });

  it('lists neither interrupted replacements nor set-aside files', async () => {
    const { host, store } = world();
    await store.write(path, 'whole');
    await host.files.writeFile(`${path}-2.tmp`, 'half');
    await host.files.writeFile(`${path}-3`, '');
    await store.read(`${path}-3`, JSON.parse);
    expect(await store.names('/var/agent')).toEqual(['state']);
    expect(await host.files.readdir('/var/agent')).not.toContain('state-2.tmp');
    expect(await store.names('/nowhere')).toEqual([]);
  });

  it('reports a broken file on a disk that refuses everything, and startup continues', async () => {
    const { host, store, told } = world();
    await host.files.mkdir('/var/agent');
    await host.files.writeFile(path, '{"half');
    refuse(host, 'EROFS', (call) => call.changing);
    expect(await store.read(path, JSON.parse)).toMatchObject({ kind: 'set aside', movedTo: undefined });
    expect(told).toEqual([`set aside ${path}: it is not whole JSON`]);
  });
});

describe('the newest content', () => {
  const whole = (text: string): string => {
    if (!text.endsWith('.')) throw new Error('torn');
    return text;
  };
  /** Replaces `old.` by `new.` in a world that ends before the given call; tells what the next agent reads. */
  async function afterDeath(at: number, cut?: Parameters<SimulatedHost['machine']['powerCut']>[0]) {
    const { host, store } = world();
    await store.write(path, 'old.');
    host.inject({ at: (host.calls.at(-1)?.number ?? 0) + at, when: 'before', effect: { kind: 'die' } });
    let isLasting = false;
    const isDone = await store.write(path, 'new.', { onWritten: () => (isLasting = true) }).then(
      () => true,
      () => false,
    );
    if (cut !== undefined) host.machine.powerCut(cut);
    const next = world(simulatedHost({ machine: host.machine }));
    const found = await next.store.readNewest(path, whole);
    expect(next.told).toEqual([]);
    await next.store.write(path, 'newest.');
    expect(await next.content()).toBe('newest.');
    return { isDone, isLasting, value: found.kind === 'found' ? found.value : found.kind };
  }

  it('is found again by an agent that was killed at any step after it was written', async () => {
    let found = 0;
    for (let at = 1, isDone = false; !isDone; at++) {
      const end = await afterDeath(at);
      isDone = end.isDone;
      expect(end.isLasting ? ['new.'] : ['old.', 'new.']).toContain(end.value);
      if (end.isLasting && !isDone) found++;
    }
    // Killed before the sync of the file, before the rename and before the sync of the directory.
    expect(found).toBe(3);
  });

  it.each([
    { unsyncedBytes: 'lost', unsyncedNames: 'kept' },
    { unsyncedBytes: 'cut in half', unsyncedNames: 'kept' },
    { unsyncedBytes: 'lost', unsyncedNames: 'undone' },
    { unsyncedBytes: 'kept', unsyncedNames: 'undone' },
  ] as const)('is the old or the new one, never a part, if power fails at any step: %o', async (cut) => {
    for (let at = 1, isDone = false; !isDone; at++) {
      const end = await afterDeath(at, cut);
      isDone = end.isDone;
      expect(isDone ? ['new.'] : ['old.', 'new.']).toContain(end.value);
    }
  });

  /** The disk has refused to sync `new.`, of which somebody was told. */
  async function afterRefusedSync() {
    const made = world();
    const { host, store } = made;
    await store.write(path, 'old.');
    const disk = { isFull: true };
    refuse(host, 'ENOSPC', ({ operation }) => disk.isFull && operation === 'syncFile');
    await expect(store.write(path, 'new.', { onWritten: () => {} })).rejects.toThrow('ENOSPC');
    return { ...made, disk };
  }

  it('stays until newer content is whole, if the disk refused to sync it', async () => {
    let deaths = 0;
    for (let isDone = false; !isDone && deaths < 20; deaths++) {
      const { host, store, disk } = await afterRefusedSync();
      disk.isFull = false;
      const at = (host.calls.at(-1)?.number ?? 0) + deaths + 1;
      host.inject({ at, when: 'before', effect: { kind: 'die' } });
      let isLasting = false;
      isDone = await store.write(path, 'newest.', { onWritten: () => (isLasting = true) }).then(
        () => true,
        () => false,
      );
      const next = world(simulatedHost({ machine: host.machine }));
      const found = await next.store.readNewest(path, whole);
      const expected = isLasting ? ['newest.'] : ['new.', 'newest.'];
      expect(expected).toContain(found.kind === 'found' ? found.value : found.kind);
      await next.store.write(path, 'last.', { onWritten: () => {} });
      expect(await next.content()).toBe('last.');
      expect(await next.store.names('/var/agent')).toEqual(['state']);
    }
    expect(deaths).toBeGreaterThan(4);
    expect(deaths).toBeLessThan(20);
  });

  it('stays if the disk refuses newer content', async () => {
    const { host, store } = await afterRefusedSync();
    let isTold = false;
    const write = store.write(path, 'newest.', { onWritten: () => (isTold = true) });
    await expect(write).rejects.toThrow('ENOSPC');
    expect(isTold).toBe(false);
    const next = world(simulatedHost({ machine: host.machine }));
    expect(await next.store.readNewest(path, whole)).toEqual({ kind: 'found', value: 'new.' });
  });

  it.each([
    { left: 'older than the file', modifiedMs: 1, expected: 'file.' },
    { left: 'as old as the file', modifiedMs: 2, expected: 'left.' },
  ])('is not what was left $left', async ({ modifiedMs, expected }) => {
    const { host, clock, told } = world();
    const files: HostFiles = {
      ...host.files,
      stat: async (file) => ({
        ...(await host.files.stat(file)),
        modifiedMs: file === path ? 2 : modifiedMs,
      }),
    };
    const observer = { setAside: () => told.push('set aside'), failing: () => {}, recovered: () => {} };
    const store = new DurableFiles({ files, clock, observer });
    await store.write(path, 'file.');
    await files.writeFile(`${path}.tmp`, 'left.');
    expect(await store.readNewest(path, whole)).toEqual({ kind: 'found', value: expected });
  });

  it('is told even if the disk takes no change any more', async () => {
    const { host, store } = world();
    await host.files.mkdir('/var/agent');
    await host.files.writeFile(`${path}.tmp`, 'left.');
    refuse(host, 'EROFS', (call) => call.changing);
    expect(await store.readNewest(path, whole)).toEqual({ kind: 'found', value: 'left.' });
  });
});

it('files of a new directory are written at the same time', async () => {
  const { host, store } = world();
  const names = ['a', 'b', 'c'];
  await Promise.all(names.map((name) => store.write(`/var/agent/new/deep/${name}`, name)));
  expect([...(await host.files.readdir('/var/agent/new/deep'))].sort()).toEqual(names);
});

describe('set-aside files', () => {
  it('are limited to three per file and sixteen per directory', async () => {
    const { host } = world();
    await host.files.mkdir('/var/agent');
    const put = async (name: string, nowMs: number): Promise<void> => {
      if (nowMs % 2 === 0) await host.files.mkdir(`/var/agent/${name}`);
      else await host.files.writeFile(`/var/agent/${name}`, String(nowMs));
      await setAside(host.files, `/var/agent/${name}`, nowMs);
    };
    for (let n = 0; n < 10; n++) await put('state', n);
    expect((await host.files.readdir('/var/agent')).map((name) => name.slice(-5))).toEqual([
      '.007Z',
      '.008Z',
      '.009Z',
    ]);
    for (let n = 10; n < 40; n++) await put(`other-${n}`, n);
    const left = await host.files.readdir('/var/agent');
    expect(left).toHaveLength(16);
    expect(left.some((name) => name.startsWith('state'))).toBe(false);
  });
});

describe('a state in a file', () => {
  it('is retried with growing delays until the disk accepts it', async () => {
    const { host, clock, store, told, content } = world();
    let value = 1;
    const state = new DurableState(store, path, () => String(value));
    let isFailing = true;
    refuse(host, 'ENOSPC', (call) => isFailing && call.changing);
    state.changed();
    await clock.advance(0);
    for (value = 2; value < 50; value++) state.changed();
    await clock.advance(600_000);
    const tries = host.calls.filter(({ operation }) => operation === 'mkdir' || operation === 'writeFile');
    expect(tries.length).toBeLessThan(60);
    expect(told).toHaveLength(1);
    isFailing = false;
    await clock.advance(60_000);
    expect(await content()).toBe('50');
    expect(told.at(-1)).toContain('recovered');
    const writes = host.calls.length;
    await clock.advance(600_000);
    expect(host.calls).toHaveLength(writes);
    await state.stop();
  });

  it('is tried at once for a caller that needs it on disk, with the reason for a failure', async () => {
    const { host, store, content } = world();
    const state = new DurableState(store, path, () => 'value');
    let isFailing = true;
    refuse(host, 'ENOSPC', (call) => isFailing && call.changing);
    state.changed();
    await expect(state.written()).rejects.toMatchObject({ code: 'ENOSPC' });
    isFailing = false;
    await state.written();
    expect(await content()).toBe('value');
    await state.stop();
  });

  it('outlasts the process before the disk has it', async () => {
    const { host, store, content } = world();
    const state = new DurableState(store, path, () => 'value', { isReadNewest: true });
    const release = stuck(host, ({ operation }) => operation === 'syncFile');
    state.changed();
    await state.lasting();
    expect(await store.readNewest(path, (text) => text)).toEqual({ kind: 'found', value: 'value' });
    release();
    await host.files.rename(path, `${path}.tmp`);
    await state.written();
    expect(await content()).toBe('value');
    await state.stop();
  });

  it('does not outlast the process if it cannot be written, and is tried at once for a caller', async () => {
    const { host, store } = world();
    const state = new DurableState(store, path, () => 'value', { isReadNewest: true });
    let isFailing = true;
    refuse(host, 'ENOSPC', (call) => isFailing && call.operation !== 'syncFile' && call.changing);
    state.changed();
    await expect(state.lasting()).rejects.toMatchObject({ code: 'ENOSPC' });
    isFailing = false;
    await state.lasting();
    await state.stop();
  });

  it('outlasts the process although the disk refuses to sync it, and is written again later', async () => {
    const { host, clock, store, told, content } = world();
    await store.write(path, 'old');
    const state = new DurableState(store, path, () => 'value', { isReadNewest: true });
    let isFailing = true;
    refuse(host, 'EIO', ({ operation }) => isFailing && operation === 'syncFile');
    state.changed();
    await state.lasting();
    await clock.advance(0);
    expect(told).toEqual([`failing ${path} EIO 1`]);
    expect(new TextDecoder().decode(await host.files.readFile(`${path}.tmp`))).toBe('value');
    isFailing = false;
    await clock.advance(1_000);
    expect(await content()).toBe('value');
    await state.stop();
  });

  it('leaves no timer when it stops, after one more attempt', async () => {
    const { host, clock, store, content } = world();
    const state = new DurableState(store, path, () => 'value');
    let isFailing = true;
    refuse(host, 'ENOSPC', (call) => isFailing && call.changing);
    state.changed();
    await clock.advance(0);
    isFailing = false;
    await state.stop();
    expect(await content()).toBe('value');
    expect(clock.pendingTimers).toBe(0);
  });
});

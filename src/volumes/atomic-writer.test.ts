/** Atomic writes on a simulated machine, including a process death between any two calls. */
import { describe, expect, it } from 'vitest';
import { type Host, HostDied, type HostFault, type SimulatedHost, simulatedHost } from '../host/index.js';
import { type AtomicWriteOutcome, type Payload, type PayloadFile, writeAtomically } from './atomic-writer.js';

const directory = '/var/volume';
const clock = { now: () => Date.UTC(2025, 0, 31, 23, 59, 59) };

function payload(files: Readonly<Record<string, string | PayloadFile>>): Payload {
  return new Map(
    Object.entries(files).map(([path, file]) => [
      path,
      typeof file === 'string' ? { data: file, mode: 0o644 } : file,
    ]),
  );
}

async function machineWithVolume(): Promise<SimulatedHost> {
  const host = simulatedHost();
  await host.files.mkdir(directory);
  return host;
}

function write({ files }: Host, wanted: Payload): Promise<AtomicWriteOutcome> {
  return writeAtomically({ files, clock, directory, payload: wanted });
}

/** The entries below a path by relative path: contents of files, targets of links. */
async function contents({ files }: Host, path: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const visit = async (relative: string): Promise<void> => {
    for (const name of await files.readdir(`${path}${relative}`)) {
      const entry = `${relative}/${name}`;
      const { kind } = await files.lstat(`${path}${entry}`);
      if (kind === 'directory') await visit(entry);
      else if (kind === 'symlink') found[entry.slice(1)] = `-> ${await files.readlink(`${path}${entry}`)}`;
      else found[entry.slice(1)] = new TextDecoder().decode(await files.readFile(`${path}${entry}`));
    }
  };
  await visit('');
  return found;
}

/** What a reader of the volume sees. */
async function seen(host: Host): Promise<Record<string, string>> {
  return await contents(host, `${directory}/..data`);
}

async function rootNames({ files }: Host): Promise<string[]> {
  return [...(await files.readdir(directory))].sort();
}

describe('writeAtomically', () => {
  it('puts files behind links', async () => {
    const host = await machineWithVolume();
    const wanted = payload({
      a: '1',
      'path/to/data-2': { data: Buffer.from([0, 255]), mode: 0o400, fsUser: 1000 },
    });
    expect(await write(host, wanted)).toEqual({ written: true });
    const target = await host.files.readlink(`${directory}/..data`);
    expect(target).toMatch(/^\.\.2025_01_31_23_59_59\.[0-9]+$/);
    expect(await rootNames(host)).toEqual([target, '..data', 'a', 'path'].sort());
    expect(await host.files.readlink(`${directory}/path`)).toBe('..data/path');
    expect(await host.files.stat(`${directory}/${target}`)).toMatchObject({ mode: 0o755 });
    expect(await host.files.stat(`${directory}/path/to`)).toMatchObject({ mode: 0o755, uid: 0 });
    const nested = await host.files.stat(`${directory}/path/to/data-2`);
    expect(nested).toMatchObject({ mode: 0o400, uid: 1000, gid: 0 });
    expect([...(await host.files.readFile(`${directory}/path/to/data-2`))]).toEqual([0, 255]);
    expect(await host.files.lstat(`${directory}/path`)).toMatchObject({ uid: 1000 });
    expect(await host.files.lstat(`${directory}/a`)).toMatchObject({ uid: 0 });
  });

  it('sets exact modes despite the umask', async () => {
    const host = await machineWithVolume();
    await write(host, payload({ a: { data: '', mode: 0o666 } }));
    expect((await host.files.stat(`${directory}/a`)).mode).toBe(0o666);
  });

  it('makes an empty directory for an empty payload', async () => {
    const host = await machineWithVolume();
    expect(await write(host, payload({}))).toEqual({ written: true });
    expect(await seen(host)).toEqual({});
    expect(await write(host, payload({}))).toEqual({ written: false });
  });

  it('does not rewrite unchanged files', async () => {
    const host = await machineWithVolume();
    await write(host, payload({ a: '1', 'b/c': '2' }));
    const before = await contents(host, directory);
    const calls = host.calls.length;
    for (let refresh = 0; refresh < 3; refresh++)
      expect(await write(host, payload({ a: '1', 'b/c': '2' }))).toEqual({ written: false });
    expect(await contents(host, directory)).toEqual(before);
    expect(host.calls).toHaveLength(calls);
  });

  it('does not write for a mode change alone', async () => {
    const host = await machineWithVolume();
    await write(host, payload({ a: { data: '1', mode: 0o644 } }));
    expect(await write(host, payload({ a: { data: '1', mode: 0o400 } }))).toEqual({ written: false });
    expect((await host.files.stat(`${directory}/a`)).mode).toBe(0o644);
  });

  it('removes keys and adds others', async () => {
    const host = await machineWithVolume();
    await write(host, payload({ a: '1', 'd/e': '2', 'd/f': '3' }));
    const old = await host.files.readlink(`${directory}/..data`);
    await write(host, payload({ 'b/c': '1', 'd/e': '2' }));
    const current = await host.files.readlink(`${directory}/..data`);
    expect(current).not.toBe(old);
    expect(await rootNames(host)).toEqual([current, '..data', 'b', 'd'].sort());
    expect(await seen(host)).toEqual({ 'b/c': '1', 'd/e': '2' });
  });

  it('turns a directory into a file and back', async () => {
    const host = await machineWithVolume();
    await write(host, payload({ 'a/b': '1' }));
    await write(host, payload({ a: '2' }));
    expect(await seen(host)).toEqual({ a: '2' });
    await write(host, payload({ 'a/b': '3' }));
    expect(await seen(host)).toEqual({ 'a/b': '3' });
  });

  it('restores a deleted link without a write', async () => {
    const host = await machineWithVolume();
    await write(host, payload({ a: '1', b: '2' }));
    await host.files.unlink(`${directory}/a`);
    expect(await write(host, payload({ a: '1', b: '2' }))).toEqual({ written: false });
    expect(await host.files.readlink(`${directory}/a`)).toBe('..data/a');
  });

  it('leaves directories for nested mounts and foreign links alone', async () => {
    const host = await machineWithVolume();
    await host.files.mkdir(`${directory}/nested`);
    await host.files.symlink('/elsewhere', `${directory}/mine`);
    await write(host, payload({ nested: 'hidden', a: '1' }));
    await write(host, payload({ b: '1' }));
    expect((await host.files.lstat(`${directory}/nested`)).kind).toBe('directory');
    expect(await host.files.readlink(`${directory}/mine`)).toBe('/elsewhere');
  });

  it('runs the hook when the new files exist but none is visible', async () => {
    const host = await machineWithVolume();
    await write(host, payload({ a: 'old' }));
    let before: Record<string, string> = {};
    await writeAtomically({
      files: host.files,
      clock,
      directory,
      payload: payload({ a: 'new' }),
      randomSuffix: () => 'next',
      beforeSwitch: async () => {
        before = { ...(await seen(host)) };
        expect(await contents(host, `${directory}/..2025_01_31_23_59_59.next`)).toEqual({ a: 'new' });
      },
    });
    expect(before).toEqual({ a: 'old' });
    expect(await seen(host)).toEqual({ a: 'new' });
  });

  it('keeps the old files if the hook fails, and the next write cleans up', async () => {
    const host = await machineWithVolume();
    await write(host, payload({ a: 'old' }));
    const failing = writeAtomically({
      files: host.files,
      clock,
      directory,
      payload: payload({ a: 'new' }),
      beforeSwitch: () => Promise.reject(new Error('no walk')),
    });
    await expect(failing).rejects.toThrow('no walk');
    expect(await seen(host)).toEqual({ a: 'old' });
    await write(host, payload({ a: 'new' }));
    expect(await rootNames(host)).toHaveLength(3);
  });

  it('changes nothing for an invalid path', async () => {
    const host = await machineWithVolume();
    const calls = host.calls.length;
    await expect(write(host, payload({ a: '1', '../x': '2' }))).rejects.toThrow('must not contain');
    expect(host.calls).toHaveLength(calls);
  });

  it('replaces a foreign data link and leaves its target alone', async () => {
    const host = await machineWithVolume();
    await host.files.mkdir('/var/precious');
    await host.files.writeFile('/var/precious/file', 'kept');
    await host.files.symlink('/var/precious', `${directory}/..data`);
    await write(host, payload({ a: '1' }));
    expect(await seen(host)).toEqual({ a: '1' });
    expect(await contents(host, '/var/precious')).toEqual({ file: 'kept' });
  });

  it('does not reuse the name of a timestamp directory', async () => {
    const host = await machineWithVolume();
    await host.files.mkdir(`${directory}/..2025_01_31_23_59_59.1`);
    const suffixes = ['1', '1', '2'];
    await writeAtomically({
      files: host.files,
      clock,
      directory,
      payload: payload({ a: '1' }),
      randomSuffix: () => suffixes.shift() ?? '',
    });
    expect(await host.files.readlink(`${directory}/..data`)).toBe('..2025_01_31_23_59_59.2');
  });
});

describe('an interrupted write', () => {
  const first = { a: 'old', 'b/c': 'old', gone: 'old', 'd/e/f': 'old' };
  const scenarios: readonly [
    name: string,
    before: Record<string, string> | undefined,
    wanted: Record<string, string>,
  ][] = [
    ['first write', undefined, first],
    ['update', first, { ...first, a: 'new', 'b/c': 'new' }],
    ['keys removed and added', first, { a: 'new', 'd/x': 'new', 'n/m': 'new' }],
    ['all removed', first, {}],
    ['nothing to do', first, first],
    ['links to repair', first, first],
  ];

  /** A machine with the volume as it was before the write. */
  async function prepare(name: string, before: Record<string, string> | undefined): Promise<SimulatedHost> {
    const host = await machineWithVolume();
    if (before !== undefined) await write(host, payload(before));
    if (name === 'links to repair') {
      await host.files.unlink(`${directory}/a`);
      await host.files.symlink('..data/stale', `${directory}/stale`);
      await host.files.mkdir(`${directory}/..2020_01_01_00_00_00.9/x`, { recursive: true });
    }
    return host;
  }

  async function expectAllOldOrAllNew(
    host: Host,
    before: Record<string, string> | undefined,
    wanted: Record<string, string>,
  ): Promise<void> {
    const isFirst = !(await host.files.readdir(directory)).includes('..data');
    if (isFirst) expect(before).toBeUndefined();
    else expect([before, wanted]).toContainEqual(await seen(host));
    // A top-level link only ever shows valid content.
    for (const name of await host.files.readdir(directory)) {
      if (name.startsWith('..')) continue;
      expect(await host.files.readlink(`${directory}/${name}`)).toBe(`..data/${name}`);
    }
  }

  async function expectWhole(host: Host, wanted: Record<string, string>): Promise<void> {
    expect(await seen(host)).toEqual(wanted);
    const top = new Set(Object.keys(wanted).map((path) => path.split('/')[0] ?? path));
    const target = await host.files.readlink(`${directory}/..data`);
    expect(await rootNames(host)).toEqual([target, '..data', ...top].sort());
  }

  const effects: readonly HostFault['effect'][] = [{ kind: 'die' }, { kind: 'fail', code: 'EIO' }];
  for (const [name, before, wanted] of scenarios) {
    for (const effect of effects) {
      for (const when of ['before', 'after'] as const) {
        it(`${name}: ${effect.kind} ${when} any call leaves all old or all new files, and the next write repairs`, async () => {
          for (let at = 1; ; at++) {
            const { machine } = await prepare(name, before);
            const faulty = simulatedHost({ machine, faults: [{ at, when, effect }] });
            const outcome = await write(faulty, payload(wanted)).catch((error: unknown) => error);
            const restarted = simulatedHost({ machine });
            await expectAllOldOrAllNew(restarted, before, wanted);
            await write(restarted, payload(wanted));
            await expectWhole(restarted, wanted);
            if (faulty.calls.length < at) break;
            expect(outcome).toBeInstanceOf(Error);
            if (effect.kind === 'die') expect(outcome).toBeInstanceOf(HostDied);
          }
        });
      }
    }
  }

  it('is repaired by a write of different content, too', async () => {
    for (let at = 1; ; at++) {
      const { machine } = await prepare('update', first);
      const faulty = simulatedHost({ machine, faults: [{ at, when: 'after', effect: { kind: 'die' } }] });
      await write(faulty, payload({ a: 'new', x: 'new' })).catch(() => {});
      const restarted = simulatedHost({ machine });
      await write(restarted, payload({ z: 'third' }));
      await expectWhole(restarted, { z: 'third' });
      if (faulty.calls.length < at) break;
    }
  });
});

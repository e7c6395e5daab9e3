/** The process dies before and after every change a plugin makes; the next one repairs or removes what is left. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import { HostDied, type SimulatedHost, type SimulatedMachine, simulatedHost } from '../../host/index.js';
import type { ConfigMap, ObjectStore, Pod, Secret, Volume } from '../../kube/index.js';
import type { VolumePlugin, VolumeSpec } from '../contracts.js';
import { volumePlugins } from './index.js';

const rootDir = '/var/lib/nodelet';
const podUid = 'u';
const signal = new AbortController().signal;
const b64 = (text: string) => Buffer.from(text).toString('base64');

/** Two states of everything volumes are made from; no file may show a mix. */
type Version = 'old' | 'new';
const contents: Record<Version, Record<string, string>> = {
  old: { 'sub/b': 'old', gone: 'old' },
  new: { 'sub/b': 'new', came: 'new' },
};

function objectsOf(version: Version): ObjectStore {
  const data = Object.fromEntries(
    Object.entries(contents[version]).map(([path, text]) => [path.replace('/', '.'), text]),
  );
  const encoded = Object.fromEntries(Object.entries(data).map(([key, text]) => [key, b64(text)]));
  const configMap: ConfigMap = { metadata: {}, data };
  const secret: Secret = { metadata: {}, data: encoded };
  return {
    registerPod: () => {},
    unregisterPod: () => {},
    configMap: async () => configMap,
    secret: async () => secret,
  };
}

function pod(fsGroup: number | undefined): Pod {
  return {
    metadata: { name: 'p', namespace: 'ns', uid: podUid },
    spec: { containers: [{ name: 'c' }], ...(fsGroup === undefined ? {} : { securityContext: { fsGroup } }) },
  };
}

const items = (version: Version) =>
  Object.keys(contents[version]).map((path) => ({ key: path.replace('/', '.'), path }));
const defaultMode = 0o644;

const kinds: [kind: string, volumeOf: (version: Version) => VolumeSpec][] = [
  ['emptyDir', () => inline({ name: 'v', emptyDir: {} })],
  ['emptyDir in memory', () => inline({ name: 'v', emptyDir: { medium: 'Memory' } })],
  [
    'configMap',
    (version) => inline({ name: 'v', configMap: { name: 'x', defaultMode, items: items(version) } }),
  ],
  [
    'secret',
    (version) => inline({ name: 'v', secret: { secretName: 'x', defaultMode, items: items(version) } }),
  ],
  ['local', () => local(false)],
  ['local, read-only', () => local(true)],
];

function inline(volume: Volume): VolumeSpec {
  return { kind: 'inline', volume };
}
function local(readOnly: boolean): VolumeSpec {
  const persistentVolume = { metadata: { name: 'v' }, spec: { local: { path: '/disk' } } };
  return { kind: 'persistent', volume: { name: 'v' }, persistentVolume, readOnly };
}

interface Process {
  readonly host: SimulatedHost;
  setUp(version: Version): Promise<void>;
  tearDown(): Promise<void>;
  readonly path: string;
}

function start(
  volumeOf: (version: Version) => VolumeSpec,
  fsGroup?: number,
  machine?: SimulatedMachine,
): Process {
  const host = simulatedHost(machine === undefined ? {} : { machine });
  const pluginWith = (version: Version): VolumePlugin => {
    const plugins = volumePlugins({
      host,
      clock: systemClock,
      rootDir,
      objects: objectsOf(version),
      nodeAllocatable: () => ({ memory: '1Gi' }),
    });
    const plugin = plugins.find((candidate) => candidate.accepts(volumeOf(version)));
    if (plugin === undefined) throw new Error('no plugin');
    return plugin;
  };
  return {
    host,
    path: pluginWith('old').hostPath(volumeOf('old'), podUid) ?? '',
    setUp: async (version) => {
      const spec = volumeOf(version);
      await pluginWith(version).devices?.mountDevice(spec, signal);
      await pluginWith(version).setUp({ pod: pod(fsGroup), spec, isRemount: false, signal });
    },
    tearDown: () => pluginWith('old').tearDown({ podUid, innerName: 'v' }),
  };
}

/** What a container sees, by path. */
async function seen({ host, path }: Process): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const file of new Set([...Object.keys(contents.old), ...Object.keys(contents.new)])) {
    const bytes = await host.files.readFile(`${path}/..data/${file}`).catch(() => undefined);
    if (bytes !== undefined) found[file] = Buffer.from(bytes).toString();
  }
  return found;
}

async function mountsBelowRoot({ host }: Process): Promise<string[]> {
  return (await host.mounts.list())
    .map(({ target }) => target)
    .filter((target) => target.startsWith(rootDir));
}

/** Runs the work with a death at each change in turn; `check` inspects the machine that each leaves. */
async function atEveryChange(
  create: () => Promise<Process>,
  work: (process: Process) => Promise<void>,
  check: (left: SimulatedMachine, place: string) => Promise<void>,
): Promise<number> {
  for (let number = 1; ; number++) {
    for (const when of ['before', 'after'] as const) {
      const process = await create();
      const begun = process.host.calls.length;
      process.host.inject({ at: begun + number, when, effect: { kind: 'die' } });
      try {
        await work(process);
        if (!process.host.dead) return number - 1;
      } catch (error) {
        if (!process.host.dead) throw error;
        expect(isDeath(error)).toBe(true);
      }
      const call = process.host.calls.at(-1);
      await check(process.host.machine, `${when} ${number} ${call?.operation} ${call?.path}`);
    }
  }
}

function isDeath(error: unknown): boolean {
  return error instanceof HostDied || (error instanceof AggregateError && error.errors.every(isDeath));
}

async function prepared(process: Process): Promise<Process> {
  await process.host.files.mkdir(`${rootDir}/pods/${podUid}/volumes`, { recursive: true });
  await process.host.files.mkdir('/disk', { recursive: true });
  await process.host.files.writeFile('/disk/file', 'kept');
  return process;
}

describe.each(kinds)('%s after a crash', (kind, volumeOf) => {
  const hasFiles = !kind.startsWith('emptyDir') && !kind.startsWith('local');
  const fsGroup = 7;
  const nextProcess = (machine: SimulatedMachine) => start(volumeOf, fsGroup, machine);

  async function expectWhole(process: Process, version: Version, place: string): Promise<void> {
    if (hasFiles) expect(await seen(process), place).toEqual(contents[version]);
    const { mode, gid } = await process.host.files.stat(process.path);
    if (kind === 'local, read-only') {
      const mount = (await process.host.mounts.list()).find(({ target }) => target === process.path);
      expect(mount?.options, place).toContain('ro');
    } else {
      expect([gid, mode & 0o2000], place).toEqual([fsGroup, 0o2000]);
    }
    expect((await mountsBelowRoot(process)).length, place).toBeLessThanOrEqual(1);
  }

  async function expectGone(process: Process, place: string): Promise<void> {
    expect(await mountsBelowRoot(process), place).toEqual([]);
    await expect(process.host.files.lstat(process.path), place).rejects.toThrow('ENOENT');
    expect(Buffer.from(await process.host.files.readFile('/disk/file')).toString(), place).toBe('kept');
  }

  it('in set-up is set up by the next process, and torn down by the one after', async () => {
    const changes = await atEveryChange(
      () => prepared(start(volumeOf, fsGroup)),
      (process) => process.setUp('old'),
      async (machine, place) => {
        if (hasFiles) expect([{}, contents.old], place).toContainEqual(await seen(nextProcess(machine)));
        const next = nextProcess(machine);
        await next.setUp('old');
        await expectWhole(next, 'old', place);
        const last = nextProcess(machine);
        await last.tearDown();
        await expectGone(last, place);
      },
    );
    expect(changes).toBeGreaterThan(1);
  });

  it('in set-up leaves nothing that tear-down does not remove', async () => {
    await atEveryChange(
      () => prepared(start(volumeOf, fsGroup)),
      (process) => process.setUp('old'),
      async (machine, place) => {
        const next = nextProcess(machine);
        await next.tearDown();
        await expectGone(next, place);
      },
    );
  });

  it('in set-up followed by a reboot is set up anew', async () => {
    await atEveryChange(
      () => prepared(start(volumeOf, fsGroup)),
      (process) => process.setUp('old'),
      async (machine, place) => {
        machine.reboot();
        const next = nextProcess(machine);
        await next.setUp('old');
        await expectWhole(next, 'old', place);
      },
    );
  });

  it('in a refresh shows the old files or the new ones, never a mix', async () => {
    await atEveryChange(
      async () => {
        const process = await prepared(start(volumeOf, fsGroup));
        await process.setUp('old');
        return process;
      },
      (process) => process.setUp('new'),
      async (machine, place) => {
        const found = await seen(nextProcess(machine));
        if (hasFiles) expect([contents.old, contents.new], place).toContainEqual(found);
        const next = nextProcess(machine);
        await next.setUp('new');
        await expectWhole(next, 'new', place);
      },
    );
  });

  it('in tear-down is torn down by the next process', async () => {
    const changes = await atEveryChange(
      async () => {
        const process = await prepared(start(volumeOf, fsGroup));
        await process.setUp('old');
        return process;
      },
      (process) => process.tearDown(),
      async (machine, place) => {
        const next = nextProcess(machine);
        await next.tearDown();
        await expectGone(next, place);
      },
    );
    expect(changes).toBeGreaterThan(0);
  });

  it('in tear-down can be set up again', async () => {
    await atEveryChange(
      async () => {
        const process = await prepared(start(volumeOf, fsGroup));
        await process.setUp('old');
        return process;
      },
      (process) => process.tearDown(),
      async (machine, place) => {
        const next = nextProcess(machine);
        await next.setUp('new');
        await expectWhole(next, 'new', place);
      },
    );
  });
});

describe('a failing call', () => {
  const volumeOf = kinds.find(([kind]) => kind === 'secret')?.[1] ?? (() => inline({ name: 'v' }));

  it('in a refresh leaves the old files, and a later refresh brings the new ones', async () => {
    for (let number = 1; ; number++) {
      const process = await prepared(start(volumeOf, 7));
      await process.setUp('old');
      const begun = process.host.calls.length;
      process.host.inject({ at: begun + number, when: 'before', effect: { kind: 'fail', code: 'ENOSPC' } });
      const outcome = await process.setUp('new').then(
        () => 'done',
        (error: unknown) => (error instanceof Error ? error.message : 'failed'),
      );
      if (process.host.calls.length < begun + number) break;
      expect([contents.old, contents.new], `call ${number}: ${outcome}`).toContainEqual(await seen(process));
      expect(outcome).not.toContain(b64('new'));
      await process.setUp('new');
      expect(await seen(process)).toEqual(contents.new);
    }
  });

  it('in the first set-up leaves no files', async () => {
    const process = await prepared(start(volumeOf, undefined));
    process.host.inject({
      at: ({ operation, path }) => operation === 'writeFile' && !path.endsWith('ready'),
      when: 'before',
      effect: { kind: 'fail', code: 'ENOSPC' },
    });
    await expect(process.setUp('old')).rejects.toThrow('ENOSPC');
    expect(await mountsBelowRoot(process)).toEqual([]);
    await expect(process.host.files.lstat(process.path)).rejects.toThrow('ENOENT');
  });
});

import { describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import { type Host, type HostFault, mountAt, simulatedHost } from '../../host/index.js';
import { emptyDirVolumes } from './empty-dir.js';
import { EmptyDirectories } from './empty-directories.js';

const rootDir = '/var/lib/nodelet';
const signal = new AbortController().signal;
const directoryOf = (name: string) => ({
  podUid: 'u',
  markerName: name,
  path: `${rootDir}/pods/u/volumes/kubernetes.io~empty-dir/${name}`,
});
const inMemory = { backing: { kind: 'memory', sizeBytes: 4096n }, fsGroup: undefined, signal } as const;

const refusingMounts: HostFault = {
  at: ({ operation }) => operation === 'mount',
  when: 'before',
  effect: { kind: 'fail', code: 'EINVAL' },
};

it('an emptyDir on disk is open to all, whatever the umask', async () => {
  const host = simulatedHost({ umask: 0o027 });
  const directories = new EmptyDirectories({ host, clock: systemClock, rootDir });
  const { path } = directoryOf('a');
  await directories.setUp({ ...directoryOf('a'), backing: { kind: 'disk' }, fsGroup: undefined, signal });
  expect((await host.files.stat(path)).mode.toString(8)).toBe('777');
});

it.each([
  [true, '1750'],
  [false, '777'],
])('a pod may choose the mode: %s', async (allowsModes, expected) => {
  const host = simulatedHost({ umask: 0o077 });
  const directories = new EmptyDirectories({ host, clock: systemClock, rootDir });
  const plugin = emptyDirVolumes({ rootDir, directories, nodeAllocatable: () => ({}), allowsModes });
  const spec = { kind: 'inline', volume: { name: 'v', emptyDir: { mode: 0o1750 } } } as const;
  const pod = { metadata: { uid: 'u', name: 'p', namespace: 'd' }, spec: { containers: [] } };
  await plugin.setUp({ pod, spec, isRemount: false, signal });
  expect((await host.files.stat(plugin.hostPath(spec, 'u') ?? '')).mode.toString(8)).toBe(expected);
});

describe('emptyDirs in memory', () => {
  it('are kept out of swap if the kernel can, even if its version does not show it', async () => {
    const host = simulatedHost({ kernelRelease: '5.14.0-503.el9' });
    const directories = new EmptyDirectories({ host, clock: systemClock, rootDir });
    await directories.setUp({ ...directoryOf('a'), ...inMemory });
    expect((await mountAt(host, directoryOf('a').path))?.superOptions).toContain('noswap');
  });

  it('are mounted without noswap in a user namespace', async () => {
    const host = simulatedHost({ inUserNamespace: true });
    const directories = new EmptyDirectories({ host, clock: systemClock, rootDir });
    await directories.setUp({ ...directoryOf('a'), ...inMemory });
    expect((await mountAt(host, directoryOf('a').path))?.superOptions).not.toContain('noswap');
  });

  it('report why they cannot be mounted, and can be later', async () => {
    const host = simulatedHost({ kernelRelease: '5.14.0' });
    host.inject(refusingMounts);
    const directories = new EmptyDirectories({ host, clock: systemClock, rootDir });
    await expect(directories.setUp({ ...directoryOf('a'), ...inMemory })).rejects.toThrow('EINVAL');
    const next = simulatedHost({ machine: host.machine });
    await new EmptyDirectories({ host: next, clock: systemClock, rootDir }).setUp({
      ...directoryOf('a'),
      ...inMemory,
    });
    expect((await mountAt(next, directoryOf('a').path))?.fsType).toBe('tmpfs');
  });

  it('try noswap once on an old kernel', async () => {
    const host = simulatedHost({ kernelRelease: '5.14.0' });
    let refusals = 0;
    const mounts = {
      ...host.mounts,
      mount: async (request: Parameters<typeof host.mounts.mount>[0]) => {
        if (request.options?.includes('noswap')) {
          refusals += 1;
          // Produces the port's own error of a refused mount.
          await host.mounts.mount({ source: '/none', target: '/none', options: ['bind'] });
        }
        await host.mounts.mount(request);
      },
    };
    let warnings = 0;
    const directories = new EmptyDirectories({
      host: { ...host, mounts },
      clock: systemClock,
      rootDir,
      onSwappable: () => {
        warnings += 1;
      },
    });
    for (const name of ['a', 'b']) await directories.setUp({ ...directoryOf(name), ...inMemory });
    expect([refusals, warnings]).toEqual([1, 1]);
    expect((await mountAt(host, directoryOf('b').path))?.superOptions).toEqual(
      expect.arrayContaining(['size=4k']),
    );
  });
});

describe('tear-down of an emptyDir in memory', () => {
  const made = async () => {
    const host = simulatedHost();
    const directories = new EmptyDirectories({ host, clock: systemClock, rootDir });
    await directories.setUp({ ...directoryOf('a'), ...inMemory });
    return { host, directories, path: directoryOf('a').path };
  };
  const isGone = (host: Host, path: string): Promise<boolean> =>
    host.files.lstat(path).then(
      () => false,
      () => true,
    );

  it('removes the content without reading the mount table', async () => {
    const { host, directories, path } = await made();
    await host.files.writeFile(`${path}/data`, 'x');
    let lists = 0;
    const list = (below?: string): ReturnType<typeof host.mounts.list> => {
      lists++;
      return host.mounts.list(below);
    };
    const mounts = { ...host.mounts, list };
    await new EmptyDirectories({ host: { ...host, mounts }, clock: systemClock, rootDir }).tearDown(
      directoryOf('a'),
    );
    expect([await isGone(host, path), lists]).toEqual([true, 0]);
    await directories.tearDown(directoryOf('a'));
  });

  it('removes a mount that a container left in it, without data loss', async () => {
    const { host, directories, path } = await made();
    await host.files.mkdir('/srv', { recursive: true });
    await host.files.writeFile('/srv/kept', 'x');
    await host.files.mkdir(`${path}/in`);
    await host.mounts.mount({ source: '/srv', target: `${path}/in`, options: ['bind'] });
    await directories.tearDown(directoryOf('a'));
    expect(await isGone(host, path)).toBe(true);
    expect(await host.files.readdir('/srv')).toEqual(['kept']);
  });

  it('removes stacked mounts and what lies below them', async () => {
    const { host, directories, path } = await made();
    await host.mounts.unmount(path);
    await host.files.writeFile(`${path}/below`, 'x');
    for (let n = 0; n < 2; n++) {
      await host.mounts.mount({ source: 'tmpfs', target: path, fsType: 'tmpfs', options: [] });
    }
    await directories.tearDown(directoryOf('a'));
    expect([await isGone(host, path), await mountAt(host, path)]).toEqual([true, undefined]);
  });
});

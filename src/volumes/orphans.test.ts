/** Directories of pods that are gone, on a simulated machine. */
import { describe, expect, it } from 'vitest';
import { type SimulatedHost, simulatedHost } from '../host/index.js';
import { cleanOrphanedPods } from './orphans.js';

const root = '/var/lib/kubelet';
const pod = `${root}/pods/uid-1`;

async function machine(...dirs: string[]): Promise<SimulatedHost> {
  const host = simulatedHost();
  for (const dir of ['plugins', ...dirs]) await host.files.mkdir(`${pod}/${dir}`, { recursive: true });
  return host;
}

function clean(host: SimulatedHost, options: { known?: string[]; mounted?: boolean } = {}) {
  return cleanOrphanedPods({
    host,
    rootDirectory: root,
    known: new Set(options.known),
    podVolumesExist: () => options.mounted ?? false,
  });
}

const pods = async (host: SimulatedHost) => await host.files.readdir(`${root}/pods`);

describe('cleanOrphanedPods', () => {
  it('finds none on a machine without pods', async () => {
    expect(await clean(simulatedHost())).toEqual({ seen: 0, failedPods: 0, failures: [] });
  });

  it('keeps a known pod', async () => {
    const host = await machine('volumes');
    expect(await clean(host, { known: ['uid-1'] })).toMatchObject({ seen: 0 });
    expect(await pods(host)).toEqual(['uid-1']);
  });

  it('does no more for known pods than list them', async () => {
    const host = await machine('volumes');
    const looks: string[] = [];
    const files = {
      ...host.files,
      readdir: (path: string) => host.files.readdir(path),
      lstat: (path: string) => {
        looks.push(path);
        return host.files.lstat(path);
      },
    };
    await cleanOrphanedPods({
      host: { ...host, files },
      rootDirectory: root,
      known: new Set(['uid-1']),
      podVolumesExist: () => true,
    });
    expect(looks).toEqual([]);
  });

  it('removes empty directories and everything besides volumes', async () => {
    const host = await machine(
      'volumes/kubernetes.io~empty-dir/cache',
      'volumes/kubernetes.io~csi/pv-1/mount',
      'volume-subpaths/vol/main/0',
      'containers/main',
    );
    await host.files.writeFile(`${pod}/etc-hosts`, '');
    await host.files.writeFile(`${pod}/containers/main/1234abcd`, 'terminated');
    await host.files.writeFile(`${pod}/volume-subpaths/vol/main/1`, '');
    await host.files.symlink('/etc', `${pod}/plugins/link`);
    await host.files.writeFile('/etc/precious', 'kept');
    await host.files.writeFile(`${root}/pods/stray`, 'nobody’s');
    expect(await clean(host)).toEqual({ seen: 1, failedPods: 0, failures: [] });
    expect(await pods(host)).toEqual(['stray']);
    expect(await host.files.readdir('/etc')).toEqual(['precious']);
  });

  it('leaves a pod alone whose volumes may be mounted', async () => {
    const host = await machine('volumes');
    expect(await clean(host, { mounted: true })).toEqual({ seen: 1, failedPods: 1, failures: [] });
    expect([...(await host.files.readdir(pod))].sort()).toEqual(['plugins', 'volumes']);
  });

  it('keeps everything if a volume is mounted', async () => {
    const host = await machine('volumes/kubernetes.io~empty-dir/memory');
    const target = `${pod}/volumes/kubernetes.io~empty-dir/memory`;
    await host.mounts.mount({ source: 'tmpfs', target, fsType: 'tmpfs' });
    await host.files.writeFile(`${target}/data`, 'kept');
    expect(await clean(host)).toEqual({ seen: 1, failedPods: 1, failures: [] });
    expect(await host.files.readdir(target)).toEqual(['data']);
    expect(await host.files.readdir(pod)).toContain('plugins');
  });

  it('keeps everything if a check fails', async () => {
    const host = await machine('volumes/kubernetes.io~empty-dir/memory');
    host.inject({
      at: ({ operation }) => operation === 'list mounts',
      when: 'before',
      effect: { kind: 'fail', code: 'EIO' },
    });
    expect(await clean(host)).toMatchObject({ failedPods: 1, failures: [expect.stringContaining('EIO')] });
    expect(await host.files.readdir(pod)).toContain('volumes');
  });

  it('keeps a pod with a file in a volume', async () => {
    const host = await machine('volumes/kubernetes.io~empty-dir/cache');
    await host.files.writeFile(`${pod}/volumes/kubernetes.io~empty-dir/cache/data`, 'kept');
    await host.files.writeFile(`${pod}/etc-hosts`, '');
    const { failedPods, failures } = await clean(host);
    expect(failedPods).toBe(1);
    expect(failures[0]).toMatch(
      /^orphaned pod "uid-1" found, but failed to rmdir\(\) volume at path \/var\/lib\/kubelet\/pods\/uid-1\/volumes\/kubernetes.io~empty-dir\/cache: ENOTEMPTY/,
    );
    expect(failures[1]).toMatch(
      /^orphaned pod "uid-1" found, but error occurred when trying to remove the volumes dir: /,
    );
    expect(await host.files.readdir(pod)).toContain('etc-hosts');
    const data = await host.files.readFile(`${pod}/volumes/kubernetes.io~empty-dir/cache/data`);
    expect(new TextDecoder().decode(data)).toBe('kept');
  });

  it('keeps a pod with content at a subPath', async () => {
    const host = await machine('volume-subpaths/vol/main/0');
    await host.files.writeFile(`${pod}/volume-subpaths/vol/main/0/data`, 'kept');
    const { failures } = await clean(host);
    expect(failures[0]).toContain(
      `failed to rmdir() subpath at path ${pod}/volume-subpaths/vol/main/0: ENOTEMPTY`,
    );
    expect(await host.files.readdir(`${pod}/volume-subpaths/vol/main/0`)).toEqual(['data']);
  });

  it('keeps a pod with a mounted subPath', async () => {
    const host = await machine('volume-subpaths/vol/main/0');
    await host.files.mkdir('/var/volume');
    await host.files.writeFile('/var/volume/data', 'kept');
    await host.mounts.mount({
      source: '/var/volume',
      target: `${pod}/volume-subpaths/vol/main/0`,
      options: ['bind'],
    });
    expect((await clean(host)).failures[0]).toContain('EBUSY');
    expect(await host.files.readdir('/var/volume')).toEqual(['data']);
  });

  it('does not cross a mount elsewhere in the pod', async () => {
    const host = await machine('other/deep');
    await host.mounts.mount({ source: 'tmpfs', target: `${pod}/other/deep`, fsType: 'tmpfs' });
    await host.files.writeFile(`${pod}/other/deep/data`, 'kept');
    const { failures } = await clean(host);
    expect(failures[0]).toBe(
      `orphaned pod "uid-1" found, but error occurred when trying to remove subdir "${pod}/other": cannot delete directory ${pod}/other/deep: it is a mount point`,
    );
    expect(failures[1]).toContain('error occurred when trying to remove the pod directory: ENOTEMPTY');
    expect(await host.files.readdir(`${pod}/other/deep`)).toEqual(['data']);
  });

  it('removes other pods if one cannot be removed', async () => {
    const host = await machine('volumes/p/v');
    await host.files.writeFile(`${pod}/volumes/p/v/data`, 'kept');
    await host.files.mkdir(`${root}/pods/uid-2/volumes`, { recursive: true });
    expect(await clean(host)).toMatchObject({ seen: 2, failedPods: 1 });
    expect(await pods(host)).toEqual(['uid-1']);
  });
});

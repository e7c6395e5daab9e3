import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseMountPoints } from './mount-points.js';
import { cleanPodDirectories, makePodDirectories } from './pod-directories.js';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'root-'));
});
afterEach(() => rm(root, { recursive: true }));

const clean = (known: string[] = [], exist: (uid: string) => boolean = () => false, mounts: string[] = []) =>
  cleanPodDirectories(root, new Set(known), exist, async () => new Set(mounts));
const pods = (): Promise<string[]> => readdir(join(root, 'pods'));

describe('makePodDirectories', () => {
  it('makes them for their owner and group, as often as asked', async () => {
    await makePodDirectories(root, 'u');
    await makePodDirectories(root, 'u');
    for (const name of ['', 'volumes', 'plugins']) {
      expect((await stat(join(root, 'pods', 'u', name))).mode & 0o777).toBe(0o750);
    }
  });
});

describe('cleanPodDirectories', () => {
  it('knows of no pods before there is a folder', async () => {
    expect(await clean()).toEqual({ seen: 0, failures: [] });
  });
  it('removes a clean folder with empty volumes, keeps those of known pods', async () => {
    await makePodDirectories(root, 'gone');
    await makePodDirectories(root, 'known');
    await mkdir(join(root, 'pods/gone/volumes/kubernetes.io~empty-dir/v'), { recursive: true });
    await mkdir(join(root, 'pods/gone/containers/c'), { recursive: true });
    await writeFile(join(root, 'pods/gone/etc-hosts'), '');
    await writeFile(join(root, 'pods/gone/containers/c/1234'), '');
    expect(await clean(['known'])).toEqual({ seen: 1, failures: [] });
    expect(await pods()).toEqual(['known']);
  });
  it('keeps a folder with volumes that are in use', async () => {
    await makePodDirectories(root, 'gone');
    const { seen, failures } = await clean([], () => true);
    expect([seen, failures.length]).toEqual([1, 1]);
    expect(await pods()).toEqual(['gone']);
  });
  it('keeps everything of a pod that has a file left in a volume', async () => {
    await makePodDirectories(root, 'gone');
    const data = join(root, 'pods/gone/volumes/kubernetes.io~local/v/data');
    await mkdir(join(data, '..'), { recursive: true });
    await writeFile(data, 'precious');
    await writeFile(join(root, 'pods/gone/etc-hosts'), '');
    const { failures } = await clean();
    expect(failures).toHaveLength(1);
    expect(await readFile(data, 'utf8')).toBe('precious');
    expect(await readdir(join(root, 'pods/gone'))).toContain('etc-hosts');
  });
  it('does not follow a mount, even of the same file system', async () => {
    await makePodDirectories(root, 'gone');
    const mounted = join(root, 'pods/gone/volume-subpaths/v/c/0');
    await mkdir(mounted, { recursive: true });
    await writeFile(join(mounted, 'data'), 'precious');
    const { failures } = await clean([], undefined, [mounted]);
    expect(failures.join()).toContain(`${mounted} is a mount point`);
    expect(await readFile(join(mounted, 'data'), 'utf8')).toBe('precious');
  });
  it('does not follow links', async () => {
    await makePodDirectories(root, 'gone');
    await mkdir(join(root, 'outside'));
    await writeFile(join(root, 'outside/data'), 'precious');
    await symlink(join(root, 'outside'), join(root, 'pods/gone/plugins/link'));
    expect((await clean()).failures).toEqual([]);
    expect(await readFile(join(root, 'outside/data'), 'utf8')).toBe('precious');
  });
  it('goes on with the next pod after a failure, and ignores files', async () => {
    await makePodDirectories(root, 'bad');
    await makePodDirectories(root, 'good');
    await writeFile(join(root, 'pods/file'), '');
    const { seen, failures } = await clean([], (uid) => uid === 'bad');
    expect([seen, failures.length]).toEqual([2, 1]);
    expect((await pods()).sort()).toEqual(['bad', 'file']);
  });
});

it('reads mount points with blanks in them', () => {
  const text = '36 35 98:0 / /var/lib/a\\040b rw - ext4 /dev/root rw\n37 35 0:5 / /proc rw - proc proc rw\n';
  expect([...parseMountPoints(text)]).toEqual(['/var/lib/a b', '/proc']);
});

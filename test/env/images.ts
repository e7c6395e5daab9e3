/** The images that tests run, all made from the machine's static busybox, as no image comes from outside. */
import { existsSync, readFileSync } from 'node:fs';
import { readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  buildImage,
  type ImageConfig,
  type ImageSpec,
  type OciImage,
  sha256Digest,
  writeArchive,
} from '../../src/runtimes/containerd/oci.js';
import type { TarEntry } from '../../src/runtimes/containerd/tar.js';
import { runCommand } from './command.js';
import { cacheDir } from './directories.js';
import { withLock } from './lock.js';
import { ensurePackages } from './packages.js';
import { packagesFor } from './programs.js';

/** Names with a tag that is never `latest` (its pull policy differs) and a host that nobody can reach. */
export const testImages = {
  /** Holds a pod sandbox's namespaces: does nothing, reaps orphans, ends on SIGTERM. */
  pause: 'nodelet.test/pause:1',
  /** All of busybox's programs, run as root; users `root`, `nobody` and `app` (1000). */
  busybox: 'nodelet.test/busybox:1',
  /** As busybox, run as user 1000. */
  nonroot: 'nodelet.test/nonroot:1',
  /** As busybox, run as `nobody`: a user whose id only the image knows. */
  namedUser: 'nodelet.test/named-user:1',
  /** Ends with the exit code of its first argument (default 0), after the seconds of its second. */
  exits: 'nodelet.test/exits:1',
} as const;

export type TestImageName = keyof typeof testImages;

const busyboxPath = '/bin/busybox';
const cachedArchives = 16;

const passwd = `root:x:0:0:root:/root:/bin/sh
app:x:1000:1000:app:/home/app:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/bin/false
`;
const group = `root:x:0:
app:x:1000:
nogroup:x:65534:
`;

/** As the first process of a pid namespace it gets only the signals it asked for, and must reap what others leave. */
const pauseScript = `#!/bin/sh
trap 'exit 0' TERM INT
while :; do
  sleep 2147483647 &
  wait
done
`;

const exitsScript = `#!/bin/sh
sleep "\${2:-0}"
exit "\${1:-0}"
`;

const script = (path: string, content: string): TarEntry => ({ type: 'file', path, content, mode: 0o755 });

function baseLayer(busybox: Buffer, applets: readonly string[]): TarEntry[] {
  const directories = [
    'bin',
    'dev',
    'etc',
    'home',
    'proc',
    'root',
    'run',
    'sys',
    'usr',
    'usr/bin',
    'var',
    'www',
  ];
  return [
    ...directories.map((path): TarEntry => ({ type: 'directory', path })),
    { type: 'directory', path: 'home/app', uid: 1000, gid: 1000 },
    { type: 'directory', path: 'tmp', mode: 0o1777 },
    { type: 'file', path: 'etc/passwd', content: passwd },
    { type: 'file', path: 'etc/group', content: group },
    { type: 'file', path: 'bin/busybox', content: busybox, mode: 0o755 },
    ...applets.map((applet): TarEntry => ({ type: 'symlink', path: `bin/${applet}`, target: 'busybox' })),
    { type: 'symlink', path: 'usr/bin/env', target: '../../bin/busybox' },
  ];
}

async function busyboxLayer(): Promise<TarEntry[]> {
  await ensurePackages(packagesFor('base', 'containerd'));
  const { stdout } = await runCommand(busyboxPath, ['--list']);
  const applets = stdout.split('\n').filter((applet) => applet !== '' && applet !== 'busybox');
  return baseLayer(readFileSync(busyboxPath), applets.sort());
}

/** The images by name, ready to be archived or pushed. */
export async function buildTestImages(): Promise<Record<TestImageName, OciImage>> {
  const base = await busyboxLayer();
  const image = (key: TestImageName, config: ImageConfig, ...files: TarEntry[]): OciImage => {
    const layers = files.length === 0 ? [base] : [base, files];
    const env = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
    return buildImage({ name: testImages[key], layers, config: { env, ...config } });
  };
  return {
    pause: image('pause', { entrypoint: ['/pause'] }, script('pause', pauseScript)),
    busybox: image('busybox', { cmd: ['sh'] }),
    nonroot: image('nonroot', { cmd: ['sh'], user: '1000', workingDir: '/home/app' }),
    namedUser: image('namedUser', { cmd: ['sh'], user: 'nobody' }),
    exits: image('exits', { entrypoint: ['/bin/exits'], cmd: ['0'] }, script('bin/exits', exitsScript)),
  };
}

/** An image of a test's own that has busybox below its files. */
export async function buildBusyboxImage(
  spec: Omit<ImageSpec, 'layers'>,
  files: readonly TarEntry[],
): Promise<OciImage> {
  return buildImage({ ...spec, layers: [await busyboxLayer(), files] });
}

/** The path of an archive with these images, written unless an earlier call did. */
export async function archiveImages(images: readonly OciImage[]): Promise<string> {
  const contents = images.map(({ name, manifest }) => `${name}@${manifest.digest}`).sort();
  const key = sha256Digest(contents.join('\n')).slice('sha256:'.length, 40);
  const path = join(cacheDir(), `${key}.tar`);
  await withLock('cache', async () => {
    if (existsSync(path)) {
      await utimes(path, new Date(), new Date());
      return;
    }
    const unfinished = `${path}.unfinished`;
    await writeFile(unfinished, writeArchive(images));
    await rename(unfinished, path);
    await pruneCache();
  });
  return path;
}

/** Keeps the archives that were used last. */
async function pruneCache(): Promise<void> {
  const names = await readdir(cacheDir());
  const aged = await Promise.all(
    names.map(async (name) => {
      const path = join(cacheDir(), name);
      return { path, usedMs: (await stat(path)).mtimeMs };
    }),
  );
  const old = aged.sort((a, b) => b.usedMs - a.usedMs).slice(cachedArchives);
  await Promise.all(old.map(({ path }) => rm(path, { force: true })));
}

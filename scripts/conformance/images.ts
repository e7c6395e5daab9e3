/** The images that specs run: from archives into the node's containerd, and into a registry for those who always pull. */
import { createReadStream, createWriteStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { splitReference } from '../../src/runtimes/containerd/oci.js';
import {
  type CleanupStack,
  createTempDir,
  startRegistry,
  type TestContainerd,
} from '../../test/env/index.js';

const importTimeoutMs = 10 * 60_000;

/** The archives of a directory, by name. */
export function archivesIn(names: readonly string[]): string[] {
  return names.filter((name) => /\.(tar|tar\.gz|tgz)$/.test(name)).sort();
}

/**
 * Imports every archive and returns the names of the images. They can be pulled, too, by the names they have: the
 * runtime is led to a registry of this machine whatever their host.
 */
export async function provideImages(
  dir: string,
  containerd: TestContainerd,
  cleanups: CleanupStack,
): Promise<readonly string[]> {
  const archives = archivesIn(readdirSync(dir));
  if (archives.length === 0) throw new Error(`${dir}: no image archive (*.tar, *.tar.gz, *.tgz) in it`);
  const before = new Set(await imageNames(containerd));
  for (const archive of archives) await importArchive(join(dir, archive), containerd);
  const imported = (await imageNames(containerd)).filter((name) => !before.has(name));
  const registry = await startRegistry({ cleanups });
  for (const name of imported) {
    const { host, repository, tag } = splitReference(name);
    const target = `${registry.host}/${repository}:${tag}`;
    await containerd.ctr(['images', 'push', '--plain-http', target, name], { timeoutMs: importTimeoutMs });
    containerd.useRegistry(host, registry.url);
  }
  return imported;
}

async function importArchive(path: string, containerd: TestContainerd): Promise<void> {
  const load = (tar: string) => containerd.ctr(['images', 'import', tar], { timeoutMs: importTimeoutMs });
  if (!/gz$/.test(path)) {
    await load(path);
    return;
  }
  const unpacked = await createTempDir('archive');
  try {
    const tar = join(unpacked.path, 'images.tar');
    await pipeline(createReadStream(path), createGunzip(), createWriteStream(tar));
    await load(tar);
  } finally {
    await unpacked.remove();
  }
}

async function imageNames(containerd: TestContainerd): Promise<string[]> {
  const { stdout } = await containerd.ctr(['images', 'ls', '--quiet']);
  // CRI adds the same images under their ids.
  return stdout
    .split('\n')
    .filter((name) => name !== '' && !name.startsWith('sha256:') && !name.includes('@'));
}

/**
 * Images of the specs' program that were pulled in vain and are in no archive, by what containerd wrote. Those that
 * must fail, by a host that cannot be, are not among them.
 */
export function missingImages(
  containerdLog: string,
  known: readonly string[],
  provided: readonly string[],
): string[] {
  const pulled = [...containerdLog.matchAll(/PullImage \\?"([^"\\]+)\\?" failed/g)].map(([, name]) => name);
  const failed = new Set(pulled.filter((name) => name !== undefined));
  return known
    .filter((name) => failed.has(name) && !provided.includes(name) && !name.startsWith('invalid.'))
    .sort();
}

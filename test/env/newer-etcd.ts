/**
 * Finds an etcd that API servers can stream lists with, or builds it from its published sources. The packaged one, 3.4.23, cannot
 * tell on demand how far a watch is, and a server on it refuses to stream.
 */
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildCache, go } from './go-build.js';
import { withLock } from './lock.js';

const version = '3.5.21';
const sources = 'go.etcd.io/etcd/server/v3';

/** The program that `NEWER_ETCD` names, then the one in the cache; built last. */
export async function newerEtcdProgram(): Promise<string> {
  const given = process.env.NEWER_ETCD;
  if (given !== undefined && given !== '') return given;
  const root = buildCache(`etcd-v${version}`);
  const built = join(root, 'bin', 'etcd');
  if (!existsSync(built)) await withLock('etcd-build', () => build(root, built));
  return built;
}

async function build(root: string, target: string): Promise<void> {
  if (existsSync(target)) return;
  const module = join(root, 'module');
  mkdirSync(module, { recursive: true });
  mkdirSync(join(root, 'bin'), { recursive: true });
  writeFileSync(
    join(module, 'go.mod'),
    `module nodelet.test/etcd\ngo 1.25.0\nrequire ${sources} v${version}\n`,
  );
  process.stderr.write(`building etcd ${version}; this takes a minute once\n`);
  const args = ['build', '-mod=mod', '-trimpath', '-ldflags', '-s -w', '-o', `${target}.new`];
  await go([...args, sources], module, { builds: 'etcd', instead: 'name the program in NEWER_ETCD' });
  renameSync(`${target}.new`, target);
}

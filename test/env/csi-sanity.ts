/** Finds csi-sanity, the test suite for storage drivers, or builds it from its published sources. */
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildCache, go } from './go-build.js';
import { withLock } from './lock.js';

const version = '5.6.0';
const sources = 'github.com/kubernetes-csi/csi-test/v5';

/** The program that `CSI_SANITY` names, then the one in the cache; built last. */
export async function csiSanityProgram(): Promise<string> {
  const given = process.env.CSI_SANITY;
  if (given !== undefined && given !== '') return given;
  const root = buildCache(`csi-sanity-v${version}`);
  const built = join(root, 'bin', 'csi-sanity');
  if (!existsSync(built)) await withLock('csi-sanity-build', () => build(root, built));
  return built;
}

async function build(root: string, target: string): Promise<void> {
  if (existsSync(target)) return;
  const module = join(root, 'module');
  mkdirSync(module, { recursive: true });
  mkdirSync(join(root, 'bin'), { recursive: true });
  writeFileSync(
    join(module, 'go.mod'),
    `module nodelet.test/csi-sanity\ngo 1.25.0\nrequire ${sources} v${version}\n`,
  );
  process.stderr.write(`building csi-sanity ${version}; this takes a minute once\n`);
  const args = ['build', '-mod=mod', '-trimpath', '-ldflags', '-s -w', '-o', `${target}.new`];
  await go([...args, `${sources}/cmd/csi-sanity`], module, {
    builds: 'csi-sanity',
    instead: 'name the program in CSI_SANITY',
  });
  renameSync(`${target}.new`, target);
}

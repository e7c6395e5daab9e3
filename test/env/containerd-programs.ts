/** The programs of the containerd that tests run on: the one of the machine's packages, or a newer one built from its sources. */
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemEnvironment } from './command.js';
import { buildCache, go } from './go-build.js';
import { withLock } from './lock.js';

/** `packaged` is what Debian ships; `newer` has container events, CDI, image volumes and lists in parts. */
export type ContainerdRelease = 'packaged' | 'newer';

export const newerContainerdVersion = '2.4.2';
const sources = 'github.com/containerd/containerd/v2';
const programs = ['containerd', 'containerd-shim-runc-v2', 'ctr'] as const;

/** `NODELET_TEST_CONTAINERD=newer` chooses for a whole run of the tests. */
export function chosenRelease(): ContainerdRelease {
  const chosen = process.env.NODELET_TEST_CONTAINERD || 'packaged';
  if (chosen === 'packaged' || chosen === 'newer') return chosen;
  throw new Error(`NODELET_TEST_CONTAINERD is packaged or newer, not ${chosen}`);
}

/** The environment in which `containerd`, its shim and `ctr` are those of the release; builds them if they are missing. */
export async function containerdEnvironment(release: ContainerdRelease): Promise<Record<string, string>> {
  if (release === 'packaged') return {};
  const given = process.env.CONTAINERD_BIN;
  const bin = given === undefined || given === '' ? await builtPrograms() : givenPrograms(given);
  // containerd looks for its shim here first, and beside itself only afterwards.
  return { PATH: `${bin}:${systemEnvironment().PATH ?? ''}` };
}

function givenPrograms(dir: string): string {
  const missing = programs.filter((name) => !existsSync(join(dir, name)));
  if (missing.length > 0) throw new Error(`CONTAINERD_BIN=${dir} has no ${missing.join(', ')}`);
  return dir;
}

async function builtPrograms(): Promise<string> {
  const root = buildCache(`containerd-v${newerContainerdVersion}`);
  const bin = join(root, 'bin');
  const isBuilt = () => programs.every((name) => existsSync(join(bin, name)));
  if (!isBuilt()) await withLock('containerd-build', () => build(root, bin));
  return bin;
}

async function build(root: string, bin: string): Promise<void> {
  const module = join(root, 'module');
  mkdirSync(module, { recursive: true });
  mkdirSync(bin, { recursive: true });
  writeFileSync(
    join(module, 'go.mod'),
    `module nodelet.test/containerd\ngo 1.25.0\nrequire ${sources} v${newerContainerdVersion}\n`,
  );
  const flags = ['-s', '-w', '-X', `${sources}/version.Version=v${newerContainerdVersion}`].join(' ');
  for (const name of programs) {
    const target = join(bin, name);
    if (existsSync(target)) continue;
    process.stderr.write(`building ${name} ${newerContainerdVersion}; this takes minutes once\n`);
    const args = ['build', '-mod=mod', '-trimpath', '-ldflags', flags, '-o', `${target}.new`];
    await go([...args, `${sources}/cmd/${name}`], module, {
      builds: `containerd ${newerContainerdVersion}`,
      instead: 'name a directory with containerd, containerd-shim-runc-v2 and ctr in CONTAINERD_BIN',
    });
    renameSync(`${target}.new`, target);
  }
}

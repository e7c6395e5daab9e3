/** Finds the control plane's programs, or builds them from their published sources; a built one serves all later runs. */
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildCache, go } from './go-build.js';
import { withLock } from './lock.js';
import { ensurePackages } from './packages.js';
import { packagesFor } from './programs.js';

export const kubernetesVersion = '1.37.1';

/** A node must also work with an API server that is one minor version older. */
export const olderKubernetesVersion = '1.36.4';

export type KubernetesVersion = typeof kubernetesVersion | typeof olderKubernetesVersion;

export type ControlPlaneProgram =
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kubectl'
  | 'kubelet'
  | 'dra-test-driver'
  | 'sample-device-plugin';

/** From the given directory, or installed by the machine's package. */
export async function etcdProgram(): Promise<string> {
  const given = givenProgram('etcd');
  if (given === undefined) await ensurePackages(packagesFor('cluster'));
  return given ?? 'etcd';
}

/**
 * Held programs are looked for in the directory that `KUBEBUILDER_ASSETS` names, those of the older version in that of
 * `KUBEBUILDER_ASSETS_OLDER`, then in the cache, and built last.
 */
export async function controlPlaneProgram(
  name: ControlPlaneProgram,
  version: KubernetesVersion = kubernetesVersion,
): Promise<string> {
  const given = givenProgram(name, version);
  if (given !== undefined) return given;
  const built = join(cacheRoot(version), 'bin', name);
  if (!existsSync(built)) await withLock('kubernetes-build', () => build(name, version, built));
  return built;
}

function givenProgram(name: string, version: KubernetesVersion = kubernetesVersion): string | undefined {
  const isNew = version === kubernetesVersion;
  const dir = isNew ? process.env.KUBEBUILDER_ASSETS : process.env.KUBEBUILDER_ASSETS_OLDER;
  const path = dir === undefined || dir === '' ? undefined : join(dir, name);
  return path !== undefined && existsSync(path) ? path : undefined;
}

function cacheRoot(version: KubernetesVersion): string {
  return buildCache(`kubernetes-v${version}`);
}

async function build(name: ControlPlaneProgram, version: KubernetesVersion, target: string): Promise<void> {
  if (existsSync(target)) return;
  const module = join(cacheRoot(version), 'module');
  mkdirSync(module, { recursive: true });
  mkdirSync(join(cacheRoot(version), 'bin'), { recursive: true });
  await writeModule(module, version);
  const versionPackage = 'k8s.io/component-base/version';
  const [major, minor] = version.split('.');
  const variables = {
    gitVersion: `v${version}`,
    gitMajor: major,
    gitMinor: minor,
    gitTreeState: 'clean',
  };
  const flags = Object.entries(variables).map(
    ([variable, value]) => `-X ${versionPackage}.${variable}=${value}`,
  );
  const args = ['build', '-mod=mod', '-trimpath', '-ldflags', ['-s', '-w', ...flags].join(' ')];
  process.stderr.write(`building ${name} ${version}; this takes minutes once\n`);
  await goFor([...args, '-o', `${target}.new`, packageOf(name)], module);
  renameSync(`${target}.new`, target);
}

/** Programs that Kubernetes tests itself with are not among its commands. */
const packages: Partial<Record<ControlPlaneProgram, string>> = {
  'dra-test-driver': 'test/e2e/dra/test-driver',
  'sample-device-plugin': 'test/images/sample-device-plugin',
};

function packageOf(name: ControlPlaneProgram): string {
  return `k8s.io/kubernetes/${packages[name] ?? `cmd/${name}`}`;
}

/**
 * A module that requires Kubernetes and takes its staging modules, which it names by directories of its own repository,
 * from where they are published.
 */
async function writeModule(dir: string, version: KubernetesVersion): Promise<void> {
  const file = join(dir, 'go.mod');
  if (existsSync(file)) return;
  const { stdout } = await goFor(['mod', 'download', '-json', `k8s.io/kubernetes@v${version}`], dir);
  const { GoMod: modFile }: { GoMod: string } = JSON.parse(stdout);
  const required = await readFile(modFile, 'utf8');
  const goVersion = /^go (\S+)$/m.exec(required)?.[1];
  const staging = [...required.matchAll(/^\s*(k8s\.io\/[a-z-]+) => \.\/staging\//gm)].map(([, path]) => path);
  if (goVersion === undefined || staging.length === 0) {
    throw new Error(`${modFile} names no staging modules; cannot build Kubernetes from it`);
  }
  const stagingVersion = `v0.${version.split('.').slice(1).join('.')}`;
  const lines = [
    'module nodelet.test/kubernetes',
    `go ${goVersion}`,
    `godebug default=go${goVersion.split('.').slice(0, 2).join('.')}`,
    `require k8s.io/kubernetes v${version}`,
    'replace (',
    ...staging.map((path) => `\t${path} => ${path} ${stagingVersion}`),
    ')',
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
}

function goFor(args: readonly string[], dir: string): Promise<{ stdout: string }> {
  return go(args, dir, { builds: 'the control plane', instead: 'give its programs in KUBEBUILDER_ASSETS' });
}

/** Installs the Debian packages that the real servers come from, so that tests run on a machine where nobody did. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError, lastLines, runCommand } from './command.js';
import { withLock } from './lock.js';
import { packages } from './programs.js';

const policyPath = '/usr/sbin/policy-rc.d';
/** Says in the file itself whose it is, so that one left by a killed run is recognised. */
const policyScript = `#!/bin/sh
# Written by nodelet's test environment while it installs packages: their services must not start.
exit 101
`;
const installTimeoutMs = 15 * 60_000;
const shownLines = 12;

/** Says what to do by hand where this program cannot. */
export class PackagesMissing extends Error {
  override readonly name = 'PackagesMissing';

  constructor(missing: readonly string[], obstacle: string) {
    super(
      `the tests need ${missing.join(', ')} and cannot install ${missing.length === 1 ? 'it' : 'them'}: ${obstacle}; ` +
        `as root: apt-get install --no-install-recommends ${missing.join(' ')}`,
    );
  }
}

/** Packages seen installed by this process. */
const present = new Set<string>();

/**
 * Returns when all the packages are installed; throws an error that names the missing ones and repeats apt's last
 * lines when they cannot be had.
 */
export async function ensurePackages(names: readonly string[]): Promise<void> {
  const unknown = names.filter((name) => !present.has(name));
  if (unknown.length === 0) {
    return;
  }
  const missing = await missingPackages(unknown);
  if (missing.length > 0) {
    const hasApt = existsSync('/usr/bin/apt-get');
    const obstacle = installObstacle({ hasApt, isRoot: process.getuid?.() === 0 });
    if (obstacle !== undefined) throw new PackagesMissing(missing, obstacle);
    await withLock('packages', async () => {
      // Another process may have installed them meanwhile.
      const stillMissing = await missingPackages(unknown);
      if (stillMissing.length > 0) {
        await install(stillMissing);
      }
    });
  }
  for (const name of unknown) {
    present.add(name);
  }
}

/** What keeps this process from installing packages. */
export function installObstacle(facts: { hasApt: boolean; isRoot: boolean }): string | undefined {
  if (!facts.hasApt) return 'this machine has no apt-get, so it is no Debian';
  return facts.isRoot ? undefined : 'only root may';
}

/** Those of the packages that are neither installed nor provided by an installed one. */
export async function missingPackages(names: readonly string[]): Promise<string[]> {
  const fields = ['Package', 'db:Status-Abbrev', 'Provides'].map((field) => `\${${field}}`);
  const format = `${fields.join('\\t')}\\n`;
  if (!existsSync('/usr/bin/dpkg-query')) return names.filter((name) => !hasPrograms(name));
  const { stdout } = await runCommand('dpkg-query', ['--show', '--showformat', format]);
  const installed = installedPackages(stdout);
  return names.filter((name) => !installed.has(name));
}

/** On a machine of another kind, what counts is that the programs are found. */
function hasPrograms(name: string): boolean {
  const dirs = `${process.env.PATH ?? ''}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin`.split(':');
  return (
    packages[name]?.programs.every((program) => dirs.some((dir) => existsSync(join(dir, program)))) ?? false
  );
}

/** What a listing of package, status and provided names (`a, b (= 1)`) says is there. */
export function installedPackages(listing: string): Set<string> {
  const installed = new Set<string>();
  for (const line of listing.split('\n')) {
    const [name, status, provides = ''] = line.split('\t');
    if (name === undefined || status?.startsWith('ii') !== true) {
      continue;
    }
    installed.add(name);
    for (const provided of provides.split(',')) {
      installed.add(provided.replace(/\(.*\)/, '').trim());
    }
  }
  return installed;
}

async function install(missing: readonly string[]): Promise<void> {
  const blocked = blockServiceStarts();
  try {
    await apt(missing, ['update']);
    // A package that would push out another one is the owner's decision, not a test's.
    await apt(missing, ['install', '--yes', '--no-install-recommends', '--no-remove', ...missing]);
  } finally {
    if (blocked) {
      rmSync(policyPath, { force: true });
    }
  }
  const stillMissing = await missingPackages(missing);
  if (stillMissing.length > 0) {
    throw new Error(
      `apt-get reported success, but these packages are not installed: ${stillMissing.join(', ')}`,
    );
  }
}

async function apt(wanted: readonly string[], args: readonly string[], triesLeft = 20): Promise<void> {
  try {
    await runCommand('apt-get', ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3', ...args], {
      env: { DEBIAN_FRONTEND: 'noninteractive', NEEDRESTART_MODE: 'l', RUNLEVEL: '1' },
      timeoutMs: installTimeoutMs,
    });
  } catch (error) {
    if (!(error instanceof CommandError)) {
      throw error;
    }
    // Another apt-get on the machine; the one for package lists has no option to wait for its lock.
    if (/Could not get lock|Unable to lock/.test(error.stderr) && triesLeft > 0) {
      await sleep(3_000);
      return apt(wanted, args, triesLeft - 1);
    }
    const said = lastLines(`${error.stdout}\n${error.stderr}`, shownLines);
    const needed = `the tests need the package${wanted.length === 1 ? '' : 's'} ${wanted.join(', ')}`;
    throw new Error(`${needed}, and apt-get ${args[0]} failed:\n${said}`, { cause: error });
  }
}

/** Whether the policy that forbids services to start is ours to remove; a machine's own policy is kept. */
function blockServiceStarts(): boolean {
  if (existsSync(policyPath)) {
    return readFileSync(policyPath, 'utf8') === policyScript;
  }
  writeFileSync(policyPath, policyScript, { mode: 0o755 });
  return true;
}

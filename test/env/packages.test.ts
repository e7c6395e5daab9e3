import { existsSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import { runCommand } from './command.js';
import {
  ensurePackages,
  installedPackages,
  installObstacle,
  missingPackages,
  PackagesMissing,
} from './packages.js';

/** Small, and needed by nothing. */
const sample = 'hello';
const policyPath = '/usr/sbin/policy-rc.d';

afterAll(() => runCommand('dpkg', ['--purge', sample]));

it('installs what is missing, without starting services, and leaves no policy behind', async () => {
  const policyBefore = existsSync(policyPath);
  await runCommand('dpkg', ['--purge', sample]);
  expect(await missingPackages([sample, 'dpkg'])).toEqual([sample]);

  // Two at once, as two test processes would: one installs, the other waits and finds it there.
  await Promise.all([ensurePackages([sample]), ensurePackages(['dpkg', sample])]);

  expect(await missingPackages([sample])).toEqual([]);
  expect((await runCommand(sample, ['--version'])).stdout).toContain('GNU Hello');
  expect(existsSync(policyPath)).toBe(policyBefore);
});

it('names the package and repeats what apt said when it cannot be had', async () => {
  const failed = await ensurePackages(['nodelet-no-such-package']).catch(String);
  expect(failed).toMatch(
    /^Error: the tests need the package nodelet-no-such-package, and apt-get install failed:\n/,
  );
  expect(failed).toContain('Unable to locate package nodelet-no-such-package');
});

it('installedPackages counts provided names and not removed packages', () => {
  const lines = [
    'containerd.io\tii \tcontainerd, runc (= 1.1)',
    'busybox-static\trc \t',
    'iptables\tii \t',
    '',
  ];
  const installed = [...installedPackages(lines.join('\n'))].filter((name) => name !== '');
  expect(installed.sort()).toEqual(['containerd', 'containerd.io', 'iptables', 'runc']);
});

it.each([
  ['root on Debian', { hasApt: true, isRoot: true }, undefined],
  ['another user on Debian', { hasApt: true, isRoot: false }, 'only root may'],
  ['another system', { hasApt: false, isRoot: true }, 'this machine has no apt-get, so it is no Debian'],
])('installObstacle: %s', (_rule, facts, obstacle) => {
  expect(installObstacle(facts)).toBe(obstacle);
});

it('says which command installs what is missing', () => {
  expect(new PackagesMissing(['iptables', 'runc'], 'only root may').message).toBe(
    'the tests need iptables, runc and cannot install them: only root may; as root: apt-get install --no-install-recommends iptables runc',
  );
});

/** Installs the package and its unit on the virtual machine and removes them, as docs/install.md says. */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { unitDropIn } from './machine.js';
import { command, run, say, show, write } from './programs.js';
import type { GuestReport } from './report.js';

const unitFile = '/etc/systemd/system/nodelet.service';
const dropIns = `${unitFile}.d`;
const packageDir = '/usr/local/lib/node_modules/nodelet';

/** npm has put the package below a directory of the test, which stands for `/usr/local`. */
export async function install(): Promise<void> {
  await command('tar', '--extract', '--file=/payload/usr-local.tar', '--directory=/usr/local');
  cpSync(join(packageDir, 'systemd/nodelet.service'), unitFile);
  write(join(dropIns, '10-payload.conf'), unitDropIn);
  await command('systemctl', 'daemon-reload');
  // A unit of type notify has started when it has said that it is ready.
  await command('systemctl', 'enable', '--now', 'nodelet.service');
  say('nodelet is installed and ready');
}

export async function uninstall(): Promise<
  Pick<GuestReport, 'stopped' | 'removed' | 'containersWithoutAgent'>
> {
  await command('systemctl', 'disable', '--now', 'nodelet.service');
  const stopped = await show('nodelet.service');
  rmSync(unitFile);
  rmSync(dropIns, { recursive: true });
  await command('systemctl', 'daemon-reload');
  rmSync(packageDir, { recursive: true });
  rmSync('/usr/local/bin/nodelet');
  say('nodelet is removed');
  // Long enough to see containers end that were told to.
  await sleep(5_000);
  const tasks = await command('ctr', '--namespace', 'k8s.io', 'tasks', 'list');
  const running = tasks.split('\n').map((line) => line.split(/\s+/));
  return {
    stopped,
    removed: await show('nodelet.service'),
    containersWithoutAgent: running.flatMap(([id = '', , state]) => (state === 'RUNNING' ? [id] : [])),
  };
}

/** `enabled`, `disabled`, or that there is no such unit. */
export async function isEnabled(): Promise<string> {
  return await command('systemctl', 'is-enabled', 'nodelet.service').then(
    (text) => text.trim(),
    () => 'no',
  );
}

/** What systemd says against the unit; nothing if all is well. */
export async function complaints(): Promise<string> {
  const { stdout, stderr } = await run('systemd-analyze', ['verify', unitFile]).catch(
    (error: { stdout?: string; stderr?: string }) => ({ stdout: String(error), stderr: error.stderr ?? '' }),
  );
  return (stdout + stderr).trim();
}

export async function journal(): Promise<string> {
  return await command('journalctl', '--unit=nodelet.service', '--output=cat', '--no-pager');
}

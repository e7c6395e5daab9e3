/** Boots a virtual machine with systemd, has it run a program, and reads what that program left on its disk. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand, systemEnvironment } from './command.js';
import { ensurePackages } from './packages.js';
import { packagesFor } from './programs.js';
import { type CleanupStack, createTempDir } from './tempdir.js';
import { makeDisk, vmImage } from './vm-image.js';

export interface VmRun {
  /** Files and directories that the machine finds in `/payload`, by their names there; `guest.mjs` is run. */
  readonly payload: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly cleanups: CleanupStack;
}

/** What is left of a machine that has powered off. */
export interface VmOutcome {
  /** The directory that was `/payload`. */
  readonly payload: string;
  readonly console: string;
  /** Whether the machine was ended because it ran too long. */
  readonly timedOut: boolean;
}

const payloadSize = '512M';
const memoryMegabytes = 2048;

/** Returns when the machine has powered off by itself, or was ended at the time-out. */
export async function runVm({ payload, timeoutMs, cleanups }: VmRun): Promise<VmOutcome> {
  await ensurePackages(packagesFor('base', 'vm'));
  const { disk, kernel, initrd } = await vmImage();
  const dir = (await createTempDir('vm', { cleanups })).path;
  const [content, payloadDisk] = [join(dir, 'content'), join(dir, 'payload.ext4')];
  mkdirSync(content);
  for (const [name, from] of Object.entries(payload)) cpSync(from, join(content, name), { recursive: true });
  copyFileSync(process.execPath, join(content, 'node'));
  await makeDisk(content, payloadDisk, payloadSize);
  const consoleFile = join(dir, 'console.log');
  const child = spawn(
    'setpriv',
    [
      ...['--pdeathsig', 'KILL', 'qemu-system-x86_64'],
      // The processor is emulated: machines for tests are often virtual themselves, and cannot nest.
      ...['-accel', 'tcg,thread=multi', '-cpu', 'max', '-smp', '2', '-m', String(memoryMegabytes)],
      ...['-nodefaults', '-display', 'none', '-nic', 'none', '-no-reboot', '-serial', `file:${consoleFile}`],
      ...['-kernel', kernel, '-initrd', initrd],
      ...['-append', 'root=/dev/vda rw console=ttyS0 quiet systemd.show_status=1'],
      ...['-drive', `file=${disk},format=raw,if=virtio,snapshot=on`],
      ...['-drive', `file=${payloadDisk},format=raw,if=virtio,cache=unsafe`],
      ...['-device', 'virtio-rng-pci'],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], env: systemEnvironment({ TMPDIR: dir }) },
  );
  const complaints: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => complaints.push(chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  cleanups.defer('the virtual machine', async () => void child.kill('SIGKILL'));
  const [code, signal] = await once(child, 'close');
  clearTimeout(timer);
  const timedOut = signal === 'SIGKILL';
  const shown = existsSync(consoleFile) ? readFileSync(consoleFile, 'utf8') : '';
  if (code !== 0 && !timedOut) {
    throw new Error(
      `qemu ended with ${String(code ?? signal)}: ${Buffer.concat(complaints).toString()}\n${shown}`,
    );
  }
  const left = join(dir, 'left');
  mkdirSync(left);
  // A machine that was ended leaves its journal to be replayed; debugfs reads what was written all the same.
  await runCommand('debugfs', ['-R', `rdump / ${left}`, payloadDisk], { timeoutMs: 120_000 });
  return { payload: left, console: shown, timedOut };
}

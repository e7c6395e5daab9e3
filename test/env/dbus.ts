/** Starts a D-Bus daemon on a socket of its own, on which anyone may own any name: systemd's and logind's among them. */
import { existsSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { ensurePackages } from './packages.js';
import { packagesFor } from './programs.js';
import { ServerProcess } from './server-process.js';
import { type CleanupStack, createTempDir } from './tempdir.js';

export interface TestDbusDaemon {
  readonly socketPath: string;
  /** Leads `nodelet`, `systemd-inhibit` and `busctl` to this bus instead of the machine's. */
  readonly environment: { readonly DBUS_SYSTEM_BUS_ADDRESS: string };
  readonly pid: number | undefined;
  /** Ends it as a crash does; every connection is lost. */
  kill(): Promise<void>;
  /** Starts it again on the same socket. */
  start(): Promise<void>;
}

export async function startDbusDaemon({
  cleanups,
}: {
  readonly cleanups: CleanupStack;
}): Promise<TestDbusDaemon> {
  await ensurePackages(packagesFor('base', 'unit'));
  const dir = await createTempDir('dbus', { cleanups });
  const socketPath = join(dir.path, 'bus');
  const address = `unix:path=${socketPath}`;
  const daemon = new ServerProcess({
    name: 'dbus-daemon',
    program: 'dbus-daemon',
    args: ['--session', '--nofork', '--nopidfile', `--address=${address}`],
    logPath: join(dir.path, 'dbus.log'),
    isReady: () => answers(socketPath),
    startTimeoutMs: 15_000,
  });
  const start = async (): Promise<void> => {
    rmSync(socketPath, { force: true });
    await daemon.start();
  };
  cleanups.defer('dbus-daemon', () => daemon.kill());
  await start();
  return {
    socketPath,
    environment: { DBUS_SYSTEM_BUS_ADDRESS: address },
    get pid() {
      return daemon.pid;
    },
    kill: () => daemon.kill(),
    start,
  };
}

function answers(socketPath: string): Promise<boolean> {
  if (!existsSync(socketPath)) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect({ path: socketPath });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

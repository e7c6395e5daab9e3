/**
 * Starts a stand-in for systemd-logind on a test's bus. It must send descriptors, which Node cannot, so it is python's
 * `dbusmock` with its template of logind; the real `systemd-inhibit` takes its locks.
 */
import { join } from 'node:path';
import { systemClock } from '../../src/async/index.js';
import { type DbusConnection, type DbusValue, openSystemBus } from '../../src/dbus/index.js';
import { ensurePackages } from './packages.js';
import { packagesFor } from './programs.js';
import { ServerProcess } from './server-process.js';
import { type CleanupStack, createTempDir } from './tempdir.js';

const login1 = 'org.freedesktop.login1';
const managerPath = '/org/freedesktop/login1';
const managerInterface = 'org.freedesktop.login1.Manager';

export interface TestLogindOptions {
  readonly environment: { readonly DBUS_SYSTEM_BUS_ADDRESS: string };
  readonly cleanups: CleanupStack;
  /** Default: 5 s, as logind has it. */
  readonly inhibitDelayMaxMs?: number;
}

export interface TestLogind {
  /** The locks that are held, each as `what who why mode`. */
  locks(): Promise<readonly string[]>;
  /** Sends PrepareForShutdown. */
  prepare(isBegun: boolean): Promise<void>;
  setInhibitDelayMaxMs(delayMs: number): Promise<void>;
}

export async function startTestLogind(options: TestLogindOptions): Promise<TestLogind> {
  const { environment, cleanups, inhibitDelayMaxMs = 5_000 } = options;
  await ensurePackages(packagesFor('base', 'unit', 'containerd'));
  const dir = await createTempDir('logind', { cleanups });
  const connection = await openSystemBus({ clock: systemClock, environment });
  cleanups.defer('a connection to logind', async () => connection.close());
  const mock = mockOf(connection);
  const server = new ServerProcess({
    name: 'logind',
    // Not the first of the PATH, which may be one without Debian's modules.
    program: '/usr/bin/python3',
    args: ['-m', 'dbusmock', '--system', '--template', 'logind'],
    logPath: join(dir.path, 'logind.log'),
    env: environment,
    isReady: () =>
      mock.locks().then(
        () => true,
        () => false,
      ),
    startTimeoutMs: 30_000,
  });
  cleanups.defer('logind', () => server.kill());
  await server.start();
  await mock.addDelay(inhibitDelayMaxMs);
  return mock;
}

function mockOf(connection: DbusConnection): TestLogind & { addDelay(delayMs: number): Promise<void> } {
  const call = (interfaceName: string, member: string, signature: string, body: readonly DbusValue[]) =>
    connection.call({
      destination: login1,
      path: managerPath,
      interface: interfaceName,
      member,
      signature,
      body,
    });
  const mock = 'org.freedesktop.DBus.Mock';
  const delay = (delayMs: number) => ({ signature: 't', value: BigInt(delayMs) * 1000n });
  return {
    locks: async () => {
      const [locks] = await call(managerInterface, 'ListInhibitors', '', []);
      if (!Array.isArray(locks)) throw new Error('logind lists no locks');
      return locks.map((lock) => (Array.isArray(lock) ? lock.slice(0, 4).join(' ') : ''));
    },
    prepare: async (isBegun) => {
      const args = [{ signature: 'b', value: isBegun }];
      await call(mock, 'EmitSignal', 'sssav', [managerInterface, 'PrepareForShutdown', 'b', args]);
    },
    addDelay: async (delayMs) => {
      await call(mock, 'AddProperty', 'ssv', [managerInterface, 'InhibitDelayMaxUSec', delay(delayMs)]);
    },
    setInhibitDelayMaxMs: async (delayMs) => {
      const properties = [['InhibitDelayMaxUSec', delay(delayMs)]];
      await call(mock, 'UpdateProperties', 'sa{sv}', [managerInterface, properties]);
    },
  };
}

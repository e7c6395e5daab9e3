/** The D-Bus client on a real bus: names, calls, signals, hostile neighbours, and a bus that dies. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../src/async/index.js';
import {
  busCall,
  createSystemdUnits,
  type DbusConnection,
  dbusLimits,
  openSystemBus,
  SystemBus,
  type SystemdUnits,
} from '../../src/dbus/index.js';
import { startDbusDaemon, type TestDbusDaemon } from '../env/dbus.js';
import { startTestSystemd, type TestSystemd } from '../env/systemd-service.js';
import { CleanupStack } from '../env/tempdir.js';

const cleanups = new CleanupStack();
let daemon: TestDbusDaemon;
let systemd: TestSystemd;
let bus: SystemBus;
let units: SystemdUnits;

const connect = async (): Promise<DbusConnection> => {
  const connection = await openSystemBus({ clock: systemClock, environment: daemon.environment });
  cleanups.defer('a connection', async () => connection.close());
  return connection;
};

beforeAll(async () => {
  daemon = await startDbusDaemon({ cleanups });
  systemd = await startTestSystemd({ environment: daemon.environment, cleanups });
  bus = new SystemBus({ clock: systemClock, environment: daemon.environment, isRoot: false });
  cleanups.defer('the bus', () => bus.close());
  units = createSystemdUnits({ bus, clock: systemClock, onStopProblem: () => {}, runtimeDirectory: '/' });
});
afterAll(() => cleanups.run());

it('starts, changes and stops a slice', async () => {
  await units.startTransientSlice('a.slice', [
    { name: 'Description', signature: 's', value: 'a slice' },
    { name: 'Wants', signature: 'as', value: ['-.slice'] },
    { name: 'CPUAccounting', signature: 'b', value: true },
  ]);
  await units.setUnitProperties('a.slice', [
    { name: 'MemoryMax', signature: 't', value: 2n ** 64n - 1n },
    { name: 'AllowedCPUs', signature: 'ay', value: Buffer.from([0xff, 3]) },
  ]);
  expect(Object.fromEntries(systemd.units.get('a.slice')!)).toEqual({
    Description: { signature: 's', value: 'a slice' },
    Wants: { signature: 'as', value: ['-.slice'] },
    CPUAccounting: { signature: 'b', value: true },
    MemoryMax: { signature: 't', value: 2n ** 64n - 1n },
    AllowedCPUs: { signature: 'ay', value: Buffer.from([0xff, 3]) },
  });
  await units.startTransientSlice('a.slice', []);
  await units.stopUnit('a.slice');
  await units.stopUnit('a.slice');
  expect(systemd.units.has('a.slice')).toBe(false);
  expect(await units.version()).toBe(252);
  await expect(units.setUnitProperties('a.slice', [])).rejects.toMatchObject({
    name: 'org.freedesktop.systemd1.NoSuchUnit',
    message: 'Unit a.slice not loaded.',
  });
});

it('has the errors of the bus for names that nobody owns', async () => {
  const call = { destination: 'org.nobody', path: '/', interface: 'a.b', member: 'C' };
  await expect(bus.call(call)).rejects.toMatchObject({
    name: 'org.freedesktop.DBus.Error.ServiceUnknown',
  });
});

it('hears the owner of a name, and nobody who only uses its interface', async () => {
  const [listener, owner, forger] = [await connect(), await connect(), await connect()];
  await owner.call(busCall('RequestName', 'su', ['org.test.Owner', 4]));
  const heard: unknown[] = [];
  const signal = { path: '/a', interface: 'org.test.Owner', member: 'Changed' };
  await listener.listen({ ...signal, sender: 'org.test.Owner' }, (body) => void heard.push(...body));
  forger.emit({ ...signal, signature: 's', body: ['forged'] });
  await forger.call(busCall('GetId'));
  owner.emit({ ...signal, signature: 's', body: ['real'] });
  await owner.call(busCall('GetId'));
  await expect.poll(() => heard).toEqual(['real']);
});

it('answers a neighbour that sends it the longest messages, and goes on', async () => {
  const [victim, neighbour] = [await connect(), await connect()];
  const names = await neighbour.call(busCall('ListNames'));
  // Names are given in order, so that the victim's is the last but one.
  const unique = (Array.isArray(names[0]) ? names[0] : []).filter((name) => String(name).startsWith(':'));
  const destination = unique
    .map(String)
    .sort((a, b) => Number(a.split('.')[1]) - Number(b.split('.')[1]))
    .at(-2);
  const body = ['x'.repeat(dbusLimits.bodyBytes - 100)];
  for (let sent = 0; sent < 3; sent++)
    await neighbour
      .call({ destination, path: '/', interface: 'a.b', member: 'Flood', signature: 's', body })
      .catch((error: unknown) =>
        expect(error).toMatchObject({ name: 'org.freedesktop.DBus.Error.UnknownMethod' }),
      );
  expect(await victim.call(busCall('GetId'))).toHaveLength(1);
});

it('connects again when the bus died, and fails with its address while there is none', async () => {
  await daemon.kill();
  await expect(units.setUnitProperties('b.slice', [])).rejects.toThrow(
    /^failed to connect to dbus .*ENOENT|ECONNREFUSED/,
  );
  await daemon.start();
  systemd = await startTestSystemd({ environment: daemon.environment, cleanups });
  await units.startTransientSlice('b.slice', []);
  expect(systemd.calls).toEqual(['StartTransientUnit b.slice']);
});

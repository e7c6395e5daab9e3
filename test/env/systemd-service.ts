/** Answers on a bus as systemd's manager does, as far as cgroups and the shutdown of a node need it. */
import { systemClock } from '../../src/async/index.js';
import {
  busCall,
  type DbusConnection,
  DbusError,
  type DbusMessage,
  type DbusReply,
  type DbusValue,
  type DbusVariant,
  isVariant,
  openSystemBus,
} from '../../src/dbus/index.js';
import type { CleanupStack } from './tempdir.js';

const managerPath = '/org/freedesktop/systemd1';
const managerInterface = 'org.freedesktop.systemd1.Manager';

export interface TestSystemdOptions {
  readonly environment: { readonly DBUS_SYSTEM_BUS_ADDRESS: string };
  readonly cleanups: CleanupStack;
  /** Default `252.39-1~deb12u2`. */
  readonly version?: string;
  /** How a job ends; default `done`. Undefined: nothing is ever said of it. */
  readonly jobResult?: (member: string, unit: string) => string | undefined;
  /** Told of each unit before the end of its job: a test makes or removes the cgroup here. */
  readonly onJob?: (member: 'StartTransientUnit' | 'StopUnit', unit: string) => void;
  /** Told of `KillUnit`: a test lets logind read its configuration here. */
  readonly onKill?: (unit: string, signal: number) => Promise<void>;
}

export interface TestSystemd {
  /** The properties of each unit, as they were last set. */
  readonly units: ReadonlyMap<string, ReadonlyMap<string, DbusVariant>>;
  /** Every call: the member and the unit. */
  readonly calls: readonly string[];
  close(): void;
}

export async function startTestSystemd(options: TestSystemdOptions): Promise<TestSystemd> {
  const units = new Map<string, Map<string, DbusVariant>>();
  const calls: string[] = [];
  let jobs = 0;
  let connection: DbusConnection | undefined;

  const job = (member: 'StartTransientUnit' | 'StopUnit', unit: string): DbusReply => {
    jobs += 1;
    const path = `${managerPath}/job/${jobs}`;
    options.onJob?.(member, unit);
    const result = options.jobResult === undefined ? 'done' : options.jobResult(member, unit);
    const id = jobs;
    // After the reply, as systemd does.
    if (result !== undefined)
      setImmediate(() =>
        connection?.emit({
          path: managerPath,
          interface: managerInterface,
          member: 'JobRemoved',
          signature: 'uoss',
          body: [id, path, unit, result],
        }),
      );
    return { signature: 'o', body: [path] };
  };

  const answer = async (call: DbusMessage): Promise<DbusReply> => {
    const body = call.readBody();
    const [first, second, third] = body;
    const unit = String(first);
    calls.push(call.member === 'Get' ? `Get ${String(second)}` : `${call.member} ${unit}`);
    const known = units.get(unit);
    switch (call.member) {
      case 'Get':
        return { signature: 'v', body: [{ signature: 's', value: options.version ?? '252.39-1~deb12u2' }] };
      case 'StartTransientUnit':
        if (known !== undefined)
          throw new DbusError('org.freedesktop.systemd1.UnitExists', `Unit ${unit} already exists.`);
        units.set(unit, new Map(propertiesOf(third)));
        return job('StartTransientUnit', unit);
      case 'StopUnit':
        if (known === undefined) throw noSuchUnit(unit);
        units.delete(unit);
        return job('StopUnit', unit);
      case 'SetUnitProperties':
        if (known === undefined) throw noSuchUnit(unit);
        for (const [name, value] of propertiesOf(third)) known.set(name, value);
        return {};
      case 'ResetFailedUnit':
        if (known === undefined) throw noSuchUnit(unit);
        return {};
      case 'KillUnit':
        await options.onKill?.(unit, Number(third));
        return {};
      default:
        throw new DbusError('org.freedesktop.DBus.Error.UnknownMethod', `Unknown method ${call.member}`);
    }
  };

  connection = await openSystemBus({ clock: systemClock, environment: options.environment, onCall: answer });
  const opened = connection;
  options.cleanups.defer('the systemd of a test', async () => opened.close());
  await opened.call(busCall('RequestName', 'su', ['org.freedesktop.systemd1', 4]));
  return { units, calls, close: () => opened.close() };
}

function noSuchUnit(unit: string): DbusError {
  return new DbusError('org.freedesktop.systemd1.NoSuchUnit', `Unit ${unit} not loaded.`);
}

function propertiesOf(value: DbusValue | undefined): [string, DbusVariant][] {
  if (!Array.isArray(value)) throw new Error('properties are no array');
  return value.map((entry) => {
    const [name, variant] = Array.isArray(entry) ? entry : [];
    if (typeof name !== 'string' || !isVariant(variant)) throw new Error('a property is no name and value');
    return [name, variant];
  });
}

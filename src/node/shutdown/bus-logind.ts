/** systemd-logind on the system bus. */
import { type Clock, errorText, isCancelled } from '../../async/index.js';
import {
  type DbusCall,
  type DbusConnection,
  type DbusValue,
  isVariant,
  openSystemBus,
  systemdManagerCall,
} from '../../dbus/index.js';
import { plainEnvironment } from '../../programs/index.js';
import { takeInhibitLock } from './inhibitor.js';
import type { InhibitLock, Logind, LogindConnection } from './logind.js';

export interface BusLogindOptions {
  readonly clock: Clock;
  /** Names the bus by `DBUS_SYSTEM_BUS_ADDRESS`. */
  readonly environment: NodeJS.ProcessEnv;
}

const login1 = 'org.freedesktop.login1';
const managerPath = '/org/freedesktop/login1';
const managerInterface = 'org.freedesktop.login1.Manager';
const hangUp = 1;

export function busLogind({ clock, environment }: BusLogindOptions): Logind {
  return {
    connect: async (prepare, signal) => {
      const connection = await openSystemBus({ clock, environment, signal });
      try {
        // Before the lock is taken, so that no beginning is missed.
        await connection.listen(
          { sender: login1, interface: managerInterface, member: 'PrepareForShutdown', path: managerPath },
          ([isBegun]) => {
            if (typeof isBegun === 'boolean') prepare(isBegun);
          },
          { signal },
        );
      } catch (error) {
        connection.close();
        throw error;
      }
      return new BusLogindConnection(connection, { clock, environment });
    },
  };
}

class BusLogindConnection implements LogindConnection {
  readonly lost: Promise<string>;
  readonly #connection: DbusConnection;
  readonly #options: BusLogindOptions;

  constructor(connection: DbusConnection, options: BusLogindOptions) {
    this.#connection = connection;
    this.#options = options;
    this.lost = connection.closed.then(({ message }) => message);
  }

  async inhibitDelayMaxMs(signal: AbortSignal): Promise<number> {
    const call: DbusCall = {
      destination: login1,
      path: managerPath,
      interface: 'org.freedesktop.DBus.Properties',
      member: 'Get',
      signature: 'ss',
      body: [managerInterface, 'InhibitDelayMaxUSec'],
    };
    const [value] = await this.#call(call, 'failed reading InhibitDelayMaxUSec property from logind', signal);
    if (!isVariant(value) || typeof value.value !== 'bigint' || value.signature !== 't')
      throw new Error('InhibitDelayMaxUSec from logind is not a uint64 as expected');
    return Number(value.value) / 1000;
  }

  async reloadConfiguration(signal: AbortSignal): Promise<void> {
    const call = systemdManagerCall('KillUnit', 'ssi', ['systemd-logind.service', 'all', hangUp]);
    await this.#call(call, 'unable to reload logind conf', signal);
  }

  async inhibit(signal: AbortSignal): Promise<InhibitLock> {
    const { clock, environment } = this.#options;
    const { DBUS_SYSTEM_BUS_ADDRESS } = environment;
    try {
      return await takeInhibitLock({ clock, env: plainEnvironment({ DBUS_SYSTEM_BUS_ADDRESS }) }, signal);
    } catch (error) {
      if (isCancelled(error)) throw error;
      throw new Error(`failed creating systemd inhibitor: ${errorText(error)}`, { cause: error });
    }
  }

  close(): void {
    this.#connection.close();
  }

  async #call(call: DbusCall, failed: string, signal: AbortSignal): Promise<readonly DbusValue[]> {
    try {
      return await this.#connection.call(call, { signal });
    } catch (error) {
      if (isCancelled(error)) throw error;
      throw new Error(`${failed}: ${errorText(error)}`, { cause: error });
    }
  }
}

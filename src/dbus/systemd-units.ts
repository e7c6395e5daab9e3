/** Units of systemd, by its manager's interface on D-Bus: transient slices, their properties, and their end. */
import { lstatSync } from 'node:fs';
import { BoundedMap, Cancelled, type Clock, errorText, isCancelled, TimedOut } from '../async/index.js';
import type { DbusCall } from './calls.js';
import type { DbusConnection } from './connection.js';
import { type DbusDisconnected, DbusError, isDbusError } from './errors.js';
import { dbusLimits } from './limits.js';
import type { SystemBus } from './system-bus.js';
import { type DbusValue, type DbusVariant, isVariant } from './values.js';

/** A property of a unit: `{ name: 'CPUWeight', signature: 't', value: 100n }`. */
export interface UnitProperty extends DbusVariant {
  readonly name: string;
}

/** What the owner of cgroups needs of systemd. Every method throws where systemd does not run. */
export interface SystemdUnits {
  /** Returns when the slice runs; one that ran before is left as it is. */
  startTransientSlice(unit: string, properties: readonly UnitProperty[], signal?: AbortSignal): Promise<void>;
  /** Until the next boot. Makes the call for no properties, too. */
  setUnitProperties(unit: string, properties: readonly UnitProperty[], signal?: AbortSignal): Promise<void>;
  /** Returns when the unit has stopped or is not known; throws only where systemd does not say within its time. */
  stopUnit(unit: string, signal?: AbortSignal): Promise<void>;
  /** The number of systemd's version; -1 where systemd says none. Asked once. */
  version(signal?: AbortSignal): Promise<number>;
}

export interface SystemdUnitsOptions {
  readonly bus: SystemBus;
  readonly clock: Clock;
  /** Hears of a unit that systemd did not stop as it should, which keeps nobody from going on. */
  readonly onStopProblem: (unit: string, problem: string) => void;
  /** Is there exactly where systemd runs. */
  readonly runtimeDirectory?: string;
}

/** systemd did not end a job in its time. */
class JobLate extends TimedOut {}

/** How long systemd may take for a job. */
const jobMs = 30_000;
const unitExists = 'org.freedesktop.systemd1.UnitExists';

export const systemdManagerCall = (
  member: string,
  signature: string,
  body: readonly DbusValue[],
): DbusCall => ({
  destination: 'org.freedesktop.systemd1',
  path: '/org/freedesktop/systemd1',
  interface: 'org.freedesktop.systemd1.Manager',
  member,
  signature,
  body,
});

export function createSystemdUnits(options: SystemdUnitsOptions): SystemdUnits {
  return new BusUnits(options);
}

class BusUnits implements SystemdUnits {
  readonly #options: SystemdUnitsOptions;
  readonly #jobs = new WeakMap<DbusConnection, JobResults>();
  #version: number | undefined;

  constructor(options: SystemdUnitsOptions) {
    this.#options = options;
  }

  async startTransientSlice(
    unit: string,
    properties: readonly UnitProperty[],
    signal?: AbortSignal,
  ): Promise<void> {
    const call = systemdManagerCall('StartTransientUnit', 'ssa(sv)a(sa(sv))', [
      unit,
      'replace',
      properties.map(({ name, signature, value }) => [name, { signature, value }]),
      [],
    ]);
    const end = await this.#runJob(call, unit, signal);
    if (end.kind === 'refused') {
      if (isDbusError(end.error, unitExists)) return;
      throw end.error;
    }
    if (end.kind === 'ended' && end.result === 'done') return;
    await this.#resetFailed(unit, signal);
    throw end.kind === 'ended'
      ? new Error(`error creating systemd unit \`${unit}\`: got \`${end.result}\``)
      : new JobLate(`Timeout waiting for systemd to create ${unit}`);
  }

  async setUnitProperties(
    unit: string,
    properties: readonly UnitProperty[],
    signal?: AbortSignal,
  ): Promise<void> {
    const body = [unit, true, properties.map(({ name, signature, value }) => [name, { signature, value }])];
    this.#requireSystemd();
    await this.#options.bus.call(systemdManagerCall('SetUnitProperties', 'sba(sv)', body), { signal });
  }

  async stopUnit(unit: string, signal?: AbortSignal): Promise<void> {
    this.#requireSystemd();
    try {
      const end = await this.#runJob(systemdManagerCall('StopUnit', 'ss', [unit, 'replace']), unit, signal);
      if (end.kind === 'late') throw new JobLate(`Timed out while waiting for systemd to remove ${unit}`);
      // An unknown unit is what the caller wants.
      if (end.kind === 'ended' && end.result !== 'done') this.#options.onStopProblem(unit, end.result);
    } catch (error) {
      if (error instanceof JobLate || isCancelled(error)) throw error;
      this.#options.onStopProblem(unit, errorText(error));
    }
    await this.#resetFailed(unit, signal);
  }

  async version(signal?: AbortSignal): Promise<number> {
    this.#version ??= await this.#askVersion(signal);
    return this.#version;
  }

  async #askVersion(signal: AbortSignal | undefined): Promise<number> {
    this.#requireSystemd();
    const call: DbusCall = {
      ...systemdManagerCall('Get', 'ss', ['org.freedesktop.systemd1.Manager', 'Version']),
      interface: 'org.freedesktop.DBus.Properties',
    };
    try {
      const [version] = await this.#options.bus.call(call, { signal });
      return isVariant(version) ? parseSystemdVersion(version.value) : -1;
    } catch (error) {
      if (error instanceof DbusError) return -1;
      throw error;
    }
  }

  /** A connection that is lost before the end of the job makes the call again: nobody knows what systemd heard. */
  async #runJob(call: DbusCall, unit: string, signal: AbortSignal | undefined): Promise<JobEnd> {
    this.#requireSystemd();
    return this.#options.bus.run(async (connection) => {
      const jobs = await this.#jobsOf(connection, signal);
      let job: DbusValue | undefined;
      try {
        [job] = await connection.call(call, { signal });
      } catch (error) {
        if (error instanceof DbusError) return { kind: 'refused', error };
        throw error;
      }
      if (typeof job !== 'string') throw new Error(`systemd named no job for ${unit}`);
      return jobs.endOf(job, signal);
    }, signal);
  }

  /** One match for a connection, made before the first job, so that no end is missed. */
  async #jobsOf(connection: DbusConnection, signal: AbortSignal | undefined): Promise<JobResults> {
    const known = this.#jobs.get(connection);
    if (known !== undefined) return known;
    const jobs = new JobResults(this.#options.clock, connection);
    const { path, interface: name, destination: sender = '' } = systemdManagerCall('JobRemoved', '', []);
    await connection.listen(
      { sender, interface: name, member: 'JobRemoved', path },
      (body) => jobs.hear(body),
      {
        signal,
      },
    );
    const first = this.#jobs.get(connection) ?? jobs;
    this.#jobs.set(connection, first);
    return first;
  }

  /** Lets a failed unit be forgotten. That it has not failed is an error, too, and of no interest. */
  async #resetFailed(unit: string, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#options.bus.call(systemdManagerCall('ResetFailedUnit', 's', [unit]), { signal });
    } catch (error) {
      if (signal?.aborted) throw error;
    }
  }

  #requireSystemd(): void {
    const { runtimeDirectory = '/run/systemd/system' } = this.#options;
    if (lstatSync(runtimeDirectory, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new Error('systemd not running on this host, cannot use systemd cgroups manager');
  }
}

/** `v252.39-1` is 252. */
export function parseSystemdVersion(version: DbusValue): number {
  const [, digits] = (typeof version === 'string' && /^v?(\d{1,9})/.exec(version)) || [];
  return digits === undefined ? -1 : Number(digits);
}

type JobEnd =
  | { readonly kind: 'refused'; readonly error: DbusError }
  | { readonly kind: 'ended'; readonly result: string }
  | { readonly kind: 'late' };

/** The ends of jobs by their paths. An end may come before the reply that names the job. */
class JobResults {
  readonly #clock: Clock;
  readonly #early = new BoundedMap<string, string>({ maxEntries: dbusLimits.rememberedJobs });
  readonly #waiting = new Map<string, (end: JobEnd | DbusDisconnected) => void>();
  #lost: DbusDisconnected | undefined;

  constructor(clock: Clock, connection: DbusConnection) {
    this.#clock = clock;
    void connection.closed.then((lost) => {
      this.#lost = lost;
      for (const settle of [...this.#waiting.values()]) settle(lost);
    });
  }

  /** JobRemoved: id, path of the job, unit, result. */
  hear([, job, , result]: readonly DbusValue[]): void {
    if (typeof job !== 'string' || typeof result !== 'string') return;
    const waiting = this.#waiting.get(job);
    if (waiting !== undefined) waiting({ kind: 'ended', result });
    else this.#early.set(job, result);
  }

  async endOf(job: string, signal: AbortSignal | undefined): Promise<JobEnd> {
    const early = this.#early.get(job);
    this.#early.delete(job);
    if (early !== undefined) return { kind: 'ended', result: early };
    if (this.#lost !== undefined) throw this.#lost;
    return new Promise((resolve, reject) => {
      const settle = (end: JobEnd | DbusDisconnected | Cancelled): void => {
        this.#waiting.delete(job);
        timer.cancel();
        signal?.removeEventListener('abort', onAbort);
        if (end instanceof Error) reject(end);
        else resolve(end);
      };
      const onAbort = (): void => settle(new Cancelled());
      const timer = this.#clock.setTimer(jobMs, () => settle({ kind: 'late' }));
      this.#waiting.set(job, settle);
      if (signal?.aborted) onAbort();
      else signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}

/** Follows the health streams of drivers, and remembers what they told across restarts. */
import { join } from 'node:path';
import { type Clock, sleep } from '../../async/index.js';
import { isUnimplemented } from '../../grpc/index.js';
import { type DurableFiles, DurableState } from '../../host/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { DriverEndpoint } from './drivers.js';
import { applyReport, type DriverHealth, deviceKey, type HealthName, healthNow } from './health.js';
import { formatHealthFile, parseHealthFile } from './health-file.js';
import { draLimits } from './limits.js';
import type { HealthMethod } from './services.js';

export interface DeviceHealthOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  /** Absent: nothing survives a restart. */
  readonly checkpoint?: { readonly rootDir: string; readonly store: DurableFiles } | undefined;
  /** Called with the devices of a driver whose pods have to be told. */
  readonly onChange: (driver: string, isChanged: (poolName: string, deviceName: string) => boolean) => void;
}

export const healthStateFile = 'dra_health_state';

export class DeviceHealthWatch {
  readonly #options: DeviceHealthOptions;
  readonly #drivers = new Map<string, DriverHealth>();
  readonly #file: DurableState | undefined;

  constructor(options: DeviceHealthOptions) {
    this.#options = options;
    const { checkpoint } = options;
    this.#file =
      checkpoint && new DurableState(checkpoint.store, this.#path(checkpoint.rootDir), () => this.#text());
  }

  async start(): Promise<void> {
    const { checkpoint } = this.#options;
    if (checkpoint === undefined) return;
    const found = await checkpoint.store.read(this.#path(checkpoint.rootDir), parseHealthFile);
    if (found.kind !== 'found') return;
    for (const [driver, devices] of found.value) this.#drivers.set(driver, devices);
  }

  async stop(): Promise<void> {
    await this.#file?.stop();
  }

  of(
    driver: string,
    poolName: string,
    deviceName: string,
  ): { readonly health: HealthName; readonly message: string } {
    const device = this.#drivers.get(driver)?.get(deviceKey({ poolName, deviceName }));
    return healthNow(device, this.#options.clock.now());
  }

  /** Runs until aborted, or until the driver says that it has no such service. */
  async watch(
    { driver, connection }: DriverEndpoint,
    method: HealthMethod,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, timeline } = this.#options;
    let told = '';
    for (;;) {
      try {
        for await (const { devices } of connection.stream(method, {}, { signal })) {
          told = '';
          this.#report(driver, devices);
        }
      } catch (error) {
        if (signal.aborted) throw error;
        const text = String(error);
        timeline.record({
          kind: 'problem',
          what: 'dra.health',
          level: text === told ? 'debug' : 'warn',
          message: `The health of devices of driver ${driver} is not known`,
          data: { driver },
          error,
        });
        told = text;
        if (isUnimplemented(error)) return;
      } finally {
        // Pods show it with their next sync.
        if (this.#drivers.delete(driver)) this.#file?.changed();
      }
      await sleep(clock, draLimits.healthRetryMs, signal);
    }
  }

  #report(driver: string, report: Parameters<typeof applyReport>[1]): void {
    const { clock, timeline, onChange } = this.#options;
    const { devices, changed, isNews, leftOut } = applyReport(
      this.#drivers.get(driver) ?? new Map(),
      report,
      clock.now(),
    );
    this.#drivers.set(driver, devices);
    if (isNews) this.#file?.changed();
    if (leftOut > 0) {
      const message = `Driver ${driver} tells of too many devices; the health of ${leftOut} is left out`;
      timeline.record({ kind: 'problem', what: 'dra.health', level: 'debug', message, data: { driver } });
    }
    if (changed.length === 0) return;
    const keys = new Set(changed.map(deviceKey));
    onChange(driver, (poolName, deviceName) => keys.has(deviceKey({ poolName, deviceName })));
  }

  #text(): string {
    return formatHealthFile(this.#drivers);
  }

  #path(rootDir: string): string {
    return join(rootDir, healthStateFile);
  }
}

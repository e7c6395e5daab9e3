/** Keeps the number of volumes that drivers can attach true in the CSINode, where their CSIDriver objects ask for that. */
import { type Clock, errorText, isCancelled, sleep, TaskGroup } from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';
import { type CsiClientOptions, csiStep } from './client.js';
import type { DriverPolicies } from './driver-policy.js';
import { judgeNodeInfo } from './node-info.js';
import type { DriverNotice } from './registration.js';

/** The API allows no less; more than a timer can count is as good as never. */
const shortestSeconds = 10;
const longestSeconds = 2_000_000;

/** How often a driver is to be asked; undefined: never. */
export function updatePeriodMs(periodSeconds: number | undefined): number | undefined {
  if (periodSeconds === undefined || !(periodSeconds > 0)) return undefined;
  return Math.min(Math.max(periodSeconds, shortestSeconds), longestSeconds) * 1000;
}

export interface UpdateSteps {
  readonly stop: readonly string[];
  readonly start: readonly { readonly driver: string; readonly periodMs: number }[];
}

/** What to do so that each registered driver that wants it is asked with its period. */
export function updateSteps(
  running: ReadonlyMap<string, { readonly periodMs: number }>,
  registered: readonly string[],
  periodOf: (driver: string) => number | undefined,
): UpdateSteps {
  const wanted = new Map<string, number>();
  for (const driver of registered) {
    const periodMs = updatePeriodMs(periodOf(driver));
    if (periodMs !== undefined) wanted.set(driver, periodMs);
  }
  const isRight = (driver: string): boolean => running.get(driver)?.periodMs === wanted.get(driver);
  return {
    stop: [...running.keys()].filter((driver) => !isRight(driver)),
    start: [...wanted].flatMap(([driver, periodMs]) => (isRight(driver) ? [] : [{ driver, periodMs }])),
  };
}

export interface AllocatableUpdatesOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly client: CsiClientOptions;
  readonly policies: DriverPolicies;
  readonly notice: DriverNotice;
}

interface RunningUpdate {
  readonly periodMs: number;
  readonly life: AbortController;
}

export class AllocatableUpdates {
  readonly #options: AllocatableUpdatesOptions;
  readonly #running = new Map<string, RunningUpdate>();
  /** Drivers whose last update failed, which was told. */
  readonly #failing = new Set<string>();

  constructor(options: AllocatableUpdatesOptions) {
    this.#options = options;
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, policies, timeline } = this.#options;
    const onError = (task: string, error: unknown): void =>
      void timeline.record({ kind: 'problem', what: 'csi.node', message: `${task} failed`, error });
    const tasks = new TaskGroup({ signal, onError });
    const look = (): void => this.#look(tasks);
    const ends = [
      client.drivers.onReady((driver) => {
        // A driver that has just registered has just told its number.
        this.#stop(driver);
        look();
      }),
      client.drivers.onGone((driver) => this.#stop(driver)),
      policies.onChange?.(look),
    ];
    look();
    try {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    } finally {
      for (const end of ends) end?.();
      for (const driver of [...this.#running.keys()]) this.#stop(driver);
      await tasks.stop();
    }
  }

  /** Asks the driver now, and writes what it says; Node annotations and labels stay as they are. */
  async refresh(driver: string, signal: AbortSignal): Promise<void> {
    const { client, notice } = this.#options;
    const info = judgeNodeInfo(await csiStep(client, driver, signal).info());
    await notice.update?.(driver, info, signal);
  }

  #look(tasks: TaskGroup): void {
    if (tasks.signal.aborted) return;
    const { client, policies } = this.#options;
    const periodOf = (driver: string): number | undefined =>
      policies.get(driver)?.nodeAllocatableUpdatePeriodSeconds;
    const { stop, start } = updateSteps(this.#running, client.drivers.names(), periodOf);
    for (const driver of stop) this.#stop(driver);
    for (const { driver, periodMs } of start) {
      const life = new AbortController();
      this.#running.set(driver, { periodMs, life });
      tasks.start(`asking ${driver} for its number of volumes`, (signal) =>
        this.#repeat(driver, periodMs, AbortSignal.any([signal, life.signal])),
      );
    }
  }

  #stop(driver: string): void {
    this.#running.get(driver)?.life.abort();
    this.#running.delete(driver);
    this.#failing.delete(driver);
  }

  async #repeat(driver: string, periodMs: number, signal: AbortSignal): Promise<void> {
    const { clock, timeline } = this.#options;
    for (;;) {
      await sleep(clock, periodMs, signal);
      try {
        await this.refresh(driver, signal);
        this.#failing.delete(driver);
      } catch (error) {
        if (isCancelled(error) || signal.aborted) throw error;
        if (this.#failing.has(driver)) continue;
        this.#failing.add(driver);
        const message = `the number of volumes of CSI driver ${driver} cannot be updated: ${errorText(error)}`;
        timeline.record({ kind: 'problem', what: 'csi.node', level: 'warn', message });
      }
    }
  }
}

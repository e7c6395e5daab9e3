/** Deletes the ResourceSlices of drivers that are not there: nobody should be scheduled to devices that cannot be prepared. */
import { type Clock, errorText, linkedController, sleep, TaskGroup, type Timer } from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { DraApi } from './contracts.js';
import { draLimits } from './limits.js';

export interface ResourceSlicesOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly random: () => number;
  readonly api: Pick<DraApi, 'deleteSlices'>;
}

/** The pauses between attempts double from one second; after the last attempt the slices are left. */
const attempts = 9;

interface AwayDriver {
  readonly timer: Timer;
  readonly controller: AbortController;
}

export class ResourceSlices {
  readonly #options: ResourceSlicesOptions;
  readonly #away = new Map<string, AwayDriver>();
  readonly #tasks: TaskGroup;

  constructor(options: ResourceSlicesOptions) {
    this.#options = options;
    this.#tasks = new TaskGroup({
      onError: (task, error) =>
        options.timeline.record({ kind: 'problem', what: 'kubelet.task', message: `${task} failed`, error }),
    });
  }

  /** Drivers publish theirs again when they register. */
  wipeAll(): void {
    this.#tasks.start('the deletion of ResourceSlices', (signal) => this.#wipe(undefined, signal));
  }

  /** Further changes do not restart the wait of a driver that is away. */
  usable(driver: string, isUsable: boolean): void {
    const away = this.#away.get(driver);
    if (isUsable) {
      away?.timer.cancel();
      away?.controller.abort();
      this.#away.delete(driver);
      return;
    }
    if (away !== undefined || this.#tasks.signal.aborted) return;
    const controller = new AbortController();
    const wipe = (): void =>
      this.#tasks.start(`the deletion of ResourceSlices of ${driver}`, async (stopping) => {
        const { controller: both, unlink } = linkedController(stopping, controller.signal);
        try {
          await this.#wipe(driver, both.signal);
        } finally {
          unlink();
          // A driver that goes away again later waits anew.
          if (this.#away.get(driver)?.controller === controller) this.#away.delete(driver);
        }
      });
    const timer = this.#options.clock.setTimer(draLimits.awayMs, wipe);
    this.#away.set(driver, { timer, controller });
  }

  async stop(): Promise<void> {
    for (const { timer } of this.#away.values()) timer.cancel();
    this.#away.clear();
    await this.#tasks.stop();
  }

  async #wipe(driver: string | undefined, signal: AbortSignal): Promise<void> {
    const { clock, random, api, timeline } = this.#options;
    const whose = driver === undefined ? 'of this node' : `of driver ${driver}`;
    const because =
      driver === undefined ? 'the node has started' : `the driver was away for ${draLimits.awayMs / 1000} s`;
    const data = { driver: driver ?? '' };
    for (let failures = 1; ; failures++) {
      try {
        await api.deleteSlices(driver, signal);
        const message = `Deleted the ResourceSlices ${whose}`;
        timeline.record({ kind: 'effect', what: 'dra.slices', message, because, data });
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        const isLast = failures === attempts;
        timeline.record({
          kind: 'problem',
          what: 'dra.slices',
          level: failures === 1 || isLast ? 'warn' : 'debug',
          message: `The ResourceSlices ${whose} could not be deleted${isLast ? '; they are left' : ''}: ${errorText(error)}`,
          data,
          error,
        });
        if (isLast) return;
      }
      await sleep(clock, 1000 * 2 ** (failures - 1) * (1 + random() * 0.2), signal);
    }
  }
}

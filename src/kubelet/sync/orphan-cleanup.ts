/** Cleans up after pods that the node no longer has: their directories, user ids and remembered resources. */

import { type Clock, TimedOut, withTimeout } from '../../async/index.js';
import type { Host } from '../../host/index.js';
import { cleanOrphanedPods } from '../../volumes/index.js';
import type { KubeletMetrics } from '../metrics.js';
import type { PodVolumes } from '../ports.js';
import type { PodDirectories } from './pod-directories.js';

/** The sync loop waits for a pass; a disk that hangs must not stop it. */
const patienceMs = 5_000;

export interface OrphanCleanupOptions {
  readonly clock: Clock;
  readonly volumes: Pick<PodVolumes, 'podsChanged' | 'exist'>;
  readonly actuated: { keepOnly(isKept: (uid: string) => boolean): void };
  /** Absent where pods have no user namespaces. */
  readonly users?: { keepOnly(uids: ReadonlySet<string>): void } | undefined;
  /** Absent where pods have no directories. */
  readonly dirs?:
    | {
        readonly host: Host;
        readonly rootDir: string;
        readonly directories: Pick<PodDirectories, 'keepOnly'>;
      }
    | undefined;
  /** Whether pods are queued to start or to end; directories can wait for them. */
  readonly podsWait: () => boolean;
  readonly isConfigured: (uid: string) => boolean;
  readonly metrics: Pick<KubeletMetrics, 'cleanedVolumes' | 'cleanedVolumeErrors'>;
}

export class OrphanCleanup {
  readonly #options: OrphanCleanupOptions;
  readonly #directoriesCanWait: () => boolean;
  /** Whether an earlier pass still waits for the disk. */
  #isBusy = false;

  constructor(options: OrphanCleanupOptions) {
    this.#options = options;
    this.#directoriesCanWait = passesToWait(options.podsWait);
  }

  /**
   * One pass. `known` are the pods that are configured or that run. Returns whether nothing is left to clean; throws when a
   * directory could not be removed.
   */
  async run(known: ReadonlySet<string>): Promise<boolean> {
    const { volumes, actuated, users, dirs, isConfigured, metrics } = this.#options;
    volumes.podsChanged();
    actuated.keepOnly((uid) => known.has(uid));
    users?.keepOnly(known);
    if (dirs === undefined) return true;
    if (this.#isBusy || this.#directoriesCanWait()) return false;
    const { seen, failedPods, failures } = await this.#clean((signal) =>
      cleanOrphanedPods({
        host: dirs.host,
        rootDirectory: dirs.rootDir,
        known,
        // A pod may have come back under its UID since `known` was put together.
        podVolumesExist: (uid) => volumes.exist(uid) || isConfigured(uid),
        signal,
      }),
    );
    dirs.directories.keepOnly(known);
    metrics.cleanedVolumes.set(seen);
    metrics.cleanedVolumeErrors.set(failedPods);
    if (failures.length > 0) throw new Error(failures.join('; '));
    return seen === 0;
  }

  /** Once it takes too long, it removes nothing more, and there is no other one until the disk has answered. */
  async #clean<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#isBusy = true;
    try {
      return await withTimeout(this.#options.clock, patienceMs, undefined, (signal) =>
        work(signal).finally(() => {
          this.#isBusy = false;
        }),
      );
    } catch (error) {
      if (!(error instanceof TimedOut)) throw error;
      throw new Error(`the disk does not answer within ${patienceMs / 1000} s`, { cause: error });
    }
  }
}

/** Whether cleanup can wait: while pods are queued, for at most 10 passes (20 s). */
export function passesToWait(podsWait: () => boolean): () => boolean {
  const limit = 10;
  let waited = 0;
  return () => {
    waited = podsWait() && waited < limit ? waited + 1 : 0;
    return waited > 0;
  };
}

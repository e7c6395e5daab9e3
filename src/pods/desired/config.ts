/** Merges the snapshots of all sources into one stream of changes, and knows when every source is ready. */
import { Channel, type Clock } from '../../async/index.js';
import { formatNanoTimestampOfMs, formatPod, type Pod } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import { type Merge, mergeSnapshot } from './merge.js';
import type { ConfigUpdate, Snapshot, SourceName } from './types.js';

const channelCapacity = 50;

export interface PodConfigOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  /** The configured sources; all of them must deliver before anything is cleaned up. */
  readonly sources: readonly SourceName[];
  /** Changes pods as they come in; the same pod must become the same object. Default: they stay as they are. */
  readonly change?: ((pod: Pod) => Pod) | undefined;
  /** Told of pods whose deletion is known, before the update that says so, which may have to wait, is in the channel. */
  readonly onDeleted?: (pods: readonly Pod[]) => void;
}

export class PodConfig {
  readonly updates = new Channel<ConfigUpdate>(channelCapacity);
  readonly #options: PodConfigOptions;
  readonly #known = new Map<SourceName, ReadonlyMap<string, Pod>>();
  readonly #last = new Map<SourceName, ReadonlyMap<string, Pod>>();
  readonly #handled = new Set<SourceName>();
  /** What was told of pods that nobody could read, by UID. */
  readonly #told = new Map<SourceName, ReadonlyMap<string, string>>();
  #merging: Promise<void> = Promise.resolve();

  constructor(options: PodConfigOptions) {
    this.#options = options;
  }

  /**
   * Takes a source's snapshot; resolves when its changes are in the channel, which may have to wait for room.
   */
  deliver(snapshot: Snapshot, signal: AbortSignal): Promise<void> {
    const merged = this.#merging.then(() => this.#merge(snapshot, signal));
    // A failed delivery (a stop) must not block later ones; its own caller sees the error.
    this.#merging = merged.catch(() => {});
    return merged;
  }

  /**
   * The update as it is to be handled now: a pod of which its deletion is known by now comes as a deleted one, so that
   * nothing of it starts. Updates wait in the channel while the runtime is not ready or another update takes its time.
   */
  asOfNow(update: ConfigUpdate): ConfigUpdate {
    const known = this.#known.get(update.source);
    if (update.op === 'REMOVE' || update.op === 'DELETE' || known === undefined) return update;
    const pods = update.pods.map((pod) => {
      const newest = known.get(pod.metadata.uid);
      return newest?.metadata.deletionTimestamp === undefined ? pod : newest;
    });
    return { ...update, pods };
  }

  /** Notes that the loop has handled an update of the source. */
  markHandled(source: SourceName): void {
    this.#handled.add(source);
  }

  /** Whether an update of every configured source has been handled. */
  get allSourcesReady(): boolean {
    return this.#options.sources.every((source) => this.#known.has(source) && this.#handled.has(source));
  }

  /** The sources that have not delivered yet. */
  get missingSources(): readonly SourceName[] {
    return this.#options.sources.filter((source) => !this.#known.has(source) || !this.#handled.has(source));
  }

  async #merge(given: Snapshot, signal: AbortSignal): Promise<void> {
    const { clock, timeline, change } = this.#options;
    const { source } = given;
    const snapshot = change === undefined ? given : { source, pods: given.pods.map(change) };
    const known = this.#known.get(source);
    const last = this.#last.get(source);
    const merge = mergeSnapshot({
      known: known ?? new Map(),
      ...(last === undefined ? {} : { last }),
      snapshot,
      first: known === undefined,
      seen: formatNanoTimestampOfMs(clock.now()),
    });
    this.#known.set(source, merge.pods);
    this.#last.set(source, merge.snapshot);
    for (const { pod, what } of merge.duplicates) {
      timeline.event(
        podRef(pod),
        'Warning',
        'FailedValidation',
        `Error validating pod ${formatPod(pod)} from ${source} due to duplicate ${what}, ignoring`,
      );
    }
    this.#tellUnreadable(source, merge);
    for (const { op, pods } of merge.updates) if (op === 'DELETE') this.#options.onDeleted?.(pods);
    for (const update of merge.updates) await this.updates.send(update, signal);
  }

  /** Each once, until the pod is another or gone: snapshots come again and again. */
  #tellUnreadable(source: SourceName, { snapshot, unreadable }: Merge): void {
    const before = this.#told.get(source) ?? new Map<string, string>();
    const told = new Map([...before].filter(([uid]) => snapshot.has(uid)));
    for (const { pod, what } of unreadable) {
      const { uid } = pod.metadata;
      if (told.get(uid) === what) continue;
      told.set(uid, what);
      const message = `Error validating pod ${formatPod(pod)} from ${source} due to ${what}, ignoring`;
      this.#options.timeline.event(podRef(pod), 'Warning', 'FailedValidation', message);
    }
    this.#told.set(source, told);
  }
}

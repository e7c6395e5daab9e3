/** Watches pulls that take long and tells how far they are, once for all pods that wait for an image. */
import { asError, type Clock, sleep, type TaskGroup } from '../../async/index.js';
import {
  type ContainerdContent,
  CriError,
  type FetchedBlob,
  isUnimplemented,
  type StoredBlob,
} from '../../cri/index.js';
import { LayerLedger, layersOf, type PullProgress } from './pull-progress.js';
import { parseImageReference } from './reference.js';

/** What a runtime shows of its pulls. */
export type PullSource = Pick<ContainerdContent, 'blobsOf' | 'stored' | 'read' | 'fetched' | 'close'>;

export interface PullWatchOptions {
  readonly clock: Clock;
  /** Owns the looks. */
  readonly tasks: TaskGroup;
  /** Opens a connection; called when a pull takes long. */
  readonly open: () => PullSource;
  /** The progress of a pull cannot be told. */
  readonly onFailure: (image: string, error: Error) => void;
}

/** Most pulls are over by then. */
export const firstLookMs = 3_000;
export const lookPeriodMs = 2_000;
const callTimeoutMs = 5_000;
const largestManifestBytes = 1024 * 1024;
/** Manifests of a repository that are read to find the one that is pulled, the newest first. */
const mostManifests = 50;

type Listener = (progress: PullProgress) => void;

export class PullWatch {
  readonly #options: PullWatchOptions;
  readonly #byImage = new Map<
    string,
    { readonly listeners: Set<Listener>; readonly stop: AbortController }
  >();
  /** The runtime does not show its pulls at all. */
  #isBlind = false;

  constructor(options: PullWatchOptions) {
    this.#options = options;
  }

  /** Tells the listener of the image's pull until the returned function is called. */
  watch(image: string, listener: Listener): () => void {
    if (this.#isBlind) return () => undefined;
    let watched = this.#byImage.get(image);
    if (watched === undefined) {
      const stop = new AbortController();
      watched = { listeners: new Set(), stop };
      this.#byImage.set(image, watched);
      const { listeners } = watched;
      this.#options.tasks.start('pull progress', (signal) =>
        this.#follow(image, listeners, AbortSignal.any([signal, stop.signal])),
      );
    }
    const { listeners, stop } = watched;
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      stop.abort();
      if (this.#byImage.get(image)?.stop === stop) this.#byImage.delete(image);
    };
  }

  async #follow(image: string, listeners: ReadonlySet<Listener>, signal: AbortSignal): Promise<void> {
    const { clock, open } = this.#options;
    let source: PullSource | undefined;
    try {
      await sleep(clock, firstLookMs, signal);
      source = open();
      let ledger: LayerLedger | undefined;
      for (;;) {
        const fetched = await source.fetched(AbortSignal.any([signal, AbortSignal.timeout(callTimeoutMs)]));
        ledger ??= await findImage(source, image, fetched, signal);
        if (ledger !== undefined) {
          const progress = ledger.look(fetched, clock.monotonic());
          for (const listener of listeners) listener(progress);
        }
        await sleep(clock, lookPeriodMs, signal);
      }
    } catch (error) {
      // The pull is over, or the agent ends.
      if (signal.aborted) return;
      // What a look shows is for people only: a runtime without it pulls as well.
      if (error instanceof CriError && isUnimplemented(error)) this.#isBlind = true;
      this.#options.onFailure(image, asError(error));
    } finally {
      source?.close();
    }
  }
}

/** The image is told by its repository and by what is being fetched for it; undefined before the runtime has its manifest. */
async function findImage(
  source: PullSource,
  image: string,
  fetched: readonly FetchedBlob[],
  stop: AbortSignal,
): Promise<LayerLedger | undefined> {
  const active = new Set(fetched.map(({ digest }) => digest));
  if (active.size === 0) return undefined;
  const signal = AbortSignal.any([stop, AbortSignal.timeout(callTimeoutMs)]);
  const known = await source.blobsOf(parseImageReference(image), signal);
  const small = known.filter(({ sizeBytes }) => sizeBytes <= largestManifestBytes);
  const newest = small.sort((a: StoredBlob, b: StoredBlob) => b.createdSeconds - a.createdSeconds);
  for (const blob of newest.slice(0, mostManifests)) {
    const layers = layersOf(await source.read(blob, signal));
    if (layers?.some(({ digest }) => active.has(digest)) !== true) continue;
    // Another repository may have brought some of its layers.
    const digests = layers.map(({ digest }) => digest);
    return new LayerLedger(layers, await source.stored(digests, signal));
  }
  return undefined;
}

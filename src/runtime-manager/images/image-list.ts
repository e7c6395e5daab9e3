/** The images on the machine for the node status, refreshed periodically. */
import { type Clock, isCancelled, sleep } from '../../async/index.js';
import type { CriRuntime, Image } from '../../cri/index.js';
import type { Timeline } from '../../timeline/index.js';

export interface ImageListOptions {
  readonly cri: Pick<CriRuntime, 'listImages'>;
  readonly clock: Clock;
  readonly timeline: Timeline;
}

const refreshPeriodMs = 30_000;

export class ImageList {
  readonly #options: ImageListOptions;
  #images: readonly Image[] = [];

  constructor(options: ImageListOptions) {
    this.#options = options;
  }

  /** Largest first. */
  get images(): readonly Image[] {
    return this.#images;
  }

  async refresh(signal?: AbortSignal): Promise<void> {
    const { images } = await this.#options.cri.listImages({}, { signal });
    this.#images = [...images].sort(largestFirst);
  }

  /** Refreshes the list until stopped; a failure keeps the old list. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, timeline } = this.#options;
    for (;;) {
      try {
        await this.refresh(signal);
      } catch (error) {
        if (isCancelled(error)) throw error;
        timeline.record({
          kind: 'problem',
          what: 'images.list',
          message: 'could not list the images on the machine',
          level: 'warn',
          error,
        });
      }
      await sleep(clock, refreshPeriodMs, signal);
    }
  }
}

function largestFirst(a: Image, b: Image): number {
  return b.size - a.size || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
}

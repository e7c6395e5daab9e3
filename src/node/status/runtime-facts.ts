/** The runtime's version and images, polled instead of read for every status. */
import { type Clock, errorText, sleep } from '../../async/index.js';
import type { CriRuntime } from '../../cri/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { KnownImage } from './images.js';

export interface RuntimeFactsOptions {
  readonly runtime: Pick<CriRuntime, 'version' | 'listImages'>;
  readonly clock: Clock;
  readonly timeline: Timeline;
}

const imagePeriodMs = 30_000;
const versionForMs = 60_000;

export class RuntimeFacts {
  readonly #options: RuntimeFactsOptions;
  #images: readonly KnownImage[] = [];
  #name = 'unknown';
  #version: { readonly text: string; readonly atMs: number } | undefined;
  #lastProblem = '';

  constructor(options: RuntimeFactsOptions) {
    this.#options = options;
  }

  get images(): readonly KnownImage[] {
    return this.#images;
  }

  /** Its name and version; the version is undefined if it does not respond. */
  async version(): Promise<{ readonly name: string; readonly version: string | undefined }> {
    const { runtime, clock } = this.#options;
    const known = this.#version;
    if (known !== undefined && clock.monotonic() - known.atMs < versionForMs) {
      return { name: this.#name, version: known.text };
    }
    try {
      const { runtimeName, runtimeVersion } = await runtime.version({});
      this.#name = runtimeName;
      this.#version = { text: runtimeVersion, atMs: clock.monotonic() };
    } catch (error) {
      this.#version = undefined;
      this.#problem(`cannot read the runtime's version: ${errorText(error)}`);
    }
    return { name: this.#name, version: this.#version?.text };
  }

  /** Polls the images. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.refreshImages();
      await sleep(this.#options.clock, imagePeriodMs, signal);
    }
  }

  async refreshImages(): Promise<void> {
    try {
      const { images } = await this.#options.runtime.listImages({});
      this.#images = images.map(({ id, repoTags, repoDigests, size }) => ({
        id,
        repoTags,
        repoDigests,
        sizeBytes: size,
      }));
      this.#lastProblem = '';
    } catch (error) {
      this.#problem(`cannot list the runtime's images: ${errorText(error)}`);
    }
  }

  #problem(message: string): void {
    if (message === this.#lastProblem) return;
    this.#lastProblem = message;
    this.#options.timeline.record({ kind: 'problem', what: 'node.status', message });
  }
}

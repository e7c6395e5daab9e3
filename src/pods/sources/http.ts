/** The HTTP source: the pods at a URL, polled periodically. */
import { isCancelled, sleep } from '../../async/index.js';
import { getManifest } from './get-manifest.js';
import { manifestLimitBytes, type PodSource, type SourceContext } from './source.js';
import { readManifest } from './static-pod.js';

export interface HttpSourceOptions extends SourceContext {
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly checkPeriodMs: number;
}

const requestTimeoutMs = 10_000;
/** Consecutive failures reported in full; later ones only at debug level. */
const loudFailures = 3;

export class HttpSource implements PodSource {
  readonly #options: HttpSourceOptions;
  #lastBody: Buffer | undefined;
  #lastBodyWasGood = false;
  #failures = 0;

  constructor(options: HttpSourceOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        if (await this.#check(signal)) this.#succeeded();
      } catch (error) {
        if (isCancelled(error)) throw error;
        this.#failed(error);
      }
      await sleep(this.#options.clock, this.#options.checkPeriodMs, signal);
    }
  }

  /** Whether the response is valid; an invalid one is reported when first seen. */
  async #check(signal: AbortSignal): Promise<boolean> {
    const { url, headers, clock } = this.#options;
    const answer = await getManifest({
      clock,
      url,
      headers,
      timeoutMs: requestTimeoutMs,
      limitBytes: manifestLimitBytes,
      signal,
    });
    if (answer.status !== 200) throw new Error(`${this.#shown}: ${answer.statusText}`);
    if (answer.body.length === 0) {
      this.#lastBody = undefined;
      await this.#options.deliver({ source: 'http', pods: [] }, signal);
      throw new Error(`zero-length data received from ${this.#shown}`);
    }
    if (this.#lastBody?.equals(answer.body) === true) return this.#lastBodyWasGood;
    // Remembered before it is parsed, so that a bad body is reported once.
    this.#lastBody = answer.body;
    this.#lastBodyWasGood = false;
    const { pods, warnings } = readManifest(
      answer.body.toString('utf8'),
      { kind: 'http', url, shown: this.#shown },
      this.#options.pods,
    );
    if (warnings.length > 0) {
      this.#options.timeline.record({
        kind: 'problem',
        what: 'manifest.ignored',
        message: warnings.join('\n'),
        level: 'warn',
      });
    }
    this.#lastBodyWasGood = true;
    await this.#options.deliver({ source: 'http', pods }, signal);
    return true;
  }

  #succeeded(): void {
    if (this.#failures > 0) {
      this.#options.timeline.record({
        kind: 'observation',
        what: 'manifest.url',
        message: `${this.#shown} answers again`,
        level: 'info',
        data: { failures: this.#failures },
      });
    }
    this.#failures = 0;
  }

  #failed(error: unknown): void {
    this.#failures++;
    this.#options.timeline.record({
      kind: 'problem',
      what: 'manifest.url',
      message:
        this.#failures === loudFailures + 1
          ? `cannot read pods from ${this.#shown}; further failures are only shown with more verbosity`
          : `cannot read pods from ${this.#shown}`,
      because: 'the pods read before are kept',
      level: this.#failures <= loudFailures + 1 ? 'error' : 'debug',
      data: { failures: this.#failures },
      error,
    });
  }

  /** The URL without its secret parts. */
  get #shown(): string {
    const url = new URL(this.#options.url);
    url.username = '';
    url.password = '';
    url.search = '';
    url.hash = '';
    return url.toString();
  }
}

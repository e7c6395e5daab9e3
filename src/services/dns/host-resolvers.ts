/** Reads which servers of names the machine uses, again and again, for networks change. */
import { readFile } from 'node:fs/promises';
import { type Clock, errorText } from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { Ipv4Range } from '../addresses/ipv4-range.js';
import { upstreamsOf } from './resolv-conf.js';

export interface HostResolversOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly path: string;
  readonly clusterRange: Ipv4Range;
  /** Addresses at which this process answers itself. */
  readonly own: readonly string[];
}

const keptMs = 5_000;

export class HostResolvers {
  readonly #options: HostResolversOptions;
  #known: readonly string[] = [];
  #readMs = Number.NEGATIVE_INFINITY;
  #toldProblem: string | undefined;

  constructor(options: HostResolversOptions) {
    this.#options = options;
  }

  async list(): Promise<readonly string[]> {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs - this.#readMs < keptMs) return this.#known;
    this.#readMs = nowMs;
    const { path, clusterRange, own } = this.#options;
    try {
      this.#known = upstreamsOf(await readFile(path, 'utf8'), clusterRange, own);
      this.#tell(this.#known.length === 0 ? 'it names no server that is not this one' : undefined);
    } catch (error) {
      this.#tell(errorText(error));
    }
    return this.#known;
  }

  #tell(problem: string | undefined): void {
    if (problem === this.#toldProblem) return;
    this.#toldProblem = problem;
    if (problem === undefined) return;
    const message = `only names of the cluster are known: ${this.#options.path} cannot be used`;
    this.#options.timeline.record({
      kind: 'problem',
      level: 'warn',
      what: 'services.dns',
      message,
      because: problem,
    });
  }
}

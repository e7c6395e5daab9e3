/** CPU usage rates from two readings of CPU time, for runtimes that report no rate. */
import type { Clock } from '../../async/index.js';

interface CpuRateSample {
  readonly timestampNs: bigint;
  readonly usageCoreNanoSeconds: bigint;
  readonly rateNanoCores: number | undefined;
  readonly seenMs: number;
}

const forgottenAfterMs = 600_000;

export class CpuRates {
  readonly #clock: Clock;
  readonly #readings = new Map<string, CpuRateSample>();
  #firstReadings = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many readings had none before them, so far. */
  get firstReadings(): number {
    return this.#firstReadings;
  }

  /** Undefined until there are two readings with time between them. */
  rate(id: string, timestampNs: bigint, usageCoreNanoSeconds: bigint): number | undefined {
    const before = this.#readings.get(id);
    const seenMs = this.#clock.monotonic();
    const elapsedNs = before === undefined ? 0n : timestampNs - before.timestampNs;
    const rateNanoCores =
      before === undefined
        ? undefined
        : elapsedNs <= 0n
          ? before.rateNanoCores
          : rateOf(usageCoreNanoSeconds - before.usageCoreNanoSeconds, elapsedNs);
    if (before === undefined) this.#firstReadings++;
    if (before === undefined || elapsedNs > 0n) {
      this.#readings.set(id, { timestampNs, usageCoreNanoSeconds, rateNanoCores, seenMs });
    }
    return rateNanoCores;
  }

  /** Call now and then to drop readings of containers that are gone. */
  forgetOld(): void {
    const nowMs = this.#clock.monotonic();
    for (const [id, { seenMs }] of this.#readings) {
      if (nowMs - seenMs > forgottenAfterMs) this.#readings.delete(id);
    }
  }
}

function rateOf(usedNs: bigint, elapsedNs: bigint): number | undefined {
  return usedNs < 0n ? undefined : Number((usedNs * 1_000_000_000n) / elapsedNs);
}

/** Timestamps that never repeat while the clock goes on, so that everything a runtime reports has a strict order. */

/** A clock that is further behind was set back: times in the future would last until it is that late again. */
const setBackNs = 1_000_000_000n;

/** Nanoseconds since the epoch, strictly increasing until the millisecond clock is set back. */
export function createStamps(nowMs: () => number): () => bigint {
  let lastNs = 0n;
  return () => {
    const nowNs = BigInt(Math.floor(nowMs() * 1000)) * 1000n;
    const isBehind = nowNs <= lastNs && lastNs - nowNs < setBackNs;
    lastNs = isBehind ? lastNs + 1n : nowNs;
    return lastNs;
  };
}

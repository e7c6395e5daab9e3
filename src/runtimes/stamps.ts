/** Timestamps that never repeat, so that everything a runtime reports has a strict order. */

/** Nanoseconds since the epoch, strictly increasing, from a millisecond clock. */
export function createStamps(nowMs: () => number): () => bigint {
  let lastNs = 0n;
  return () => {
    const nowNs = BigInt(Math.floor(nowMs() * 1000)) * 1000n;
    lastNs = nowNs > lastNs ? nowNs : lastNs + 1n;
    return lastNs;
  };
}

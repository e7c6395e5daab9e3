/** Times that never repeat, so that the order of all that a runtime tells is strict. */

/** Nanoseconds since the epoch, each later than the one before, from a clock in milliseconds. */
export function createStamps(nowMs: () => number): () => bigint {
  let lastNs = 0n;
  return () => {
    const nowNs = BigInt(Math.floor(nowMs() * 1000)) * 1000n;
    lastNs = nowNs > lastNs ? nowNs : lastNs + 1n;
    return lastNs;
  };
}

/** Which traces are kept: those whose parent is, and of the roots a share. */

const perMillion = 1_000_000;

export function isSampled(
  traceId: string,
  parent: { readonly sampled: boolean } | undefined,
  samplingRatePerMillion: number,
): boolean {
  if (parent !== undefined) return parent.sampled;
  if (samplingRatePerMillion >= perMillion) return true;
  if (samplingRatePerMillion <= 0) return false;
  // All programs that keep this share keep the same traces: they compare the upper 63 bits of its second half.
  const number = BigInt(`0x${traceId.slice(16)}`) >> 1n;
  return number < BigInt(Math.floor((samplingRatePerMillion / perMillion) * 2 ** 63));
}

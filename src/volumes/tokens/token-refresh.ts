/** Decides when a service account token must be refreshed. */

export interface IssuedToken {
  readonly token: string;
  readonly expiresAtMs: number;
  /** The granted lifetime; a token without one is never refreshed. */
  readonly lifetimeSeconds: number | undefined;
}

/** No token is used for longer, however long it is valid. */
const longestUseMs = 24 * 3600 * 1000;
/** A token is replaced when this fraction of its lifetime is left. */
const remainingPart = 0.2;
/** Spreads the requests of pods that started together. */
export const largestJitterMs = 10_000;

export function isExpired({ expiresAtMs }: IssuedToken, nowMs: number): boolean {
  return nowMs > expiresAtMs;
}

export function needsRefresh(issued: IssuedToken, nowMs: number, jitterMs: number): boolean {
  const { expiresAtMs, lifetimeSeconds } = issued;
  if (lifetimeSeconds === undefined) return false;
  const lifetimeMs = lifetimeSeconds * 1000;
  const issuedAtMs = expiresAtMs - lifetimeMs;
  return (
    nowMs > issuedAtMs + longestUseMs - jitterMs ||
    nowMs > expiresAtMs - lifetimeMs * remainingPart - jitterMs
  );
}

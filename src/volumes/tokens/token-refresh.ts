/** When a service account token is too old to be handed out without asking for a new one. */

export interface IssuedToken {
  readonly token: string;
  readonly expiresAtMs: number;
  /** The lifetime that was granted; a token without one is never refreshed. */
  readonly lifetimeSeconds: number | undefined;
}

/** No token is used for longer, however long it would be valid. */
const longestUseMs = 24 * 3600 * 1000;
/** A token is replaced when this part of its lifetime is left. */
const remainingPart = 0.2;
/** The requests of many pods that started together are spread over this time. */
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

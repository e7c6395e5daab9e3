/** Every limit for API servers and credential programs as the agent's peers. */

const MiB = 1024 * 1024;
const secondMs = 1000;

export const apiClientLimits = {
  /** A response's body. Responses are requested and accepted uncompressed, and redirects are not followed. */
  responseBytes: 256 * MiB,
  /** The body of an error response. */
  errorBytes: MiB,
  /** One event of a watch. */
  watchLineBytes: 16 * MiB,
  /** From the start of a call to the end of its response, unless the caller says otherwise. */
  callMs: 75 * secondMs,
  /** Until connected, including the handshake. */
  connectMs: 30 * secondMs,
  /** The output of a credential program. */
  credentialBytes: MiB,
  /** How long a credential program may run. */
  credentialMs: 60 * secondMs,
} as const;

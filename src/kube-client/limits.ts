/** Every bound that an API server, and a program that gives credentials, meets as the agent's peer. */

const MiB = 1024 * 1024;
const secondMs = 1000;

export const apiClientLimits = {
  /** Of an answer's body. Answers are asked for and taken uncompressed, and redirects are not followed. */
  answerBytes: 256 * MiB,
  /** Of the body of an answer that is an error. */
  errorBytes: MiB,
  /** Of one event of a watch. */
  watchLineBytes: 16 * MiB,
  /** From the beginning of a call to the end of its answer, unless the caller says otherwise. */
  callMs: 75 * secondMs,
  /** Until a connection is there, with its handshake. */
  connectMs: 30 * secondMs,
  /** What a credential program may print. */
  credentialBytes: MiB,
  /** How long a credential program may run. */
  credentialMs: 60 * secondMs,
} as const;

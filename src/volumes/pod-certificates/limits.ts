/** The bounds on what pods and signers make of pod certificates. */

const KiB = 1024;

export const podCertificateLimits = {
  /** Each is a key that this machine makes, and a request to the API server. */
  sourcesOfPod: 32,
  /** The API server takes no longer chain. */
  chainBytes: 100 * KiB,
  /** What a signer says of a denial or failure; it becomes part of events. */
  reasonChars: 256,
  messageChars: 1024,
} as const;

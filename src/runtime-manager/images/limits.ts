/** Every limit on credential provider plugins and on the memory of who pulled an image. */

export const imageCredentialLimits = {
  /** How long a plugin may run. */
  pluginMs: 60_000,
  /** The output of a plugin. */
  pluginOutputBytes: 1024 * 1024,
  /** Responses cached per plugin. */
  pluginResponses: 1000,
  /** Pull secrets remembered per image name. */
  recordedSecrets: 100,
  /** Service accounts remembered per image name. */
  recordedServiceAccounts: 1000,
} as const;

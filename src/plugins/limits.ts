/** The bounds on plugins: how many there may be, what they may say of themselves, and how long they may take. */

export const pluginLimits = {
  /** Sockets in the registration directory and below. */
  sockets: 256,
  /** Directories below the registration directory. */
  directories: 64,
  /** Levels of directories below it. */
  depth: 4,
  /** Names that are looked at in one pass. */
  names: 4096,
  /** Names of types, of plugins and of versions. */
  nameChars: 253,
  versions: 32,
  /** A path that a socket can have. */
  endpointBytes: 107,
  /** The text that a plugin is told when it is refused. */
  errorChars: 4096,
  /** Connecting to a plugin and hearing who it is. */
  infoMs: 10_000,
  /** Telling a plugin what became of its registration. */
  notifyMs: 5_000,
  /** What the part of the node that uses the plugin does at its registration. */
  registerMs: 180_000,
  /** The same when the plugin has gone. */
  deregisterMs: 60_000,
  /** The first pause after a failure; it doubles up to the longest. */
  firstRetryMs: 500,
  longestRetryMs: 122_000,
  /** The shortest time between two looks at the directory, and the longest. */
  quietMs: 100,
  rescanMs: 10_000,
} as const;

/** The bounds on records: what may wait for the disk, and what a reader takes from a file that anybody could have made. */

export const recordLimits = {
  /** Levels of a value. */
  valueDepth: 64,
  /** Text by which a call is told from others. */
  identityChars: 256,
  /** What a block holds before it is compressed, and how long its first entry waits for the others. */
  blockBytes: 262_144,
  blockMs: 1_000,
  /** The same while no entry has news: timers fire, and what is asked is answered as before. */
  quietBlockMs: 10_000,
  /** What a block may hold: one entry can be larger than a block. */
  longestBlockBytes: 67_108_864,
  /** Text that waits for the disk; beyond it the recording ends. */
  waitingBytes: 33_554_432,
  /** The longest entry; a longer one ends the recording. */
  entryBytes: 16_777_216,
  /** Answers that are remembered to be told apart from news, by number and by text. */
  rememberedAnswers: 4_096,
  rememberedAnswerBytes: 16_777_216,
  /** A file of a record is closed at this size, and the next one begun. */
  segmentBytes: 8_388_608,
  /** Files of records in one directory. */
  segments: 4_096,
  /** What the disk may take for one write; then the recording ends. */
  writeMs: 30_000,
  /** Files of volumes of which a recording knows what the kubelet has written, and texts that are no secrets. */
  rememberedFiles: 8_192,
  /** Differences that a replay keeps; it counts the others. */
  differences: 100,
  /** How long a replay waits for work of the kubelet that no port knows, such as the loading of code. */
  straggleMs: 2_000,
} as const;

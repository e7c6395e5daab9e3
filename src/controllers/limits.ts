/** Every bound of the controllers: clients decide how many objects there are and how often they change. */

export const controllerLimits = {
  /** Keys of one controller that wait or are worked on. */
  keys: 20_000,
  /** Keys of one controller that are worked on at a time. */
  concurrentKeys: 8,
  /** The first pause after a failure of a key; it doubles with each further failure. */
  firstRetryMs: 20,
  /** The longest pause after a failure of a key. */
  longestRetryMs: 60_000,
  /** Pods that one step of one controller creates or deletes. */
  podsPerStep: 500,
  /** How long a controller waits to see in its copy what it has written. */
  expectationMs: 300_000,
  /** Deleted objects of a kind that a copy remembers. */
  rememberedDeletions: 5_000,
  /** Events that wait to be written. */
  waitingEvents: 1_000,
  /** Written events that are remembered, to count repetitions. */
  rememberedEvents: 4_096,
  /** Characters of an event's message. */
  eventMessageChars: 1_024,
  /** Names that the message of a condition lists. */
  namesInMessage: 20,
} as const;

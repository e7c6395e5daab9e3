/** The bounds on the clients of the pods API. */
export const podsApiLimits = {
  /** Events that wait for a watcher; one that is further behind is cut off. */
  watcherEvents: 100,
  /** Watchers of all clients. */
  watchers: 100,
} as const;

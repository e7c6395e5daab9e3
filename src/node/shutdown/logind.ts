/** What a graceful shutdown needs of systemd-logind, as a port. */

/** Makes a connection of the caller's own. */
export interface Logind {
  /** `prepare` hears PrepareForShutdown: true when a shutdown begins, false when it was cancelled. */
  connect(prepare: (isBegun: boolean) => void, signal: AbortSignal): Promise<LogindConnection>;
}

export interface LogindConnection {
  /** The longest time for which logind lets others delay a shutdown. */
  inhibitDelayMaxMs(signal: AbortSignal): Promise<number>;
  /** Lets logind read its configuration again. */
  reloadConfiguration(signal: AbortSignal): Promise<void>;
  /** Takes a lock that delays a shutdown as long as it is held. */
  inhibit(signal: AbortSignal): Promise<InhibitLock>;
  /** Resolves when nothing more will be heard, with the reason. */
  readonly lost: Promise<string>;
  close(): void;
}

export interface InhibitLock {
  /** Resolves when the lock is gone although nobody released it, with the reason. */
  readonly lost: Promise<string>;
  /** Resolves when the lock is given back. */
  release(): Promise<void>;
}

/** Collects requests to stop a run: the first one stops it in order, the second one kills it. */
import type { Clock } from '../../async/index.js';

export interface StopRequests {
  /** Resolves with the reason of the first request. */
  readonly stop: Promise<string>;
  /** Resolves with the reason of the request to kill. */
  readonly kill: Promise<string>;
  /** Requests the stop from within the process, as `nodelet stop` does. */
  request(why: string, kill: boolean): void;
  release(): void;
}

/** One key press or closed terminal may cause several signals. Signals within this time count as one. */
const sameRequestMs = 100;

export function catchStopRequests(clock: Clock): StopRequests {
  let requestStop: (why: string) => void = () => {};
  let requestKill: (why: string) => void = () => {};
  const stop = new Promise<string>((resolve) => {
    requestStop = resolve;
  });
  const kill = new Promise<string>((resolve) => {
    requestKill = resolve;
  });
  let signals = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  const onSignal = (signal: NodeJS.Signals): void => {
    const nowMs = clock.monotonic();
    if (nowMs - lastMs < sameRequestMs) return;
    lastMs = nowMs;
    signals++;
    // The third signal exits at once, even if something is left behind.
    if (signals > 2) process.exit(1);
    if (signals > 1) requestKill(signal);
    requestStop(signal);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('SIGHUP', onSignal);
  return {
    stop,
    kill,
    request(why, isKill) {
      requestStop(why);
      if (isKill) requestKill(why);
    },
    release: () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal).off('SIGHUP', onSignal),
  };
}

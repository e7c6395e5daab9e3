/** How a run is asked to end: a first time politely, a second time at once. */
import type { Clock } from '../../async/index.js';

export interface EndRequests {
  /** Resolves with what asked first. */
  readonly stop: Promise<string>;
  /** Resolves when patience is over. */
  readonly kill: Promise<string>;
  /** Asks from within, as `nodelet stop` does. */
  ask(why: string, atOnce: boolean): void;
  release(): void;
}

/** A key press or a closed terminal may arrive by several ways; what comes together is one request. */
const onePressMs = 100;

export function catchEndRequests(clock: Clock): EndRequests {
  let askStop: (why: string) => void = () => {};
  let askKill: (why: string) => void = () => {};
  const stop = new Promise<string>((resolve) => {
    askStop = resolve;
  });
  const kill = new Promise<string>((resolve) => {
    askKill = resolve;
  });
  let signals = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  const onSignal = (signal: NodeJS.Signals): void => {
    const nowMs = clock.monotonic();
    if (nowMs - lastMs < onePressMs) return;
    lastMs = nowMs;
    signals++;
    // Whoever asks a third time wants to be rid of this process, whatever it leaves.
    if (signals > 2) process.exit(1);
    if (signals > 1) askKill(signal);
    askStop(signal);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('SIGHUP', onSignal);
  return {
    stop,
    kill,
    ask(why, atOnce) {
      askStop(why);
      if (atOnce) askKill(why);
    },
    release: () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal).off('SIGHUP', onSignal),
  };
}

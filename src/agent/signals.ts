/** Signals that ask the agent to end. */
import type { Timeline } from '../timeline/index.js';

export interface Signals {
  /** Resolves with the first signal that asks the agent to end. */
  readonly received: Promise<'signal'>;
  /** Leaves signals to Node again. */
  release(): void;
}

/** The first signal asks for an orderly end, a second one ends at once. */
export function catchSignals(timeline: Timeline): Signals {
  let seen = 0;
  let receive: (outcome: 'signal') => void = () => {};
  const received = new Promise<'signal'>((resolve) => {
    receive = resolve;
  });
  const onSignal = (signal: NodeJS.Signals): void => {
    if (++seen > 1) process.exit(1);
    timeline.record({
      kind: 'notice',
      what: 'agent.stop',
      message: `received ${signal}, stopping; containers keep running`,
    });
    receive('signal');
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return { received, release: () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal) };
}

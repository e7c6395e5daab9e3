/** The request to stop: the timeline tells of it once, and the agent waits for it. */
import type { Timeline } from '../timeline/index.js';

export interface StopRequest {
  readonly received: Promise<'stop'>;
  /** Takes the listener off the signal. */
  release(): void;
}

export interface StopRequestOptions {
  readonly timeline: Timeline;
  /** Called before the stop is recorded. */
  readonly onStop: () => void;
}

/** Records the stop at the moment of the abort; a reason that is a string is told with it. */
export function followStopRequest(
  signal: AbortSignal,
  { timeline, onStop }: StopRequestOptions,
): StopRequest {
  let receive: (outcome: 'stop') => void = () => {};
  const received = new Promise<'stop'>((resolve) => {
    receive = resolve;
  });
  const onAbort = (): void => {
    const reason = typeof signal.reason === 'string' ? signal.reason : 'asked to stop';
    onStop();
    timeline.record({
      kind: 'notice',
      what: 'agent.stop',
      message: `${reason}, stopping; containers keep running`,
      data: { reason },
    });
    receive('stop');
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  return { received, release: () => signal.removeEventListener('abort', onAbort) };
}

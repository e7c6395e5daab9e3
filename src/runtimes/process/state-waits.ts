/** Waiting for a container to change its state. */
import type { Clock } from '../../async/index.js';
import type { ProcessContainer } from './records.js';

export interface StateWait {
  /** Checked again at every change of the container's state. */
  readonly condition: () => boolean;
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** Resolves with true when the condition holds, with false at the limit; rejects when the signal aborts. */
export async function stateReached(
  clock: Clock,
  container: ProcessContainer,
  { condition, limitMs, signal }: StateWait,
): Promise<boolean> {
  if (condition()) return true;
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      container.changeWaiters.delete(onChange);
      settle();
    };
    const onChange = (): void => {
      if (condition()) finish(() => resolve(true));
    };
    const onAbort = (): void => finish(() => reject(signal.reason));
    const timer = clock.setTimer(limitMs, () => finish(() => resolve(false)));
    container.changeWaiters.add(onChange);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}

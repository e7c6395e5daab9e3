/** Runs the tasks that a kubelet cannot do without, until one of them fails. */
import { asError, type TaskGroup } from '../../async/index.js';

export type StartTask = (name: string, task: (signal: AbortSignal) => Promise<void>) => void;

/** Resolves with the error of the first vital task that fails; a task that fails because it is stopped does not count. */
export function untilVitalFailure(tasks: TaskGroup, startAll: (vital: StartTask) => void): Promise<Error> {
  return new Promise((fail) => {
    startAll((name, task) =>
      tasks.start(name, (signal) =>
        task(signal).catch((error: unknown) => {
          if (!signal.aborted) fail(asError(error));
          throw error;
        }),
      ),
    );
  });
}

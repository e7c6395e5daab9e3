/** Asks a supervisor to reopen the log by its path, and waits until it has. */
import { type Clock, sleep } from '../../async/index.js';
import { CriError } from '../../cri/index.js';
import { isFileError, readGeneration, replaceFile } from './container-files.js';
import { isAlive } from './identity.js';
import type { ProcessContainer } from './records.js';

const pollMs = 10;
const limitMs = 10_000;

/**
 * The request is a number in a file and SIGHUP; the response is the same number in another file. Only then is
 * the old file complete, and can be compressed and removed.
 */
export async function reopenLog(
  clock: Clock,
  container: ProcessContainer,
  signal: AbortSignal,
): Promise<void> {
  const { files } = container;
  const generation = (await readGeneration(files.reopenRequest)) + 1;
  await replaceFile(files.reopenRequest, `${generation}\n`);
  await hangUp(container);
  for (let waitedMs = 0; (await readGeneration(files.reopenAnswer)) < generation; waitedMs += pollMs) {
    if (container.state.kind !== 'running') throw new CriError('Unknown', 'container is not running');
    if (waitedMs >= limitMs) {
      throw new CriError(
        'DeadlineExceeded',
        `the supervisor of container "${container.id}" does not reopen its log`,
      );
    }
    await sleep(clock, pollMs, signal);
  }
}

async function hangUp({ state }: ProcessContainer): Promise<void> {
  if (state.kind !== 'running' || !(await isAlive(state.supervisor))) return;
  try {
    process.kill(state.supervisor.pid, 'SIGHUP');
  } catch (error) {
    if (!isFileError(error, 'ESRCH')) throw error;
  }
}

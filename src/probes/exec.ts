/** Runs the command of an exec probe in its container. */
import { asError } from '../async/index.js';
import { type CriRuntime, commandOutcome, isDeadlineExceeded } from '../cri/index.js';
import type { ProbeOutcome } from './contracts.js';

const maxOutputBytes = 10 * 1024;
/**
 * The runtime kills a command at its timeout and reports it. If no report arrives within this margin after
 * the timeout, the prober stops waiting.
 */
const answerMarginMs = 1_000;

export interface ExecProbe {
  readonly containerId: string;
  readonly command: readonly string[];
  readonly timeoutSeconds: number;
}

export async function execProbe(
  cri: Pick<CriRuntime, 'execSync'>,
  { containerId, command, timeoutSeconds }: ExecProbe,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  try {
    const response = await cri.execSync(
      { containerId, cmd: [...command], timeout: timeoutSeconds },
      { timeoutMs: timeoutSeconds * 1000 + answerMarginMs, signal },
    );
    const { output, error } = commandOutcome(command, response);
    const text = output.subarray(0, maxOutputBytes).toString('utf8');
    return { state: error === undefined ? 'success' : 'failure', output: text };
  } catch (thrown) {
    const error = asError(thrown);
    return isDeadlineExceeded(error)
      ? { state: 'failure', output: error.message }
      : { state: 'unknown', error };
  }
}

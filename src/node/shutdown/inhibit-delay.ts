/** Makes logind wait as long as the pods of this node need. */
import { type Clock, errorText, sleep } from '../../async/index.js';
import { formatDuration } from '../../kube/index.js';
import type { LogindConnection } from './logind.js';

/** Where systemd reads what overrides the machine's own logind.conf. The file stays: the next boot needs it, too. */
export const logindOverridePath = '/etc/systemd/logind.conf.d/99-kubelet.conf';

export function logindOverrideText(delayMs: number): string {
  return `# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=${Math.round(delayMs / 1000)}\n`;
}

export interface InhibitDelayContext {
  readonly clock: Clock;
  readonly logind: Pick<LogindConnection, 'inhibitDelayMaxMs' | 'reloadConfiguration'>;
  /** Writes a file of the machine's configuration, with the directories to it. */
  readonly writeFile: (path: string, text: string) => Promise<void>;
}

const attempts = 5;
const firstPauseMs = 100;

/** Throws where logind would not wait long enough. */
export async function ensureInhibitDelay(
  { clock, logind, writeFile }: InhibitDelayContext,
  delayMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (delayMs <= (await logind.inhibitDelayMaxMs(signal))) return;
  try {
    await writeFile(logindOverridePath, logindOverrideText(delayMs));
  } catch (error) {
    throw new Error(`unable to override inhibit delay by shutdown manager: ${errorText(error)}`, {
      cause: error,
    });
  }
  await logind.reloadConfiguration(signal);
  // logind reads its configuration some time after the signal.
  let currentMs = 0;
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (attempt > 0) await sleep(clock, firstPauseMs * 2 ** (attempt - 1), signal);
    currentMs = await logind.inhibitDelayMaxMs(signal);
    if (delayMs <= currentMs) return;
  }
  throw new Error(
    `node shutdown manager was timed out after ${attempts} attempts waiting for logind InhibitDelayMaxSec to update to ${formatDuration(delayMs)} (ShutdownGracePeriod), current value is ${formatDuration(currentMs)}`,
  );
}

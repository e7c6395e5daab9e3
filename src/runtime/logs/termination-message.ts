/** A container's last words: from the file that it may write, or from its log. */
import { open } from 'node:fs/promises';
import { errorText, systemClock } from '../../async/index.js';
import type { ObservedContainerStatus } from '../../cri/index.js';
import { describeFileError, isMissing } from './file-error.js';
import { logOptions } from './options.js';
import { readLogs } from './read.js';
import { readLastBytes } from './tail.js';

const fileLimitBytes = 4096;
const logLimitBytes = 2048;
const logLimitLines = 80;

/** Empty when there are none; problems of reading them become the words. */
export async function terminationMessage(status: ObservedContainerStatus): Promise<string> {
  if (status.state !== 'exited') return '';
  const { terminationMessagePath: path, terminationMessagePolicy: policy } = status;
  const hostPath =
    path === '' ? undefined : status.mounts.find((mount) => mount.containerPath === path)?.hostPath;
  if (hostPath !== undefined && hostPath !== '') {
    try {
      const text = await readEnd(hostPath);
      if (text !== '') return text;
    } catch (error) {
      if (!isMissing(error)) {
        return `Error on reading termination log ${hostPath}: ${describeFileError(error, 'open', hostPath)}`;
      }
    }
  }
  const fallsBack =
    policy === 'FallbackToLogsOnError' && status.exitCode !== 0 && status.reason !== 'ContainerCannotRun';
  return fallsBack ? await endOfLog(status.logPath) : '';
}

async function readEnd(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    return (await readLastBytes(file, fileLimitBytes)).toString('utf8');
  } finally {
    await file.close();
  }
}

async function endOfLog(path: string): Promise<string> {
  let end = Buffer.alloc(0);
  const sink = {
    async write(bytes: Buffer): Promise<void> {
      const all = Buffer.concat([end, bytes]);
      end = Buffer.from(all.subarray(Math.max(0, all.length - logLimitBytes)));
    },
  };
  try {
    await readLogs({
      path,
      options: logOptions({ tailLines: logLimitLines }, 0),
      sinks: { stdout: sink, stderr: sink },
      // Nothing waits, since the log is not followed.
      clock: systemClock,
      isRunning: async () => false,
    });
    return end.toString('utf8');
  } catch (error) {
    const text = errorText(error);
    return `Error on reading termination message from logs: ${text}`;
  }
}

/** A container's termination message: from the file that it may write, or from its log. */
import { join } from 'node:path';
import { errorText, systemClock } from '../../async/index.js';
import { criLabels, type ObservedContainerStatus } from '../../cri/index.js';
import { linuxHost, openRegular, readLastBytes } from '../../host/index.js';
import { describeFileError, isMissing } from './file-error.js';
import type { LogHost } from './open-log.js';
import { logOptions } from './options.js';
import { readLogs } from './read.js';

const fileLimitBytes = 4096;
const logLimitBytes = 2048;
const logLimitLines = 80;

export interface TerminationMessageOptions {
  /** The agent's root directory. */
  readonly rootDir: string;
  /** Defaults to this machine, as container files are real ones. */
  readonly host?: LogHost;
}

/** Empty when there is none; a read error becomes the message. */
export async function terminationMessage(
  { rootDir, host = linuxHost() }: TerminationMessageOptions,
  status: ObservedContainerStatus,
): Promise<string> {
  if (status.state !== 'exited') return '';
  const { terminationMessagePolicy: policy } = status;
  const hostPath = await findTerminationLog(host, rootDir, status);
  if (hostPath !== undefined) {
    try {
      const text = await readEnd(host, hostPath);
      if (text !== '') return text;
    } catch (error) {
      if (!isMissing(error)) {
        return `Error on reading termination log ${hostPath}: ${describeFileError(error, 'open', hostPath)}`;
      }
    }
  }
  const fallsBack =
    policy === 'FallbackToLogsOnError' && status.exitCode !== 0 && status.reason !== 'ContainerCannotRun';
  return fallsBack ? await endOfLog(host, status.logPath) : '';
}

/**
 * The termination log that an agent made for this container: one in the container's own directory,
 * `<root>/pods/<uid>/containers/<name>`. Another mount at the same path is a volume of the pod, which may
 * hold anything: a pipe, or a link of the pod's choice.
 */
export function terminationLogPath(
  { terminationMessagePath: path, mounts, labels }: ObservedContainerStatus,
  rootDirs: readonly string[],
): string | undefined {
  const uid = labels[criLabels.podUid] ?? '';
  const name = labels[criLabels.containerName] ?? '';
  if (path === '' || !isName(uid) || !isName(name)) return undefined;
  const dirs = rootDirs.map((root) => `${join(root, 'pods', uid, 'containers', name)}/`);
  return mounts.findLast(
    ({ containerPath, hostPath }) =>
      containerPath === path &&
      dirs.some((dir) => hostPath.startsWith(dir) && isName(hostPath.slice(dir.length))),
  )?.hostPath;
}

function isName(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && !text.includes('/');
}

/** Some runtimes report mounts by their real paths; resolve ours only if the plain path does not match. */
async function findTerminationLog(
  host: LogHost,
  rootDir: string,
  status: ObservedContainerStatus,
): Promise<string | undefined> {
  const known = terminationLogPath(status, [rootDir]);
  const { terminationMessagePath: path, mounts } = status;
  if (known !== undefined || path === '' || !mounts.some(({ containerPath }) => containerPath === path))
    return known;
  return terminationLogPath(status, [await realRoot(host, rootDir)]);
}

async function realRoot({ files }: LogHost, rootDir: string): Promise<string> {
  try {
    return await files.realpath(rootDir);
  } catch (error) {
    if (isMissing(error)) return rootDir;
    throw error;
  }
}

async function readEnd(host: LogHost, path: string): Promise<string> {
  const file = await openRegular(host, path);
  try {
    return (await readLastBytes(file, fileLimitBytes)).toString('utf8');
  } finally {
    await file.close();
  }
}

async function endOfLog(host: LogHost, path: string): Promise<string> {
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
      host,
      options: logOptions({ tailLines: logLimitLines }, 0),
      sinks: { stdout: sink, stderr: sink },
      // Nothing waits on this clock, since the log is not followed.
      clock: systemClock,
      isRunning: async () => false,
    });
    return end.toString('utf8');
  } catch (error) {
    const text = errorText(error);
    return `Error on reading termination message from logs: ${text}`;
  }
}

/** Removes logs of pods that are gone, and links to logs that no longer exist. */
import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { ContainerState, CriError, type CriRuntime } from '../../cri/index.js';
import type { Timeline } from '../../timeline/index.js';
import { isMissing } from '../logs/file-error.js';

export interface PodLogCleaning {
  readonly timeline: Timeline;
  readonly podLogsDir: string;
  readonly isPodGone: (uid: string) => boolean;
}

/** The part of a folder's name after the last underscore is the pod's UID. */
export async function cleanPodLogs({ timeline, podLogsDir, isPodGone }: PodLogCleaning): Promise<void> {
  for (const name of await namesIn(podLogsDir)) {
    const uid = name.slice(name.lastIndexOf('_') + 1);
    if (!name.includes('_') || !isPodGone(uid)) continue;
    await remove(timeline, path.join(podLogsDir, name), 'the logs of a pod that is gone');
  }
}

export interface LogLinkCleaning {
  readonly timeline: Timeline;
  readonly containerLogsDir: string;
  readonly cri: Pick<CriRuntime, 'containerStatus'>;
}

/** A link stays while the container that it belongs to may still write. */
export async function cleanLogLinks({ timeline, containerLogsDir, cri }: LogLinkCleaning): Promise<void> {
  for (const name of await namesIn(containerLogsDir)) {
    const link = path.join(containerLogsDir, name);
    if (!name.endsWith('.log') || !(await isDangling(link))) continue;
    const id = name.slice(name.lastIndexOf('-') + 1, -'.log'.length);
    if (id.length >= 6 && (await mayStillWrite(cri, id))) continue;
    await remove(timeline, link, 'a link to a log that is gone');
  }
}

/** A container that the runtime cannot tell of does not write; a call that was cut off tells nothing. */
async function mayStillWrite(cri: LogLinkCleaning['cri'], id: string): Promise<boolean> {
  try {
    const { status } = await cri.containerStatus({ containerId: id });
    return status !== undefined && status.state !== ContainerState.CONTAINER_EXITED;
  } catch (error) {
    if (error instanceof CriError && error.codeName === 'Canceled') throw error;
    return false;
  }
}

async function remove(timeline: Timeline, file: string, what: string): Promise<void> {
  try {
    await rm(file, { recursive: true, force: true });
  } catch (error) {
    timeline.record({
      kind: 'problem',
      what: 'logs.remove',
      message: `could not remove ${what}: ${file}`,
      level: 'warn',
      error,
    });
  }
}

/** Only what surely leads nowhere counts, not what cannot be looked at. */
async function isDangling(link: string): Promise<boolean> {
  return await stat(link).then(() => false, isMissing);
}

/** What is in a folder; nothing when there is none. */
export async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
}

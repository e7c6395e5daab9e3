/** Removes the logs of deleted pods, and links to logs that no longer exist. */
import path from 'node:path';
import { ContainerState, CriError, type CriRuntime } from '../../cri/index.js';
import { entriesIn, type Host, isMissing, linuxHost, removeTree } from '../../host/index.js';
import type { Timeline } from '../../timeline/index.js';

/**
 * The host through which logs are removed; defaults to this machine, as runtimes write logs to real files.
 */
export type CleanedFiles = Pick<Host, 'files' | 'hold' | 'mounts' | 'apart'>;

export interface PodLogCleaning {
  readonly host?: CleanedFiles;
  readonly timeline: Timeline;
  readonly podLogsDir: string;
  readonly isPodGone: (uid: string) => boolean;
}

/** The pod's UID is the part of a directory's name after the last underscore. */
export async function* goneLogDirectories({
  host = linuxHost(),
  podLogsDir,
  isPodGone,
}: Omit<PodLogCleaning, 'timeline'>): AsyncGenerator<string> {
  for await (const entries of entriesAt(host, podLogsDir)) {
    for (const { name } of entries) {
      const uid = name.slice(name.lastIndexOf('_') + 1);
      if (name.includes('_') && isPodGone(uid)) yield path.join(podLogsDir, name);
    }
  }
}

export async function cleanPodLogs(cleaning: PodLogCleaning): Promise<void> {
  const { host = linuxHost(), timeline } = cleaning;
  for await (const dir of goneLogDirectories(cleaning)) {
    await remove(timeline, 'the logs of a pod that is gone', dir, () => removeTree(host, dir));
  }
}

export interface LogLinkCleaning {
  readonly host?: CleanedFiles;
  readonly timeline: Timeline;
  readonly containerLogsDir: string;
  readonly cri: Pick<CriRuntime, 'containerStatus'>;
}

/** A link stays while its container may still write. */
export async function cleanLogLinks({
  host = linuxHost(),
  timeline,
  containerLogsDir,
  cri,
}: LogLinkCleaning): Promise<void> {
  for await (const entries of entriesAt(host, containerLogsDir)) {
    for (const { name, kind } of entries) {
      const link = path.join(containerLogsDir, name);
      if (!name.endsWith('.log') || kind !== 'symlink' || !(await isDangling(host, link))) continue;
      const id = name.slice(name.lastIndexOf('-') + 1, -'.log'.length);
      if (id.length >= 6 && (await mayStillWrite(cri, id))) continue;
      await remove(timeline, 'a link to a log that is gone', link, () => host.files.unlink(link));
    }
  }
}

/** The directory is the node's own, and may be a link to where the node keeps logs. */
async function* entriesAt(host: CleanedFiles, dir: string): ReturnType<typeof entriesIn> {
  let real: string;
  try {
    real = await host.files.realpath(dir);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  yield* entriesIn(host, real);
}

/** A container that the runtime does not know does not write; a cancelled call says nothing. */
async function mayStillWrite(cri: LogLinkCleaning['cri'], id: string): Promise<boolean> {
  try {
    const { status } = await cri.containerStatus({ containerId: id });
    return status !== undefined && status.state !== ContainerState.CONTAINER_EXITED;
  } catch (error) {
    if (error instanceof CriError && error.codeName === 'Canceled') throw error;
    return false;
  }
}

async function remove(
  timeline: Timeline,
  what: string,
  file: string,
  call: () => Promise<void>,
): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (isMissing(error)) return;
    timeline.record({
      kind: 'problem',
      what: 'logs.remove',
      message: `could not remove ${what}: ${file}`,
      level: 'warn',
      error,
    });
  }
}

/** Only a link that surely leads nowhere counts, not one that cannot be checked. */
async function isDangling({ apart }: CleanedFiles, link: string): Promise<boolean> {
  // The link's target is untrusted: it may lead anywhere.
  return await apart('links to logs')
    .files.stat(link)
    .then(() => false, isMissing);
}

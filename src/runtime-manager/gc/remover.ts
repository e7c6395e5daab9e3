/** Removes a dead container and its files. */
import path from 'node:path';
import { type CriRuntime, criLabels, isNotFound } from '../../cri/index.js';
import { entriesOf, isMissing, linuxHost } from '../../host/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { ContainerRemover } from '../contracts.js';
import { removeIfThere } from '../logs/compress.js';
import { holdLogDirectory, type LogHost } from '../logs/open-log.js';
import { logSymlinkPath } from '../start/log-symlink.js';

export interface RemoverOptions {
  readonly cri: Pick<CriRuntime, 'containerStatus' | 'removeContainer'>;
  readonly timeline: Timeline;
  /** The directory of links to container logs, if there is one. */
  readonly containerLogsDir: string | undefined;
  /** Defaults to this machine, as runtimes write logs to real files. */
  readonly host?: LogHost;
  /** Called before each container is removed. */
  readonly onRemove?: (containerId: string) => void;
  /** Releases what the node pinned for the container; must be idempotent. */
  readonly postStop?: (containerId: string) => Promise<void>;
}

/** A log that cannot be deleted fails the removal: without the container nobody would find the log again. */
export function containerRemover({
  cri,
  timeline,
  containerLogsDir,
  host = linuxHost(),
  onRemove,
  postStop,
}: RemoverOptions): ContainerRemover {
  return {
    async remove({ id, name }, { keepLogs, because }) {
      await postStop?.(id);
      const found = await cri.containerStatus({ containerId: id }).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      const status = found?.status;
      if (status === undefined) return;
      if (!keepLogs) {
        if (status.logPath !== '') await removeLogs(host, status.logPath);
        const { [criLabels.podName]: pod = '', [criLabels.podNamespace]: namespace = '' } = status.labels;
        if (containerLogsDir !== undefined) {
          await removeIfThere(
            host.files,
            logSymlinkPath(containerLogsDir, { name: pod, namespace }, name, id),
          );
        }
      }
      onRemove?.(id);
      await cri.removeContainer({ containerId: id });
      timeline.record({
        kind: 'effect',
        what: 'container.remove',
        message: `Removed container ${name}`,
        because,
        level: 'debug',
        pod: {
          uid: status.labels[criLabels.podUid] ?? '',
          name: status.labels[criLabels.podName] ?? '',
          namespace: status.labels[criLabels.podNamespace] ?? '',
        },
        container: name,
        data: { containerId: id },
      });
    },
  };
}

/** The log and its rotated files. */
async function removeLogs(host: LogHost, logPath: string): Promise<void> {
  const base = path.basename(logPath);
  const dir = await holdLogDirectory(host, logPath).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (dir === undefined) return;
  try {
    for await (const entries of entriesOf(dir)) {
      for (const { name } of entries)
        if (name.startsWith(base)) await removeIfThere(host.files, `${dir.procPath}/${name}`);
    }
  } finally {
    await dir.close();
  }
}

/** Removes a dead container and what it left on disk. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { type CriRuntime, criLabels, isNotFound } from '../../cri/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { ContainerRemover } from '../contracts.js';
import { logSymlinkPath } from '../log-symlink.js';
import { namesIn } from './log-cleaning.js';

export interface RemoverOptions {
  readonly cri: Pick<CriRuntime, 'containerStatus' | 'removeContainer'>;
  readonly timeline: Timeline;
  /** The folder of links to container logs, if there is one. */
  readonly containerLogsDir: string | undefined;
  /** Told of each container before it is removed. */
  readonly onRemove?: (containerId: string) => void;
  /** Frees what the node pinned for the container; may be called for one that was freed before. */
  readonly postStop?: (containerId: string) => Promise<void>;
}

/** A log that cannot be deleted fails the removal: once the container is gone nobody would find the log again. */
export function containerRemover({
  cri,
  timeline,
  containerLogsDir,
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
        if (status.logPath !== '') await removeLogs(status.logPath);
        const { [criLabels.podName]: pod = '', [criLabels.podNamespace]: namespace = '' } = status.labels;
        if (containerLogsDir !== undefined) {
          await rm(
            logSymlinkPath(
              containerLogsDir,
              { metadata: { name: pod, namespace }, spec: { containers: [] } },
              name,
              id,
            ),
            {
              force: true,
            },
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
async function removeLogs(logPath: string): Promise<void> {
  const folder = path.dirname(logPath);
  const base = path.basename(logPath);
  for (const name of await namesIn(folder))
    if (name.startsWith(base)) await rm(path.join(folder, name), { force: true });
}

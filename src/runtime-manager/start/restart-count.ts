/** Counts the earlier starts of a container, from its newest instance or from its logs. */
import { newestContainer, type ObservedPodStatus } from '../../cri/index.js';
import { entriesIn, type Host } from '../../host/index.js';
import type { Pod } from '../../kube/index.js';
import { containerLogDirectory } from '../config/paths.js';

/** A larger number in a file name was not written by the agent. */
const largestRestartCount = 2_147_483_646;

/** One more than the highest number in names such as `2.log` or `2.log.20260101-000000`. */
export function restartCountFromLogs(fileNames: readonly string[]): number {
  let next = 0;
  for (const fileName of fileNames) {
    const digits = /^(\d+)\.log(\..*)?/.exec(fileName)?.[1];
    const count = Number(digits);
    if (digits !== undefined && count <= largestRestartCount) next = Math.max(next, count + 1);
  }
  return next;
}

/** Logs remain when the runtime has lost its containers. Without logs, the count starts at zero. */
export async function restartCount(
  status: ObservedPodStatus,
  pod: Pod,
  containerName: string,
  logs: { readonly dir: string; readonly host: Pick<Host, 'files' | 'hold'> },
  onProblem: (error: unknown) => void,
): Promise<number> {
  const newest = newestContainer(status, containerName);
  if (newest !== undefined) return newest.restartCount + 1;
  if (logs.dir === '') return 0;
  let next = 0;
  try {
    const dir = containerLogDirectory(logs.dir, pod, containerName);
    for await (const entries of entriesIn(logs.host, dir))
      next = Math.max(next, restartCountFromLogs(entries.map(({ name }) => name)));
    return next;
  } catch (error) {
    onProblem(error);
    return next;
  }
}

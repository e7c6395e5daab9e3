/** The last lines of the logs of containers that have ended, from a live run: what stands beside their exits. */
import type { PodList } from '../kube/types/index.js';
import type { ExitLog } from '../timeline/explain-text.js';
import { type Connection, RequestRefused, requestJson, sendRequest } from './client/connection.js';
import { podPath } from './client/pods.js';
import { lastExits, lastLinesQuery, lastLogLines, shownOfLog } from './print/log-lines.js';

/** Containers of one pod; one without a log is told with the reason. */
export async function exitLogs(connection: Connection, uid: string): Promise<ExitLog[]> {
  const { items } = await requestJson<PodList>(connection, '/pods');
  const pod = items.find(({ metadata }) => metadata.uid === uid);
  if (pod === undefined) return [];
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  // One that ended as it should has nothing to explain.
  const exits = lastExits([...initContainerStatuses, ...containerStatuses]).filter(
    ({ exitCode }) => exitCode !== 0,
  );
  return await Promise.all(
    exits.map(async ({ container, exitCode, previous }): Promise<ExitLog> => {
      const path = `${podPath('containerLogs', pod, container)}?${lastLinesQuery(previous)}`;
      const lines = await readLastLines(connection, path);
      return { container, exitCode, lines };
    }),
  );
}

async function readLastLines(connection: Connection, path: string): Promise<readonly string[]> {
  try {
    const chunks: Buffer[] = [];
    let bytes = 0;
    // A message without an encoding yields buffers.
    for await (const chunk of (await sendRequest(connection, path)) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > shownOfLog.bytes * 2) break;
      chunks.push(chunk);
    }
    return lastLogLines(Buffer.concat(chunks).toString('utf8'));
  } catch (error) {
    // Its log may be gone, with the container or with the run.
    if (error instanceof RequestRefused) return lastLogLines(error.message);
    throw error;
  }
}

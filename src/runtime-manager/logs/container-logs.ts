/** Reads the log of a container known to the runtime. */
import type { Clock } from '../../async/index.js';
import { ContainerState, type CriRuntime, isNotFound, isUnavailable } from '../../cri/index.js';
import { runtimeContainerId } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import { checkedContainerStatus } from '../observe/response-checks.js';
import { damageNotice, pollingNotice } from './notices.js';
import type { PodLogOptions } from './options.js';
import type { LogSinks } from './output.js';
import { readLogs } from './read.js';

export interface ContainerLogsRequest {
  readonly cri: Pick<CriRuntime, 'containerStatus'>;
  readonly clock: Clock;
  /** As in a pod's status: `<runtime>://<id>`. */
  readonly containerId: string;
  readonly options: PodLogOptions;
  readonly sinks: LogSinks;
  /** Receives one notice when logs are followed by polling every second, and one for each damaged file. */
  readonly timeline?: Timeline;
  readonly signal?: AbortSignal | undefined;
}

export async function readContainerLogs(request: ContainerLogsRequest): Promise<void> {
  const { cri, clock, containerId, options, sinks, signal, timeline } = request;
  const id = runtimeContainerId(containerId);
  const answer = await cri.containerStatus({ containerId: id }, { signal }).catch((error: unknown) => {
    throw new Error(`unable to retrieve container logs for ${containerId}`, { cause: error });
  });
  await readLogs({
    path: checkedContainerStatus(answer).logPath,
    options,
    sinks,
    clock,
    signal,
    ...(timeline === undefined
      ? {}
      : { onPolling: pollingNotice(timeline), onDamaged: damageNotice(timeline, id) }),
    isRunning: () => isRunning(cri, id, signal),
  });
}

/** An unreachable runtime has not stopped its containers; a removed container has ended. */
async function isRunning(
  cri: Pick<CriRuntime, 'containerStatus'>,
  containerId: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  try {
    const { state } = checkedContainerStatus(await cri.containerStatus({ containerId }, { signal }));
    return state === ContainerState.CONTAINER_RUNNING;
  } catch (error) {
    if (isUnavailable(error)) return true;
    if (isNotFound(error)) return false;
    throw error;
  }
}

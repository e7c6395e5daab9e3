/** Reads the log of a container that the runtime knows. */
import type { Clock } from '../../async/index.js';
import { ContainerState, type CriRuntime, isUnavailable } from '../../cri/index.js';
import type { LogOptions } from './options.js';
import type { LogSinks } from './output.js';
import { readLogs } from './read.js';
import { splitContainerId } from './select.js';

export interface ContainerLogsRequest {
  readonly cri: Pick<CriRuntime, 'containerStatus'>;
  readonly clock: Clock;
  /** As a pod's status has it: `<runtime>://<id>`. */
  readonly containerId: string;
  readonly options: LogOptions;
  readonly sinks: LogSinks;
  readonly signal?: AbortSignal | undefined;
}

export async function readContainerLogs(request: ContainerLogsRequest): Promise<void> {
  const { cri, clock, containerId, options, sinks, signal } = request;
  const { id } = splitContainerId(containerId);
  const { status } = await cri.containerStatus({ containerId: id }, { signal }).catch((error: unknown) => {
    throw new Error(`unable to retrieve container logs for ${containerId}`, { cause: error });
  });
  if (status === undefined) throw new Error('container status is nil');
  await readLogs({
    path: status.logPath,
    options,
    sinks,
    clock,
    signal,
    isRunning: () => isRunning(cri, id, signal),
  });
}

/** A runtime that cannot be reached for a moment has not ended its containers. */
async function isRunning(
  cri: Pick<CriRuntime, 'containerStatus'>,
  containerId: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  try {
    const { status } = await cri.containerStatus({ containerId }, { signal });
    if (status === undefined) throw new Error('container status is nil');
    return status.state === ContainerState.CONTAINER_RUNNING;
  } catch (error) {
    if (isUnavailable(error)) return true;
    throw error;
  }
}

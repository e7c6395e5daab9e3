/** What a container gets of its devices when it is created: plugins prepare them, and say what goes with them. */
import { type Clock, errorText, untilAborted } from '../../async/index.js';
import type { AnyContainer, Pod } from '../../kube/index.js';
import type { TopologyHint } from '../topology-manager/index.js';
import { type DeviceAdditions, mergeResponses } from './added-devices.js';
import type { DeviceAllocations } from './device-allocations.js';
import { callPlugin, type DevicePlugins } from './device-plugins.js';
import type { DeviceRecords } from './device-records.js';
import { deviceLimits } from './limits.js';

export interface DeviceStartPorts {
  readonly clock: Clock;
  readonly plugins: DevicePlugins;
  readonly records: DeviceRecords;
  readonly allocations: Pick<DeviceAllocations, 'allocate'>;
  readonly isActive: (podUid: string) => boolean;
}

export interface ContainerWithDevices {
  readonly pod: Pod;
  readonly container: AnyContainer;
  /** How many devices of which resources it asks for. */
  readonly wanted: readonly (readonly [resource: string, count: number])[];
}

/** Rejects with the reason why the container cannot be created. */
export async function startAdditions(
  ports: DeviceStartPorts,
  { pod, container, wanted }: ContainerWithDevices,
  signal: AbortSignal,
): Promise<DeviceAdditions> {
  const { records, allocations, isActive } = ports;
  const { uid } = pod.metadata;
  for (const [resource, count] of wanted) {
    await preStart(ports, { podUid: uid, container: container.name, resource }, signal);
    if (!isActive(uid)) continue;
    while (records.get(uid, container.name, resource) === undefined) {
      const outcome = allocations.allocate({ pod, container, resource, count, hint: anywhere }, false);
      if (outcome.kind === 'refused') throw new Error(outcome.message);
      if (outcome.kind === 'allocated') break;
      await untilAborted(outcome.until, signal);
    }
  }
  return mergeResponses(records.ofContainer(uid, container.name).map(([, { response }]) => response));
}

interface HeldResource {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
}

async function preStart(
  { clock, plugins, records }: DeviceStartPorts,
  { podUid, container, resource }: HeldResource,
  signal: AbortSignal,
): Promise<void> {
  if (plugins.state(resource) === undefined) {
    throw new Error(`endpoint not found in cache for a registered resource: ${resource}`);
  }
  const last = plugins.last(resource);
  if (last?.options.preStartRequired !== true) return;
  const ids = [...records.ids(podUid, container, resource)].sort();
  if (ids.length === 0) {
    throw new Error(
      `no devices found allocated in local cache for pod ${podUid}, container ${container}, resource ${resource}`,
    );
  }
  const failed = (reason: string, cause?: unknown): Error =>
    new Error(`device plugin PreStartContainer rpc failed with err: ${reason}`, { cause });
  const primary = plugins.primary(resource);
  if (primary === undefined) throw failed(`endpoint ${last.socketPath} has been stopped`);
  try {
    await callPlugin(clock, deviceLimits.preStartMs, signal, (call) => primary.client.preStart(ids, call));
  } catch (error) {
    throw signal.aborted ? error : failed(errorText(error), error);
  }
}

const anywhere: TopologyHint = { mask: undefined, preferred: false };

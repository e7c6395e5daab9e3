/** Follows containers through containerd's own event stream, for versions of containerd without CRI events. */
import { GrpcConnection, type Timestamp } from '../grpc/index.js';
import { socketPathOfEndpoint } from './endpoint.js';
import {
  type Any,
  ContainerCreate,
  ContainerDelete,
  type Envelope,
  Events,
  TaskDelete,
  TaskExit,
  TaskOOM,
  TaskStart,
} from './gen/containerd-events.js';

export interface ContainerdEvent {
  readonly topic: string;
  /** The id of a container or a sandbox; both are containers in containerd. */
  readonly containerId: string;
  /** When it happened, in nanoseconds since the epoch. */
  readonly timestamp: bigint;
  readonly kind: 'create' | 'start' | 'exit' | 'oom' | 'delete';
  readonly exitStatus?: number;
  readonly pid?: number;
  /** The process: `containerId` for the main process, or the id of an exec. */
  readonly execId?: string;
}

export interface SubscribeContainerdEventsOptions {
  readonly endpoint: string;
  /** The containerd namespace of the CRI plugin is `k8s.io`. */
  readonly namespace?: string;
  readonly signal?: AbortSignal;
}

type EventFacts = Omit<ContainerdEvent, 'topic' | 'timestamp'> & { readonly at?: Timestamp | undefined };

const readers: Readonly<Record<string, (payload: Uint8Array) => EventFacts>> = {
  '/containers/create': (payload) => ({ kind: 'create', containerId: ContainerCreate.decode(payload).id }),
  '/containers/delete': (payload) => ({ kind: 'delete', containerId: ContainerDelete.decode(payload).id }),
  '/tasks/start': (payload) => {
    const { containerId, pid } = TaskStart.decode(payload);
    return { kind: 'start', containerId, pid, execId: containerId };
  },
  '/tasks/exit': (payload) => {
    const { containerId, id, pid, exitStatus, exitedAt } = TaskExit.decode(payload);
    return { kind: 'exit', containerId, pid, exitStatus, execId: id || containerId, at: exitedAt };
  },
  '/tasks/oom': (payload) => ({ kind: 'oom', containerId: TaskOOM.decode(payload).containerId }),
  '/tasks/delete': (payload) => {
    const { containerId, id, pid, exitStatus } = TaskDelete.decode(payload);
    return { kind: 'delete', containerId, pid, exitStatus, execId: id || containerId };
  },
};

/**
 * Subscribes when the iteration begins, on its own connection, which ends with the iteration. Earlier events are not
 * replayed. Throws CriError when the connection is lost; the consumer then relists and subscribes again.
 */
export async function* subscribeContainerdEvents({
  endpoint,
  namespace = 'k8s.io',
  signal,
}: SubscribeContainerdEventsOptions): AsyncGenerator<ContainerdEvent, void, undefined> {
  const connection = new GrpcConnection(socketPathOfEndpoint(endpoint), {
    'containerd-namespace': namespace,
  });
  const filters = Object.keys(readers).map(
    (topic) => `namespace==${namespace},topic==${JSON.stringify(topic)}`,
  );
  try {
    for await (const envelope of connection.stream(Events.subscribe, { filters }, { signal })) {
      const event = readContainerdEvent(envelope);
      if (event !== undefined) yield event;
    }
  } finally {
    connection.close();
  }
}

/** Undefined for an event that is not about the lifecycle of a container. */
export function readContainerdEvent({ topic, event, timestamp }: Envelope): ContainerdEvent | undefined {
  const payload: Any | undefined = event;
  // The runtime names the topic: it must not find what every object has.
  const read = Object.hasOwn(readers, topic) ? readers[topic] : undefined;
  if (read === undefined || payload === undefined) return undefined;
  const { at, ...facts } = read(payload.value);
  return { topic, timestamp: nanosecondsOf(at ?? timestamp), ...facts };
}

function nanosecondsOf(timestamp: Timestamp | undefined): bigint {
  return BigInt(timestamp?.seconds ?? 0) * 1_000_000_000n + BigInt(timestamp?.nanos ?? 0);
}

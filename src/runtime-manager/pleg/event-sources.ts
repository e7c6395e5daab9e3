/** Where runtime events come from, and how soon each runtime lists what it has told of. */
import {
  type ContainerdEvent,
  ContainerEventType,
  type CriRuntime,
  subscribeContainerdEvents,
} from '../../cri/index.js';

export type RuntimeEventKind = 'create' | 'start' | 'exit' | 'oom' | 'delete';

/** Something happened to a container or sandbox; whose it is may have to be looked up. */
export interface RuntimeEvent {
  readonly id: string;
  readonly kind: RuntimeEventKind;
  readonly podUid?: string;
  /** When looking for it is worth while; default 0: the runtime lists it before it tells of it. */
  readonly lagMs?: number;
  /** Wall milliseconds at which it happened. */
  readonly happenedAtMs?: number;
}

/** A stream of events. It throws when it cannot be had or breaks. */
export interface EventSource {
  readonly name: string;
  events(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
}

export type EventSourceFactory = () => EventSource;

const criKinds: Readonly<Record<ContainerEventType, RuntimeEventKind>> = {
  [ContainerEventType.CONTAINER_CREATED_EVENT]: 'create',
  [ContainerEventType.CONTAINER_STARTED_EVENT]: 'start',
  [ContainerEventType.CONTAINER_STOPPED_EVENT]: 'exit',
  [ContainerEventType.CONTAINER_DELETED_EVENT]: 'delete',
};

/** The events that the CRI itself offers; they are sent when the change is in effect. */
export function criEvents(runtime: Pick<CriRuntime, 'getContainerEvents'>): EventSource {
  return {
    name: "the runtime's container events",
    async *events(signal) {
      for await (const event of runtime.getContainerEvents({}, { signal })) {
        const podUid = event.podSandboxStatus?.metadata?.uid;
        yield {
          id: event.containerId,
          kind: criKinds[event.containerEventType],
          happenedAtMs: wallMs(event.createdAt),
          ...(podUid === undefined || podUid === '' ? {} : { podUid }),
        };
      }
    },
  };
}

/**
 * containerd's own events come before its CRI plugin has noted what they tell: the plugin waits for a
 * task's exit, deletes the task and only then marks the container as exited, and it forgets a
 * container after having deleted it. So an exit is looked for after the task's deletion, and soon
 * after the exit only in case that the deletion is not told. Starts are nearly always this agent's
 * own, which has the pod looked at when it is done.
 */
const containerdKinds: Readonly<Record<string, Pick<RuntimeEvent, 'kind' | 'lagMs'>>> = {
  '/containers/create': { kind: 'create' },
  '/tasks/start': { kind: 'start', lagMs: 1_000 },
  '/tasks/oom': { kind: 'oom' },
  '/tasks/exit': { kind: 'exit', lagMs: 100 },
  '/tasks/delete': { kind: 'exit', lagMs: 10 },
  '/containers/delete': { kind: 'delete', lagMs: 10 },
};

/** containerd's own events, which are on the same socket. */
export function containerdEvents(endpoint: string): EventSource {
  return {
    name: "containerd's events",
    async *events(signal) {
      for await (const event of subscribeContainerdEvents({ endpoint, signal })) {
        const told = readContainerdEvent(event);
        if (told !== undefined) yield told;
      }
    },
  };
}

/** `undefined` for what changes no container: processes that are run inside one come and go. */
export function readContainerdEvent(event: ContainerdEvent): RuntimeEvent | undefined {
  const { topic, containerId, execId, timestamp } = event;
  if (execId !== undefined && execId !== '' && execId !== containerId) return undefined;
  const told = containerdKinds[topic];
  return told === undefined ? undefined : { id: containerId, happenedAtMs: wallMs(timestamp), ...told };
}

function wallMs(timestampNs: bigint): number {
  return Number(timestampNs / 1_000n) / 1_000;
}

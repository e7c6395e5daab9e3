/** Where runtime events come from, and how soon each runtime lists a change it has reported. */
import {
  type ContainerdEvent,
  ContainerEventType,
  type CriRuntime,
  subscribeContainerdEvents,
} from '../../cri/index.js';

export type RuntimeEventKind = 'create' | 'start' | 'exit' | 'oom' | 'delete';

/** Something happened to a container or sandbox; its pod may have to be looked up. */
export interface RuntimeEvent {
  readonly id: string;
  readonly kind: RuntimeEventKind;
  readonly podUid?: string;
  /** How long after the event to look for the change; default 0: the runtime lists it before the event. */
  readonly lagMs?: number;
  /** Wall-clock milliseconds at which it happened. */
  readonly happenedAtMs?: number;
}

/** A stream of events. It throws when it cannot connect or breaks. */
export interface RuntimeEventSource {
  readonly name: string;
  events(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
}

export type RuntimeEventSourceFactory = () => RuntimeEventSource;

const criKinds: Readonly<Record<ContainerEventType, RuntimeEventKind>> = {
  [ContainerEventType.CONTAINER_CREATED_EVENT]: 'create',
  [ContainerEventType.CONTAINER_STARTED_EVENT]: 'start',
  [ContainerEventType.CONTAINER_STOPPED_EVENT]: 'exit',
  [ContainerEventType.CONTAINER_DELETED_EVENT]: 'delete',
};

/** The CRI's own events; the runtime sends them when the change is in effect. */
export function criEvents(runtime: Pick<CriRuntime, 'getContainerEvents'>): RuntimeEventSource {
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
 * containerd sends its own events before its CRI plugin has recorded the change: the plugin waits for a
 * task's exit, deletes the task and only then marks the container as exited; it forgets a container after
 * deleting it. So an exit is looked for after the task's deletion, and a little after the exit in case the
 * deletion event is lost. Starts are nearly always the agent's own, and the agent relists the pod when it is
 * done.
 */
const containerdKinds: Readonly<Record<string, Pick<RuntimeEvent, 'kind' | 'lagMs'>>> = {
  '/containers/create': { kind: 'create' },
  '/tasks/start': { kind: 'start', lagMs: 1_000 },
  '/tasks/oom': { kind: 'oom' },
  '/tasks/exit': { kind: 'exit', lagMs: 100 },
  '/tasks/delete': { kind: 'exit', lagMs: 10 },
  '/containers/delete': { kind: 'delete', lagMs: 10 },
};

/** containerd's own events, from the same socket. */
export function containerdEvents(endpoint: string): RuntimeEventSource {
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

/** `undefined` if no container changed, as for exec processes. */
export function readContainerdEvent(event: ContainerdEvent): RuntimeEvent | undefined {
  const { topic, containerId, execId, timestamp } = event;
  if (execId !== undefined && execId !== '' && execId !== containerId) return undefined;
  const told = Object.hasOwn(containerdKinds, topic) ? containerdKinds[topic] : undefined;
  return told === undefined ? undefined : { id: containerId, happenedAtMs: wallMs(timestamp), ...told };
}

function wallMs(timestampNs: bigint): number {
  return Number(timestampNs / 1_000n) / 1_000;
}

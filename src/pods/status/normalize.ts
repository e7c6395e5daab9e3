/** The normal form of statuses for storing and comparing: whole seconds, bounded messages, sorted lists. */
import {
  type ContainerState,
  type ContainerStatus,
  formatTimestamp,
  type Pod,
  type PodStatus,
  parseTimestamp,
  podContainers,
  type Timestamp,
} from '../../kube/index.js';
import { sortedByName } from './containers.js';

/** The room for all termination messages of a pod together. */
const messageBudgetBytes = 12_288;
const wholeSeconds = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

export function normalizeStatus(pod: Pod, status: PodStatus): PodStatus {
  const containerCount = [...podContainers(pod)].length;
  const messageLimitBytes = Math.floor(messageBudgetBytes / Math.max(1, containerCount));
  const { startTime, conditions, containerStatuses, initContainerStatuses, ephemeralContainerStatuses } =
    status;
  const initOrder = new Map((pod.spec.initContainers ?? []).map(({ name }, index) => [name, index]));
  const normalized = (list: readonly ContainerStatus[]): ContainerStatus[] =>
    list.map((container) => normalizeContainer(container, messageLimitBytes));
  return {
    ...status,
    ...(startTime === undefined ? {} : { startTime: toSeconds(startTime) }),
    ...(conditions === undefined
      ? {}
      : {
          conditions: conditions.map((condition) => ({
            ...condition,
            lastProbeTime: toSecondsOrNull(condition.lastProbeTime),
            lastTransitionTime: toSecondsOrNull(condition.lastTransitionTime),
          })),
        }),
    ...(containerStatuses === undefined
      ? {}
      : { containerStatuses: sortedByName(normalized(containerStatuses)) }),
    ...(initContainerStatuses === undefined
      ? {}
      : { initContainerStatuses: normalized(initContainerStatuses).sort(bySpecOrder(initOrder)) }),
    ...(ephemeralContainerStatuses === undefined
      ? {}
      : { ephemeralContainerStatuses: sortedByName(normalized(ephemeralContainerStatuses)) }),
  };
}

function bySpecOrder(order: ReadonlyMap<string, number>): (a: ContainerStatus, b: ContainerStatus) => number {
  const placeOf = ({ name }: ContainerStatus): number => order.get(name) ?? order.size;
  return (a, b) => placeOf(a) - placeOf(b);
}

function normalizeContainer(status: ContainerStatus, messageLimitBytes: number): ContainerStatus {
  return {
    ...status,
    ...(status.state === undefined ? {} : { state: normalizeState(status.state, messageLimitBytes) }),
    ...(status.lastState === undefined
      ? {}
      : { lastState: normalizeState(status.lastState, messageLimitBytes) }),
  };
}

function normalizeState(state: ContainerState, messageLimitBytes: number): ContainerState {
  if (state.running !== undefined) {
    return { running: { ...state.running, startedAt: toSecondsOrNull(state.running.startedAt) } };
  }
  const ended = state.terminated;
  if (ended === undefined) return state;
  return {
    terminated: {
      ...ended,
      ...(ended.message === undefined ? {} : { message: cutToBytes(ended.message, messageLimitBytes) }),
      startedAt: toSecondsOrNull(ended.startedAt),
      finishedAt: toSecondsOrNull(ended.finishedAt),
    },
  };
}

/** The longest prefix that fits, without a broken character at its end. */
export function cutToBytes(text: string, limitBytes: number): string {
  // A UTF-16 unit has at most three bytes in UTF-8, so most texts are known to fit without encoding them.
  if (text.length * 3 <= limitBytes) return text;
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= limitBytes) return text;
  let end = limitBytes;
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return bytes.toString('utf8', 0, end);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function toSecondsOrNull(time: Timestamp | null | undefined): Timestamp | null {
  return time === undefined || time === null ? null : toSeconds(time);
}

function toSeconds(time: Timestamp): Timestamp {
  if (wholeSeconds.test(time)) return time;
  const epochMs = parseTimestamp(time);
  return epochMs === undefined ? time : formatTimestamp(epochMs);
}

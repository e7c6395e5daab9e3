/** The changes between two statuses of a pod, as text for the timeline and as counts for metrics. */
import {
  type ContainerKind,
  type ContainerState,
  type ContainerStateTerminated,
  type ContainerStatus,
  type Pod,
  type PodStatus,
  semanticEqual,
} from '../../kube/index.js';
import { type EntryData, type EntryInit, podRef } from '../../timeline/index.js';
import { findCondition } from './condition-list.js';
import { stateKind } from './restartable.js';

/** Every pod starts like this; the plan that follows says more. */
const beginning = { level: 'debug' } as const;

/** One entry for each changed phase, container state and readiness. */
export function statusTransitions(pod: Pod, old: PodStatus, next: PodStatus): EntryInit[] {
  const ref = podRef(pod);
  const entries: EntryInit[] = [];
  for (const [, name, before, after] of containerPairs(old, next)) {
    if (sameState(before, after)) continue;
    entries.push({
      kind: 'transition',
      what: 'container.state',
      message: `${stateText(before?.state)} → ${stateText(after.state)}`,
      because: stateCause(after),
      pod: ref,
      container: name,
      data: stateData(before, after),
      ...(before === undefined && stateKind(after.state) === 'waiting' ? beginning : {}),
    });
  }
  if (next.phase !== undefined && old.phase !== next.phase) {
    entries.push({
      kind: 'transition',
      what: 'pod.phase',
      message: `${old.phase ?? 'none'} → ${next.phase}`,
      because: phaseCause(next),
      pod: ref,
      data: { from: old.phase ?? 'none', to: next.phase },
    });
  }
  const ready = findCondition(next.conditions, 'Ready');
  const wasReady = findCondition(old.conditions, 'Ready')?.status ?? 'none';
  if (ready !== undefined && ready.status !== wasReady) {
    entries.push({
      kind: 'transition',
      what: 'pod.ready',
      message: `Ready ${wasReady} → ${ready.status}`,
      because: ready.message ?? ready.reason ?? 'all containers are ready',
      pod: ref,
      data: { from: wasReady, to: ready.status },
      ...(wasReady === 'none' && ready.status !== 'True' ? beginning : {}),
    });
  }
  return entries;
}

export interface ContainerTermination {
  readonly kind: ContainerKind;
  readonly container: string;
  readonly exitCode: number;
  readonly reason: string;
}

/** The ends of container runs that the old status did not have; none without an old status. */
export function newTerminations(old: PodStatus, next: PodStatus): ContainerTermination[] {
  const found: ContainerTermination[] = [];
  for (const [kind, container, before, after] of containerPairs(old, next)) {
    if (before === undefined) continue;
    const known = [before.state?.terminated, before.lastState?.terminated];
    const ended = after.state?.terminated ?? after.lastState?.terminated;
    if (ended === undefined || known.some((other) => isSameEnd(other, ended))) continue;
    found.push({ kind, container, exitCode: ended.exitCode, reason: ended.reason ?? '' });
  }
  return found;
}

type ContainerStatusChange = readonly [ContainerKind, string, ContainerStatus | undefined, ContainerStatus];

function* containerPairs(old: PodStatus, next: PodStatus): Generator<ContainerStatusChange> {
  yield* pairs('initContainer', old.initContainerStatuses, next.initContainerStatuses);
  yield* pairs('container', old.containerStatuses, next.containerStatuses);
  yield* pairs('ephemeralContainer', old.ephemeralContainerStatuses, next.ephemeralContainerStatuses);
}

function* pairs(
  kind: ContainerKind,
  old: readonly ContainerStatus[] | undefined,
  next: readonly ContainerStatus[] | undefined,
): Generator<ContainerStatusChange> {
  for (const status of next ?? []) {
    yield [kind, status.name, old?.find(({ name }) => name === status.name), status];
  }
}

function isSameEnd(a: ContainerStateTerminated | undefined, b: ContainerStateTerminated): boolean {
  if (a === undefined) return false;
  if (a.containerID && b.containerID) return a.containerID === b.containerID;
  return semanticEqual(a, b);
}

/** Ignores messages: that of a back-off changes with each attempt. */
function sameState(before: ContainerStatus | undefined, after: ContainerStatus): boolean {
  if (before === undefined) return false;
  const kind = stateKind(after.state);
  if (stateKind(before.state) !== kind) return false;
  switch (kind) {
    case 'waiting':
      return (before.state?.waiting?.reason ?? '') === (after.state?.waiting?.reason ?? '');
    case 'running':
      return before.containerID === after.containerID;
    case 'terminated': {
      const ended = after.state?.terminated;
      return ended === undefined || isSameEnd(before.state?.terminated, ended);
    }
    case 'unset':
      return true;
  }
}

function stateData(
  before: ContainerStatus | undefined,
  { state, restartCount }: ContainerStatus,
): EntryData<'container.state'> {
  return {
    from: stateName(before?.state),
    to: stateName(state),
    reason: state?.waiting?.reason ?? state?.terminated?.reason,
    exitCode: state?.terminated?.exitCode,
    restartCount,
  };
}

function stateName(state: ContainerState | undefined): EntryData<'container.state'>['to'] {
  const kind = stateKind(state);
  return kind === 'unset' ? 'none' : kind;
}

function stateText(state: ContainerState | undefined): string {
  switch (stateKind(state)) {
    case 'waiting': {
      const reason = state?.waiting?.reason;
      return reason ? `Waiting (${reason})` : 'Waiting';
    }
    case 'running':
      return 'Running';
    case 'terminated':
      return `Terminated (exit ${state?.terminated?.exitCode})`;
    case 'unset':
      return 'none';
  }
}

function stateCause({ state, lastState }: ContainerStatus): string {
  const waiting = state?.waiting;
  if (waiting !== undefined) {
    const failed = lastState?.terminated;
    const last = failed === undefined ? '' : `, last run exited ${failed.exitCode}`;
    return `${waiting.message ?? waiting.reason ?? 'the container was created and not started yet'}${last}`;
  }
  const ended = state?.terminated;
  if (ended !== undefined) {
    return `exit code ${ended.exitCode}${ended.reason ? `, ${ended.reason}` : ''}`;
  }
  const failed = lastState?.terminated;
  return failed === undefined ? 'the runtime started it' : `restarted after exit code ${failed.exitCode}`;
}

function phaseCause(status: PodStatus): string {
  if (status.reason) return status.message ? `${status.reason}: ${status.message}` : status.reason;
  const texts = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map(
    ({ name, state }) => `${name} ${stateText(state)}`,
  );
  return texts.length === 0 ? 'no container is known' : texts.join(', ');
}

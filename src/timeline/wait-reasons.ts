/**
 * What a pod waits for, decided from its entries: every state that is not final has a reason with the last error and the
 * next try, or the step that is under way.
 */
import { type EntryOf, isEntry, type TimelineEntry } from './entry.js';
import { lastOf, lastOfContainer } from './last-entry.js';
import { afterComma, nextTry } from './next-try.js';
import { planText } from './plan-actions.js';
import type { ContainerStateName } from './pod-entries.js';
import { pullInProgress } from './pull-reasons.js';
import { refusals } from './refusals.js';
import { resizeReasons } from './resize-reasons.js';
import { volumeReason, volumeWaits } from './volume-reasons.js';

export interface WaitReason {
  readonly waitsFor: string;
  /** The same beside a table that shows the state of the pod; absent where nothing can be left out. */
  readonly brief?: string;
  /** The container that the pod waits for. */
  readonly container?: string;
  /** The volume that the pod waits for, as its driver must do something. */
  readonly volume?: string;
  /** What would unblock the pod, where somebody could help. */
  readonly unblock?: string;
}

export interface ContainerNow {
  readonly name: string;
  /** For people, such as `Running` or `Waiting (CrashLoopBackOff)`. */
  readonly state: string;
  readonly to: ContainerStateName;
  /** Of the state, such as `CrashLoopBackOff`. */
  readonly reason: string | undefined;
  readonly restarts: number;
}

export interface PodNow {
  readonly phase: string;
  readonly ready: boolean;
  readonly containers: readonly ContainerNow[];
}

/** The step that is under way while nothing has failed. */
export interface InProgress {
  readonly text: string;
  readonly sinceMs: number;
}

/** Reasons that something is in the way; empty while the pod is on its way or has arrived. */
export function waitReasons(
  entries: readonly TimelineEntry[],
  node: readonly TimelineEntry[],
  now: PodNow,
  nowMs: number,
): WaitReason[] {
  const life = lifeReasons(entries, nowMs);
  const failing = failingStep(entries);
  const own = [
    ...life,
    ...containerReasons(entries, now.containers, failing, nowMs),
    ...volumeReasons(entries, failing, now, nowMs),
  ];
  // The failure of the step is what the containers' reasons add up to, so it is told only where they are silent.
  const isExplained = own.length > life.length || isRefused(entries);
  const failure = isExplained ? [] : stepReasons(entries, failing, nowMs);
  const probes = own.length > 0 || failure.length > 0 || now.ready ? [] : probeReasons(entries, now);
  return [
    ...own,
    ...failure,
    ...probes,
    ...resizeReasons(entries),
    ...apiReasons(entries),
    ...nodeReasons(node),
  ];
}

/** Waits for drivers, once one has failed or the worker has given up its step; until then they are on their way. */
function volumeReasons(
  entries: readonly TimelineEntry[],
  failing: StepEntry | undefined,
  { ready }: PodNow,
  nowMs: number,
): WaitReason[] {
  const waits = volumeWaits(entries);
  const isInTheWay = failing !== undefined || waits.some(({ error }) => error !== undefined);
  return ready || !isInTheWay ? [] : waits.map((wait) => volumeReason(wait, nowMs));
}

/** Undefined for a pod that is ready, over, or held up by something that `waitReasons` tells. */
export function inProgress(entries: readonly TimelineEntry[], now: PodNow): InProgress | undefined {
  if (now.ready || now.phase === 'Succeeded' || now.phase === 'Failed') return undefined;
  if (lastOf(entries, 'pod.finished') !== undefined) return undefined;
  const [wait] = volumeWaits(entries);
  if (wait !== undefined) return { text: wait.text, sinceMs: wait.sinceMs };
  const pull = pullInProgress(entries);
  if (pull !== undefined) return pull;
  const unready = now.containers.filter(({ to }) => to === 'waiting');
  const plan = lastOf(entries, 'pod.plan');
  if (unready.length === 0 && plan !== undefined && now.containers.length > 0) {
    const state = lastOf(entries, 'container.state') ?? plan;
    return { text: 'its containers to become ready', sinceMs: state.timeMs };
  }
  const first = entries[0];
  if (plan !== undefined) {
    const { data, message, timeMs } = plan;
    const text = data === undefined ? message : planText(data.steps, data.more);
    return { text: `its start (${text})`, sinceMs: timeMs };
  }
  return first && { text: 'its volumes and its turn to start', sinceMs: first.timeMs };
}

/** Where the pod is in its life: over, being stopped, waiting for its turn, refused. */
function lifeReasons(entries: readonly TimelineEntry[], nowMs: number): WaitReason[] {
  const moment = lastOf(
    entries,
    'pod.terminating',
    'pod.terminated',
    'pod.finished',
    'pod.wait',
    'pod.plan',
    'pod.orphan',
    'device.wait',
    'device.waited',
  );
  switch (moment?.what) {
    case 'pod.terminating': {
      const graceSeconds = moment.data?.graceSeconds ?? 0;
      const leftSeconds = Math.round((moment.timeMs + graceSeconds * 1000 - nowMs) / 1000);
      const until = leftSeconds > 0 ? `; its grace period ends in ${leftSeconds}s` : '';
      return [
        {
          waitsFor: `its containers to stop, as ${moment.because}${until}`,
          ...(leftSeconds > 0 ? { brief: `its containers to stop, within ${leftSeconds}s` } : {}),
        },
      ];
    }
    case 'pod.terminated':
      return [{ waitsFor: 'what belongs to it to be cleaned up' }];
    case 'pod.wait':
      return [
        {
          waitsFor: `its turn: ${moment.because}`,
          unblock: 'the other pod of the same name must end; remove its manifest if it should not run',
        },
      ];
    case 'device.wait':
      return [deviceReason(moment, nowMs)];
    default:
      return refusals(entries);
  }
}

/** The pod is judged again when the plugin is there, and refused when the time is over. */
function deviceReason({ timeMs, data }: EntryOf<'device.wait'>, nowMs: number): WaitReason {
  const { resource, waitMs } = data;
  const leftSeconds = Math.max(0, Math.round((timeMs + waitMs - nowMs) / 1000));
  return {
    waitsFor: `the device plugin of ${resource} to register; it is refused in ${leftSeconds}s otherwise`,
    brief: `the device plugin of ${resource}, ${leftSeconds}s at most`,
    unblock: `start the device plugin that offers ${resource} on this node; "nodelet describe node" shows what is offered`,
  };
}

function isRefused(entries: readonly TimelineEntry[]): boolean {
  return refusals(entries).length > 0;
}

/** The steps of a pod's worker. */
const steps = ['worker.sync', 'worker.terminating', 'worker.terminated'] as const;
type StepEntry = EntryOf<(typeof steps)[number]>;

const stepFailed: Readonly<Record<StepEntry['what'], string>> = {
  'worker.sync': 'sync failed',
  'worker.terminating': 'stopping the pod failed',
  'worker.terminated': 'cleaning up after the pod failed',
};

/** The last step of the pod's worker, if it failed. */
function failingStep(entries: readonly TimelineEntry[]): StepEntry | undefined {
  const last = entries.findLast(
    (entry) =>
      (isEntry(entry, ...steps) && entry.kind === 'problem') ||
      isEntry(entry, 'worker.recovered', 'pod.terminated', 'pod.finished'),
  );
  return last !== undefined && isEntry(last, ...steps) ? last : undefined;
}

/** Who can help with what a warning tells. */
const adviceByEvent: Readonly<Record<string, string>> = {
  FailedMount: 'correct spec.volumes of the pod, or provide what the message names',
  NetworkNotReady: "make the node's network ready (a CNI configuration)",
  FailedPrepareDynamicResources:
    'start the driver that the message names, or correct the ResourceClaim; it is tried again by itself',
  FailedCreatePodSandBox:
    'the runtime could not make the sandbox; correct what the message names in the pod or the runtime',
  FailedPodSandBoxStatus: 'the runtime does not tell of the sandbox; look at its log',
  FailedCreatePodContainer: "make the pod's cgroup possible; the message names the file",
  FailedKillPod: 'the runtime could not stop the pod; look at its log',
  FailedSync: 'the runtime does not tell of the pod; look at its log',
};

/** Why the step failed, or what warns while it is still being tried. */
function stepReasons(
  entries: readonly TimelineEntry[],
  failing: StepEntry | undefined,
  nowMs: number,
): WaitReason[] {
  const begun = lastOf(entries, ...steps, 'pod.plan', 'worker.recovered');
  const blocking = entries.findLast(
    ({ event, seq }) =>
      seq > (begun?.seq ?? -1) && event?.type === 'Warning' && Object.hasOwn(adviceByEvent, event.reason),
  );
  if (blocking?.event !== undefined) {
    const { reason } = blocking.event;
    const next = afterComma(nextTry(failing?.data?.nextTryMs, nowMs));
    return [{ waitsFor: `${reason}: ${blocking.message}${next}`, ...unblockOf(reason) }];
  }
  return failing === undefined ? [] : [failureReason(entries, failing, nowMs)];
}

function unblockOf(reason: string): { unblock?: string } {
  return Object.hasOwn(adviceByEvent, reason) ? { unblock: adviceByEvent[reason] } : {};
}

function failureReason(entries: readonly TimelineEntry[], failing: StepEntry, nowMs: number): WaitReason {
  const before = entries.findLast((entry) => isEntry(entry, ...steps) && entry.seq < failing.seq)?.seq ?? 0;
  const warning = entries.findLast(
    ({ event, seq }) => event?.type === 'Warning' && seq > before && seq < failing.seq,
  );
  const reason = warning?.event?.reason ?? '';
  const cause =
    warning === undefined
      ? `${stepFailed[failing.what]}: ${failing.error ?? ''}`
      : `${reason}: ${warning.message}`;
  return { waitsFor: `${cause}${afterComma(nextTry(failing.data?.nextTryMs, nowMs))}`, ...unblockOf(reason) };
}

const advice: Readonly<Record<string, string>> = {
  CrashLoopBackOff: 'it is tried again by itself; what makes it exit is in its log and its last exit code',
  ImagePullBackOff:
    'it is tried again by itself; check the image name, that the registry has it and that it may be pulled',
  ErrImagePull:
    'it is tried again by itself; check the image name, that the registry has it and that it may be pulled',
  ErrImageNeverPull: 'put the image on the machine, or change imagePullPolicy',
  ImageInspectError: 'the runtime cannot tell of the image; look at its log',
  InvalidImageName: 'correct the image name in the pod',
  RegistryUnavailable: 'it is tried again by itself; check that the registry can be reached from this node',
  SignatureValidationFailed: "sign the image as the runtime's policy asks, or change the policy",
  CreateContainerConfigError: 'correct what the message names in the pod, or provide what is missing',
  PreCreateHookError: 'the node could not give the container what it needs; the message says what',
  CreateContainerError: 'the runtime refused the container; the message says why',
  PreStartHookError: 'the node could not give the container what it needs; the message says what',
  RunContainerError: 'the container could not be started; check its command and image',
  PostStartHookError: 'its postStart hook failed; check the hook',
};

function containerReasons(
  entries: readonly TimelineEntry[],
  containers: readonly ContainerNow[],
  failing: StepEntry | undefined,
  nowMs: number,
): WaitReason[] {
  return containers.flatMap(({ name, to, reason }): WaitReason[] => {
    if (to !== 'waiting' || !reason || reason === 'ContainerCreating' || reason === 'PodInitializing')
      return [];
    const waiting = lastOfContainer(entries, name, 'container.state');
    const backoff = lastOfContainer(entries, name, 'container.wait');
    const endsMs =
      reason === 'CrashLoopBackOff' && backoff !== undefined
        ? backoff.timeMs + backoff.data.waitMs
        : failing?.data?.nextTryMs;
    const next = nextTry(endsMs, nowMs);
    const message = waiting?.because ?? '';
    return [
      {
        waitsFor: `container ${name}: ${reason}${afterComma(next)}: ${message}`,
        brief: `${name}: ${next ?? message}`,
        container: name,
        ...adviceFor(name, reason, entries),
      },
    ];
  });
}

function adviceFor(name: string, reason: string, entries: readonly TimelineEntry[]): { unblock?: string } {
  const start = lastOfContainer(entries, name, 'container.start');
  // One that never came to run has no log to look at.
  if (reason === 'CrashLoopBackOff' && start?.error !== undefined) {
    return {
      unblock: `container ${name}: it could not be started: ${start.error}; check its command and image`,
    };
  }
  return Object.hasOwn(advice, reason) ? { unblock: `container ${name}: ${advice[reason]}` } : {};
}

/** Containers that run and whose probes say that they are not ready. */
function probeReasons(entries: readonly TimelineEntry[], { containers }: PodNow): WaitReason[] {
  return containers.flatMap(({ name, to }): WaitReason[] => {
    if (to !== 'running') return [];
    const started = lastOfContainer(entries, name, 'container.state');
    const unhealthy = entries.findLast(
      ({ event, container, seq }) =>
        event?.reason === 'Unhealthy' && container === name && seq > (started?.seq ?? -1),
    );
    if (unhealthy === undefined) return [];
    return [
      {
        waitsFor: `container ${name}: ${unhealthy.message}`,
        container: name,
        unblock: `container ${name}: it is probed again by itself; its log may tell why it does not answer`,
      },
    ];
  });
}

/** What the API has not been told of the pod yet. */
function apiReasons(entries: readonly TimelineEntry[]): WaitReason[] {
  const last = lastOf(entries, 'status.read', 'status.gone', 'status.drop', 'status.refused');
  if (last?.what !== 'status.refused') return [];
  return [{ waitsFor: `its status to be taken by the API server: ${last.error ?? last.message}` }];
}

/** What keeps the whole node from syncing pods, or from telling of them. */
function nodeReasons(node: readonly TimelineEntry[]): WaitReason[] {
  const gate = lastOf(node, 'loop.gate');
  const reach = lastOf(node, 'status.unreachable', 'status.reachable');
  return [
    ...(gate === undefined || gate.data.open
      ? []
      : [{ waitsFor: `the node: ${gate.because}`, unblock: 'start the container runtime, or mend it' }]),
    ...(reach?.what === 'status.unreachable'
      ? [
          {
            waitsFor: `the API server: ${reach.error ?? reach.message}`,
            unblock: 'make the API server reachable',
          },
        ]
      : []),
  ];
}

/**
 * What a pod waits for, decided from its entries: every state that is not final has a reason with the last error and the
 * next try, or the step that is under way.
 */
import { clockTime } from './clock-time.js';
import type { Entry } from './entry.js';

export interface WaitReason {
  readonly waitsFor: string;
  /** What would unblock the pod, where somebody could help. */
  readonly unblock?: string;
}

export interface ContainerNow {
  readonly name: string;
  /** Such as `Running` or `Waiting (CrashLoopBackOff)`. */
  readonly state: string;
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
  entries: readonly Entry[],
  node: readonly Entry[],
  now: PodNow,
  nowMs: number,
): WaitReason[] {
  const life = lifeReasons(entries, nowMs);
  const failing = failingStep(entries);
  const own = [...life, ...containerReasons(entries, now.containers, failing, nowMs)];
  // The failure of the step is what the containers' reasons add up to, so it is told only where they are silent.
  const isExplained = own.length > life.length || isRefused(entries);
  const failure = isExplained ? [] : stepReasons(entries, failing, nowMs);
  const probes = own.length > 0 || failure.length > 0 || now.ready ? [] : probeReasons(entries, now);
  return [...own, ...failure, ...probes, ...apiReasons(entries), ...nodeReasons(node)];
}

/** Undefined for a pod that is ready, over, or held up by something that `waitReasons` tells. */
export function inProgress(entries: readonly Entry[], now: PodNow): InProgress | undefined {
  if (now.ready || now.phase === 'Succeeded' || now.phase === 'Failed') return undefined;
  if (entries.some(({ what }) => what === 'pod.finished')) return undefined;
  const pulling = entries.findLast(({ event }) =>
    ['Pulling', 'Pulled', 'Failed'].includes(event?.reason ?? ''),
  );
  if (pulling?.event?.reason === 'Pulling')
    return { text: `the image of container ${pulling.container ?? ''}`, sinceMs: pulling.timeMs };
  const unready = now.containers.filter(({ state }) => state.startsWith('Waiting'));
  const plan = entries.findLast(({ what }) => what === 'pod.plan');
  if (unready.length === 0 && plan !== undefined && now.containers.length > 0) {
    const state = entries.findLast(({ what }) => what === 'container.state') ?? plan;
    return { text: 'its containers to become ready', sinceMs: state.timeMs };
  }
  const first = entries[0];
  if (plan !== undefined) return { text: `its start (${plan.message})`, sinceMs: plan.timeMs };
  return first && { text: 'its volumes and its turn to start', sinceMs: first.timeMs };
}

/** Where the pod is in its life: over, being stopped, waiting for its turn, refused. */
function lifeReasons(entries: readonly Entry[], nowMs: number): WaitReason[] {
  const moment = entries.findLast(({ what }) =>
    ['pod.terminating', 'pod.terminated', 'pod.finished', 'pod.wait', 'pod.plan', 'pod.orphan'].includes(
      what,
    ),
  );
  switch (moment?.what) {
    case 'pod.terminating': {
      const graceSeconds = Number(moment.data?.graceSeconds ?? 0);
      const leftSeconds = Math.round((moment.timeMs + graceSeconds * 1000 - nowMs) / 1000);
      const until = leftSeconds > 0 ? `; its grace period ends in ${leftSeconds}s` : '';
      return [{ waitsFor: `its containers to stop, as ${moment.because}${until}` }];
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
    default:
      return refusals(entries);
  }
}

const refusalReasons = /^(OutOf|NodePorts|PodOSNotSupported|SysctlForbidden|NodeAffinity|Evicted|AppArmor)/;

function refusals(entries: readonly Entry[]): WaitReason[] {
  const refused = entries.findLast(({ event }) => event !== undefined && refusalReasons.test(event.reason));
  if (refused === undefined || entries.some(({ what, seq }) => what === 'pod.plan' && seq > refused.seq))
    return [];
  return [
    {
      waitsFor: `nothing: it was refused (${refused.event?.reason}): ${refused.message}`,
      unblock: 'change the pod, or make room for it, and add it anew',
    },
  ];
}

function isRefused(entries: readonly Entry[]): boolean {
  return refusals(entries).length > 0;
}

const stepOf: Readonly<Record<string, string>> = {
  'worker.sync': 'sync failed',
  'worker.terminating': 'stopping the pod failed',
  'worker.terminated': 'cleaning up after the pod failed',
};

/** The last step of the pod's worker, if it failed. */
function failingStep(entries: readonly Entry[]): Entry | undefined {
  const last = entries.findLast(
    ({ what, kind }) =>
      (stepOf[what] !== undefined && kind === 'problem') ||
      ['worker.recovered', 'pod.terminated', 'pod.finished'].includes(what),
  );
  return last?.kind === 'problem' ? last : undefined;
}

/** Who can help with what a warning tells. */
const adviceByEvent: Readonly<Record<string, string>> = {
  FailedMount: 'correct spec.volumes of the pod, or provide what the message names',
  NetworkNotReady: "make the node's network ready (a CNI configuration)",
  FailedCreatePodSandBox:
    'the runtime could not make the sandbox; correct what the message names in the pod or the runtime',
  FailedPodSandBoxStatus: 'the runtime does not tell of the sandbox; look at its log',
  FailedCreatePodContainer: "make the pod's cgroup possible; the message names the file",
  FailedKillPod: 'the runtime could not stop the pod; look at its log',
  FailedSync: 'the runtime does not tell of the pod; look at its log',
};

/** Why the step failed, or what warns while it is still being tried. */
function stepReasons(entries: readonly Entry[], failing: Entry | undefined, nowMs: number): WaitReason[] {
  const begun = entries.findLast(
    ({ what }) => stepOf[what] !== undefined || ['pod.plan', 'worker.recovered'].includes(what),
  );
  const blocking = entries.findLast(
    ({ event, seq }) =>
      seq > (begun?.seq ?? -1) && event?.type === 'Warning' && adviceByEvent[event.reason] !== undefined,
  );
  if (blocking?.event !== undefined) {
    const { reason } = blocking.event;
    const next = nextTry(failing?.data?.nextTryMs, nowMs);
    return [{ waitsFor: `${reason}: ${blocking.message}${next}`, ...unblockOf(reason) }];
  }
  return failing === undefined ? [] : [failureReason(entries, failing, nowMs)];
}

function unblockOf(reason: string): { unblock?: string } {
  const unblock = adviceByEvent[reason];
  return unblock === undefined ? {} : { unblock };
}

function failureReason(entries: readonly Entry[], failing: Entry, nowMs: number): WaitReason {
  const before =
    entries.findLast(({ what, seq }) => stepOf[what] !== undefined && seq < failing.seq)?.seq ?? 0;
  const warning = entries.findLast(
    ({ event, seq }) => event?.type === 'Warning' && seq > before && seq < failing.seq,
  );
  const reason = warning?.event?.reason ?? '';
  const cause =
    warning === undefined
      ? `${stepOf[failing.what] ?? failing.message}: ${failing.error ?? ''}`
      : `${reason}: ${warning.message}`;
  return { waitsFor: `${cause}${nextTry(failing.data?.nextTryMs, nowMs)}`, ...unblockOf(reason) };
}

function nextTry(atMs: unknown, nowMs: number): string {
  if (typeof atMs !== 'number' || !Number.isFinite(nowMs) || atMs <= nowMs) return '';
  return `, next try at ${clockTime(atMs)} (in ${Math.ceil((atMs - nowMs) / 1000)}s)`;
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
  entries: readonly Entry[],
  containers: readonly ContainerNow[],
  failing: Entry | undefined,
  nowMs: number,
): WaitReason[] {
  return containers.flatMap(({ name, state }): WaitReason[] => {
    const [, reason] = /^Waiting \((.+)\)$/.exec(state) ?? [];
    if (reason === undefined || reason === 'ContainerCreating' || reason === 'PodInitializing') return [];
    const waiting = entries.findLast(
      ({ what, container }) => what === 'container.state' && container === name,
    );
    const backoff = entries.findLast(
      ({ what, container }) => what === 'container.wait' && container === name,
    );
    const endsMs =
      reason === 'CrashLoopBackOff' && backoff !== undefined
        ? backoff.timeMs + Number(backoff.data?.waitMs ?? 0)
        : failing?.data?.nextTryMs;
    return [
      {
        waitsFor: `container ${name}: ${reason}${nextTry(endsMs, nowMs)}: ${waiting?.because ?? ''}`,
        ...adviceFor(name, reason, entries),
      },
    ];
  });
}

function adviceFor(name: string, reason: string, entries: readonly Entry[]): { unblock?: string } {
  const start = entries.findLast(({ what, container }) => what === 'container.start' && container === name);
  // One that never came to run has no log to look at.
  if (reason === 'CrashLoopBackOff' && start?.error !== undefined) {
    const [error] = start.error.split(': rpc error: ');
    return { unblock: `container ${name}: it could not be started: ${error}; check its command and image` };
  }
  return advice[reason] === undefined ? {} : { unblock: `container ${name}: ${advice[reason]}` };
}

/** Containers that run and whose probes say that they are not ready. */
function probeReasons(entries: readonly Entry[], { containers }: PodNow): WaitReason[] {
  return containers.flatMap(({ name, state }): WaitReason[] => {
    if (state !== 'Running') return [];
    const started = entries.findLast(
      ({ what, container }) => what === 'container.state' && container === name,
    );
    const unhealthy = entries.findLast(
      ({ event, seq }) =>
        event?.reason === 'Unhealthy' &&
        event.fieldPath?.endsWith(`{${name}}`) === true &&
        seq > (started?.seq ?? -1),
    );
    if (unhealthy === undefined) return [];
    return [
      {
        waitsFor: `container ${name}: ${unhealthy.message}`,
        unblock: `container ${name}: it is probed again by itself; its log may tell why it does not answer`,
      },
    ];
  });
}

/** What the API has not been told of the pod yet. */
function apiReasons(entries: readonly Entry[]): WaitReason[] {
  const last = entries.findLast(({ what }) => what.startsWith('status.') && what !== 'status.discard');
  if (last?.what !== 'status.refused') return [];
  return [{ waitsFor: `its status to be taken by the API server: ${last.error ?? last.message}` }];
}

/** What keeps the whole node from syncing pods, or from telling of them. */
function nodeReasons(node: readonly Entry[]): WaitReason[] {
  const gate = node.findLast(({ what }) => what === 'loop.gate');
  const reach = node.findLast(({ what }) => what === 'status.unreachable' || what === 'status.reachable');
  return [
    ...(gate?.because === undefined
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

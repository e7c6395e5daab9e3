/** A pod's life in words: what happened and why, where it is now, what it waits for and what would help. */
import type { Entry } from './entry.js';

export interface Step {
  readonly timeMs: number;
  readonly what: string;
  readonly message: string;
  readonly container?: string;
  readonly because?: string;
  readonly durationMs?: number;
  readonly error?: string;
  readonly problem: boolean;
}

export interface ContainerNow {
  readonly name: string;
  /** Such as `Running` or `Waiting (CrashLoopBackOff)`. */
  readonly state: string;
  readonly restarts: number;
}

export interface Explanation {
  readonly pod: { readonly uid: string; readonly name: string; readonly namespace: string };
  readonly steps: readonly Step[];
  readonly phase: string;
  readonly ready: boolean;
  readonly containers: readonly ContainerNow[];
  /** What the pod waits for; empty when it waits for nothing. */
  readonly waitsFor: readonly string[];
  /** What would unblock it, one for each thing it waits for that somebody could help with. */
  readonly unblock: readonly string[];
}

/** Events that only repeat what an effect or a transition already tells. */
const repeatedEvents = new Set(['Created', 'Started', 'Killing', 'SandboxChanged', 'BackOff']);

/** Explains from the entries of one pod, oldest first; those about the node tell why nothing moves. */
export function explainPod(entries: readonly Entry[], node: readonly Entry[], nowMs: number): Explanation {
  const last = entries.at(-1);
  if (last?.pod === undefined) throw new Error('there are no entries of this pod');
  const containers = containersNow(entries);
  const reasons = [
    ...lifeReasons(entries, nowMs),
    ...containerReasons(entries, containers, nowMs),
    ...nodeReasons(node),
  ];
  return {
    pod: last.pod,
    steps: entries.filter(isStep).map(toStep),
    phase: afterArrow(lastOf(entries, 'pod.phase')?.message) ?? 'Pending',
    ready: afterArrow(lastOf(entries, 'pod.ready')?.message) === 'True',
    containers,
    waitsFor: reasons.map(({ waitsFor }) => waitsFor),
    unblock: reasons.flatMap(({ unblock }) => unblock ?? []),
  };
}

interface Reason {
  readonly waitsFor: string;
  readonly unblock?: string;
}

function isStep(entry: Entry): boolean {
  if (entry.level === 'debug' || entry.level === 'trace') return false;
  return !(entry.event?.type === 'Normal' && repeatedEvents.has(entry.event.reason));
}

function toStep(entry: Entry): Step {
  const { timeMs, what, message, container, because, durationMs, error } = entry;
  return {
    timeMs,
    what,
    message,
    problem: entry.level === 'error' || entry.level === 'warn',
    ...(container === undefined ? {} : { container }),
    ...(because === undefined ? {} : { because }),
    ...(durationMs === undefined ? {} : { durationMs }),
    ...(error === undefined ? {} : { error }),
  };
}

function containersNow(entries: readonly Entry[]): ContainerNow[] {
  const byName = new Map<string, ContainerNow>();
  for (const { what, container, message, data } of entries) {
    if (what !== 'container.state' || container === undefined) continue;
    byName.set(container, {
      name: container,
      state: afterArrow(message) ?? message,
      restarts: Number(data?.restartCount ?? 0),
    });
  }
  return [...byName.values()];
}

/** Where the pod is in its life: over, being stopped, waiting for its turn, refused. */
function lifeReasons(entries: readonly Entry[], nowMs: number): Reason[] {
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

function refusals(entries: readonly Entry[]): Reason[] {
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

const advice: Readonly<Record<string, string>> = {
  CrashLoopBackOff: 'it is tried again by itself; what makes it exit is in its log and its last exit code',
  ImagePullBackOff:
    'it is tried again by itself; check the image name, that the registry has it and that it may be pulled',
  ErrImagePull:
    'it is tried again by itself; check the image name, that the registry has it and that it may be pulled',
  ErrImageNeverPull: 'put the image on the machine, or change imagePullPolicy',
  InvalidImageName: 'correct the image name in the pod',
  CreateContainerConfigError: 'correct what the message names in the pod, or provide what is missing',
  CreateContainerError: 'the runtime refused the container; the message says why',
  RunContainerError: 'the container could not be started; check its command and image',
  PostStartHookError: 'its postStart hook failed; check the hook',
};

function containerReasons(
  entries: readonly Entry[],
  containers: readonly ContainerNow[],
  nowMs: number,
): Reason[] {
  return containers
    .flatMap(({ name, state }): Reason[] => {
      const [, reason] = /^Waiting \((.+)\)$/.exec(state) ?? [];
      if (reason === undefined || reason === 'ContainerCreating' || reason === 'PodInitializing') return [];
      const waiting = entries.findLast(
        ({ what, container }) => what === 'container.state' && container === name,
      );
      const backoff = entries.findLast(
        ({ what, container }) => what === 'container.wait' && container === name,
      );
      const endsMs = backoff === undefined ? 0 : backoff.timeMs + Number(backoff.data?.waitMs ?? 0);
      const until =
        reason === 'CrashLoopBackOff' && endsMs > nowMs
          ? `, next try at ${clockTime(endsMs)} (in ${Math.ceil((endsMs - nowMs) / 1000)}s)`
          : '';
      return [
        {
          waitsFor: `container ${name}: ${reason}${until}: ${waiting?.because ?? ''}`,
          ...adviceFor(name, reason, entries),
        },
      ];
    })
    .concat(volumeAndNetworkReasons(entries));
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

/** Warnings since the last plan that keep the pod from starting at all. */
function volumeAndNetworkReasons(entries: readonly Entry[]): Reason[] {
  const planned = entries.findLast(({ what }) => what === 'pod.plan')?.seq ?? 0;
  const blocking = entries.findLast(
    ({ event, seq }) => seq > planned && ['FailedMount', 'NetworkNotReady'].includes(event?.reason ?? ''),
  );
  if (blocking === undefined) return [];
  return [
    {
      waitsFor: `${blocking.event?.reason}: ${blocking.message}`,
      unblock:
        blocking.event?.reason === 'FailedMount'
          ? 'correct spec.volumes of the pod'
          : "make the node's network ready (a CNI configuration)",
    },
  ];
}

/** What keeps the whole node from syncing pods. */
function nodeReasons(node: readonly Entry[]): Reason[] {
  const gate = node.findLast(({ what }) => what === 'loop.gate');
  if (gate?.because === undefined) return [];
  return [{ waitsFor: `the node: ${gate.because}`, unblock: 'start the container runtime, or mend it' }];
}

function lastOf(entries: readonly Entry[], what: string): Entry | undefined {
  return entries.findLast((entry) => entry.what === what);
}

/** What stands behind the last arrow of `a → b`. */
function afterArrow(message: string | undefined): string | undefined {
  return message?.split(' → ').at(-1)?.trim();
}

/** As the clock on the wall shows it. */
export function clockTime(timeMs: number): string {
  const time = new Date(timeMs);
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}

/** The table of known faults of container runtimes: how each is recognised, and what the agent does about it. */
import { type CriError, isDeadlineExceeded, isNotFound, isUnavailable, isUnimplemented } from './errors.js';
import type { ObservedState } from './observed.js';
import type { CriMethodName } from './runtime.js';
import { hasPrefixedMark, isNameReserved, isNotImplemented } from './runtime-texts.js';

/** What was seen of the runtime where one of its faults may be the cause. */
export type FaultSymptom =
  /** A call failed. */
  | { readonly seen: 'failure'; readonly call: CriMethodName; readonly error: CriError }
  /** A container has to be removed or replaced. */
  | { readonly seen: 'container'; readonly state: ObservedState }
  /** A container ended; `killedByKernel` says whether the kernel killed it for want of memory. */
  | {
      readonly seen: 'exit';
      readonly exitCode: number;
      readonly reason: string;
      readonly killedByKernel: boolean;
    }
  /** A container should start in a sandbox that was listed as ready. */
  | { readonly seen: 'start'; readonly sandboxEnded: boolean }
  /** The stream of events came to an end that the agent did not ask for. */
  | { readonly seen: 'events'; readonly error: unknown }
  /** An image that new sandboxes need. */
  | { readonly seen: 'sandbox image'; readonly pinned: boolean };

export interface KnownFault {
  /** What the runtime does; the sentence goes on after "the runtime". */
  readonly fault: string;
  /** The runtimes that were seen with it. */
  readonly runtimes: string;
  /** How it is recognised, in words for `docs/runtime-faults.md`. */
  readonly sign: string;
  readonly matches: (symptom: FaultSymptom) => boolean;
  /** What the agent does about it. */
  readonly done: string;
  /** Where it is reported, as `owner/repository#number`; empty where no report is known. */
  readonly upstream: readonly string[];
  readonly level: 'warn' | 'info';
}

const creations: readonly CriMethodName[] = ['runPodSandbox', 'createContainer'];
const stops: readonly CriMethodName[] = ['stopContainer', 'stopPodSandbox'];

function failed(
  symptom: FaultSymptom,
  calls: readonly CriMethodName[],
  matches: (error: CriError) => boolean,
): boolean {
  return symptom.seen === 'failure' && calls.includes(symptom.call) && matches(symptom.error);
}

export const oomKilledReason = 'OOMKilled';

/** In the order in which they are looked for: the first that matches is the fault. */
export const knownFaults = {
  NameReserved: {
    fault: 'keeps the name of a sandbox or container for one that it never finished',
    runtimes: 'containerd, CRI-O',
    sign: '`RunPodSandbox` or `CreateContainer` fails with a text that says that the name is reserved',
    matches: (symptom) => failed(symptom, creations, isNameReserved),
    done: 'the same name is tried for a minute, then that of the next attempt',
    upstream: ['containerd/containerd#4604', 'cri-o/cri-o#7010'],
    level: 'warn',
  },
  AnswerLost: {
    fault: 'gives no answer to a call that creates something, and may have done it all the same',
    runtimes: 'containerd, CRI-O',
    sign: '`RunPodSandbox` or `CreateContainer` fails with `DeadlineExceeded` or `Unavailable`',
    matches: (symptom) =>
      failed(symptom, creations, (error) => isDeadlineExceeded(error) || isUnavailable(error)),
    done: 'the runtime is listed before the next try, and what it has made is used or removed',
    upstream: ['containerd/containerd#9947', 'containerd/containerd#12438'],
    level: 'warn',
  },
  ImageVolumeMarkHidden: {
    fault: 'puts its own words before the mark of a failed image volume, by which such failures are counted',
    runtimes: 'containerd 2',
    sign: '`CreateContainer` fails with `failed to mount image volume: ` before `ImageVolumeMountFailed`',
    matches: (symptom) => failed(symptom, ['createContainer'], (error) => hasPrefixedMark(error.details)),
    done: 'the words are skipped, and the failure counts as that of an image volume',
    upstream: [],
    level: 'info',
  },
  StopStuck: {
    fault: 'does not end the stop of a container or sandbox in time, as its shim hangs',
    runtimes: 'containerd',
    sign: '`StopContainer` or `StopPodSandbox` fails with `DeadlineExceeded`',
    matches: (symptom) => failed(symptom, stops, isDeadlineExceeded),
    done: 'the pod stays in termination and its stop is tried again; other pods do not wait for it',
    upstream: ['containerd/containerd#8847', 'containerd/containerd#14081'],
    level: 'warn',
  },
  StopOfMissing: {
    fault: 'does not know a container or sandbox any more that it has just listed',
    runtimes: 'containerd, CRI-O',
    sign: '`StopContainer` or `StopPodSandbox` fails with `NotFound`',
    matches: (symptom) => failed(symptom, stops, isNotFound),
    done: 'it counts as stopped',
    upstream: [],
    level: 'info',
  },
  ResizeNotTold: {
    fault: 'cannot be told that a pod as a whole was resized, and says so in its own words',
    runtimes: 'containerd, CRI-O',
    sign: '`UpdatePodSandboxResources` fails with `Unimplemented`, or with `Unknown` and `not implemented`',
    matches: (symptom) => failed(symptom, ['updatePodSandboxResources'], isNotImplemented),
    done: 'the pod is resized by its cgroup and its containers alone',
    upstream: ['containerd/containerd#11339', 'cri-o/cri-o#8990'],
    level: 'info',
  },
  PodStatsFail: {
    fault: 'measures no pod at all, as it cannot measure one of them',
    runtimes: 'containerd',
    sign: '`ListPodSandboxStats` fails other than with `Unimplemented`',
    matches: (symptom) => failed(symptom, ['listPodSandboxStats'], (error) => !isUnimplemented(error)),
    done: 'the statistics of a pod are the sums of its containers until the call works again',
    upstream: ['containerd/containerd#10013'],
    level: 'warn',
  },
  StateUnknown: {
    fault: 'does not know the state of a container, which may still run',
    runtimes: 'containerd after a restart',
    sign: 'The state of a container is `CONTAINER_UNKNOWN`',
    matches: (symptom) => symptom.seen === 'container' && symptom.state === 'unknown',
    done: 'the container is stopped before it is removed or replaced',
    upstream: ['kubernetes/kubernetes#69060', 'containerd/containerd#4655'],
    level: 'info',
  },
  OomReasonMissing: {
    fault: 'does not say that the kernel killed a container for want of memory',
    runtimes: 'containerd, CRI-O',
    sign: 'A container failed with another reason than `OOMKilled`, and the kernel log tells of an OOM kill in it',
    matches: (symptom) =>
      symptom.seen === 'exit' &&
      symptom.exitCode !== 0 &&
      symptom.reason !== oomKilledReason &&
      symptom.killedByKernel,
    done: 'the reason of the end is set to `OOMKilled`',
    upstream: ['containerd/containerd#8180', 'cri-o/cri-o#6580'],
    level: 'info',
  },
  SandboxEndShownLate: {
    fault: 'shows a sandbox as ready after its end, while starts in it already fail',
    runtimes: 'containerd',
    sign: 'A start in a sandbox fails or is due, and the sandbox turns out to have ended within 200 ms',
    matches: (symptom) => symptom.seen === 'start' && symptom.sandboxEnded,
    done: 'the start does not count as an attempt of the container, and the pod gets a new sandbox at once',
    upstream: [],
    level: 'info',
  },
  EventsEnd: {
    fault: 'ends the stream of its events, with `Canceled`, `Unavailable` or no error, and replays none',
    runtimes: 'containerd, CRI-O',
    sign: 'The stream of events ends other than with `Unimplemented`, and the agent did not end it',
    matches: (symptom) => symptom.seen === 'events' && !isUnimplemented(symptom.error),
    done: 'pods are listed each second until the stream is back, and all of them when it is',
    upstream: ['kubernetes/kubernetes#129827', 'containerd/containerd#10390'],
    level: 'warn',
  },
  SandboxImageNotPinned: {
    fault: 'does not mark the image of sandboxes as pinned, without which no pod can start',
    runtimes: 'older containerd',
    sign: 'The image that the runtime uses for sandboxes is not `pinned` in its list of images',
    matches: (symptom) => symptom.seen === 'sandbox image' && !symptom.pinned,
    done: 'the image counts as used, and no garbage collection removes it',
    upstream: ['containerd/containerd#6352', 'kubernetes/kubernetes#81756'],
    level: 'info',
  },
} as const satisfies Readonly<Record<string, KnownFault>>;

export type KnownFaultId = keyof typeof knownFaults;

/** Undefined for what no known fault explains. */
export function recogniseFault(symptom: FaultSymptom): KnownFaultId | undefined {
  for (const [id, { matches }] of Object.entries(knownFaults)) {
    // Object.entries widens the keys of the table to strings.
    if (matches(symptom)) return id as KnownFaultId;
  }
  return undefined;
}

/** What `nodelet explain` says of it. */
export function faultText(id: KnownFaultId): string {
  const { fault, done } = knownFaults[id];
  return `known fault of the runtime: it ${fault}; done: ${done}`;
}

/**
 * Gets around names that the runtime keeps for something it does not have. A runtime reserves the name of a
 * sandbox or container when it begins to create it; if the call hangs or breaks, the name can stay taken until
 * the runtime restarts, and every further try with that name fails.
 */
import { BoundedMap, type Clock } from '../../async/index.js';
import { CriError, faultText, recogniseFault } from '../../cri/index.js';
import type { PodRef, Timeline } from '../../timeline/index.js';
import { faultEntry } from '../fault-entry.js';

/** Time for the call that holds the name to end, and for a relist to show what it created. */
export const reservedPatienceMs = 60_000;
/** More than a node has; a pod that is forgotten waits once more. */
const maxPods = 10_000;

/** The attempt is part of the name in the runtime. */
export interface AttemptedName {
  readonly pod: PodRef;
  /** Absent for the sandbox. */
  readonly container?: string;
  readonly attempt: number;
}

interface Reservation {
  /** The attempt that was asked for. */
  readonly wanted: number;
  /** The attempt whose name is reserved. */
  readonly tried: number;
  readonly sinceMs: number;
}

export class ReservedNames {
  readonly #clock: Clock;
  readonly #timeline: Pick<Timeline, 'record'>;
  /** By the pod's UID, then by the container's name; the sandbox has the empty one. */
  readonly #byPod = new BoundedMap<string, Map<string, Reservation>>({ maxEntries: maxPods });

  constructor({ clock, timeline }: { readonly clock: Clock; readonly timeline: Pick<Timeline, 'record'> }) {
    this.#clock = clock;
    this.#timeline = timeline;
  }

  /** The attempt to use for the wanted one: a later one if its name has been reserved for long. */
  attemptFor({ pod, container = '', attempt }: AttemptedName): number {
    const reservation = this.#byPod.get(pod.uid)?.get(container);
    if (reservation?.wanted !== attempt) return attempt;
    const isPatient = this.#clock.monotonic() - reservation.sinceMs < reservedPatienceMs;
    return isPatient ? reservation.tried : reservation.tried + 1;
  }

  /** The runtime failed to create the wanted attempt under the name of the `used` one. */
  failed({ pod, container, attempt }: AttemptedName, used: number, error: unknown): void {
    if (!(error instanceof CriError)) return;
    const call = container === undefined ? 'runPodSandbox' : 'createContainer';
    const fault = recogniseFault({ seen: 'failure', call, error });
    if (fault !== 'NameReserved') {
      if (fault !== undefined) this.#timeline.record(faultEntry(fault, { pod, container, error }));
      return;
    }
    const names = this.#byPod.get(pod.uid) ?? new Map<string, Reservation>();
    const known = names.get(container ?? '');
    if (known?.wanted === attempt && known.tried === used) return;
    names.set(container ?? '', { wanted: attempt, tried: used, sinceMs: this.#clock.monotonic() });
    this.#byPod.set(pod.uid, names);
    this.#timeline.record({
      kind: 'problem',
      what: 'runtime.name',
      message: `the runtime reserves the name of ${container ?? 'the sandbox'}, attempt ${used}; ${faultText(fault)}`,
      because: error.details,
      pod,
      ...(container === undefined ? {} : { container }),
      level: 'warn',
      data: { attempt: used, fault },
    });
  }

  forget(podUid: string): void {
    this.#byPod.delete(podUid);
  }
}

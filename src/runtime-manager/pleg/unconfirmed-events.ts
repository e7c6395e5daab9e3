/** What runtime events have told and no look has shown yet: the pods concerned are looked at until it shows. */
import type { Clock, Timer } from '../../async/index.js';
import type { ObservedPod, ObservedState } from '../../cri/index.js';

export type AwaitedKind = 'start' | 'exit' | 'delete';

/** `starts` when nothing else is waited for: some may be the agent's own, shown by the look that follows them. */
export type Strangers = 'none' | 'starts' | 'ends';

export interface AwaitedChangesOptions {
  readonly clock: Clock;
  readonly capacity: number;
  /** The longest time between two looks for a change; the first may be later. */
  readonly maxDelayMs: number;
  /** A place in the order of all looks and events. */
  readonly nextOrder: () => number;
  /** The pod that a container or sandbox belongs to. */
  readonly podOf: (id: string) => string | undefined;
  /** Has the pod looked at for what happened to a container or sandbox. */
  readonly look: (uid: string, change: { readonly id: string; readonly kind: AwaitedKind }) => void;
  /** Told what there is of unknown pods that only a look at everything can show. */
  readonly unknownPods: (strangers: Strangers) => void;
  /** Told that a change found no room. */
  readonly onOverflow: () => void;
}

interface AwaitedChange {
  readonly id: string;
  kind: AwaitedKind;
  /** Unknown while no look has shown a pod with this id. */
  uid: string | undefined;
  /** A look that began earlier says nothing about it. */
  order: number;
  delayMs: number;
  looksLeft: number;
  /** There is one while the next look is not due. */
  timer: Timer | undefined;
}

/** A later event of a container makes up for an earlier one, whatever order they arrive in. */
const rank: Readonly<Record<AwaitedKind, number>> = { start: 0, exit: 1, delete: 2 };
/** Nobody acts upon a start that is seen late; ends and removals are looked for until they show. */
const looks: Readonly<Record<AwaitedKind, number>> = { start: 2, exit: Infinity, delete: Infinity };
const firstDelayMs = 10;

/** Whether a container or sandbox that is listed so, or not at all, has done what an event told. */
export function shows(kind: AwaitedKind, state: ObservedState | undefined): boolean {
  switch (kind) {
    case 'start':
      return state !== undefined && state !== 'created';
    case 'exit':
      return state !== 'created' && state !== 'running';
    case 'delete':
      return state === undefined;
  }
}

export class UnconfirmedEvents {
  readonly #options: AwaitedChangesOptions;
  readonly #changes = new Map<string, AwaitedChange>();

  constructor(options: AwaitedChangesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#changes.size;
  }

  expect(id: string, kind: AwaitedKind, podUid: string | undefined, lagMs = 0): void {
    const uid = podUid ?? this.#options.podOf(id);
    const known = this.#changes.get(id);
    if (known === undefined && this.#changes.size >= this.#options.capacity) {
      this.#options.onOverflow();
      return;
    }
    if (known !== undefined && rank[known.kind] > rank[kind]) return;
    known?.timer?.cancel();
    const change: AwaitedChange = {
      id,
      kind,
      uid: uid ?? known?.uid,
      order: this.#options.nextOrder(),
      delayMs: known?.kind === kind ? Math.min(known.delayMs, lagMs) : lagMs,
      looksLeft: looks[kind],
      timer: undefined,
    };
    this.#changes.set(id, change);
    if (change.uid === undefined) this.#tellOfStrangers();
    else this.#lookLater(change, change.uid);
  }

  /** Tells of a look at one pod. */
  looked(uid: string, pod: ObservedPod | undefined, order: number): void {
    if (this.#changes.size === 0) return;
    this.#meet((met, change) => met === uid && change.order < order);
    for (const change of this.#changes.values()) {
      if (change.uid === uid && change.order < order) this.#seen(change, uid, pod);
    }
    this.#tellOfStrangers();
  }

  /** Tells of a look at everything. */
  lookedAtAll(podByUid: (uid: string) => ObservedPod | undefined, order: number): void {
    if (this.#changes.size === 0) return;
    this.#meet((_uid, change) => change.order < order);
    for (const change of this.#changes.values()) {
      if (change.order > order) continue;
      const { uid, id, kind } = change;
      if (uid !== undefined) this.#seen(change, uid, podByUid(uid));
      else if (shows(kind, undefined) || --change.looksLeft <= 0) this.#changes.delete(id);
    }
    this.#tellOfStrangers();
  }

  stop(): void {
    for (const { timer } of this.#changes.values()) timer?.cancel();
    this.#changes.clear();
  }

  /** Finds the pods of strangers; those that the look does not answer, as it began before the event, need one. */
  #meet(isAnswered: (uid: string, change: AwaitedChange) => boolean): void {
    for (const change of this.#changes.values()) {
      if (change.uid !== undefined) continue;
      change.uid = this.#options.podOf(change.id);
      if (change.uid !== undefined && !isAnswered(change.uid, change)) this.#lookLater(change, change.uid);
    }
  }

  #seen(change: AwaitedChange, uid: string, pod: ObservedPod | undefined): void {
    const { maxDelayMs } = this.#options;
    const { id, kind, timer } = change;
    timer?.cancel();
    if (shows(kind, stateIn(pod, id))) {
      this.#changes.delete(id);
      return;
    }
    // A look that came before it was due only puts off the next one.
    if (timer === undefined) {
      if (--change.looksLeft <= 0) {
        this.#changes.delete(id);
        return;
      }
      change.delayMs = Math.min(Math.max(firstDelayMs, change.delayMs * 2), maxDelayMs);
    }
    this.#lookLater(change, uid);
  }

  #lookLater(change: AwaitedChange, uid: string): void {
    const { clock, look, nextOrder } = this.#options;
    change.timer = undefined;
    if (change.delayMs === 0) {
      look(uid, change);
      return;
    }
    change.timer = clock.setTimer(change.delayMs, () => {
      change.timer = undefined;
      change.order = nextOrder();
      look(uid, change);
    });
  }

  #tellOfStrangers(): void {
    let strangers: Strangers = 'none';
    for (const { uid, kind } of this.#changes.values()) {
      if (uid !== undefined || kind === 'delete') continue;
      strangers = kind === 'exit' ? 'ends' : strangers === 'none' ? 'starts' : strangers;
    }
    this.#options.unknownPods(strangers);
  }
}

function stateIn(pod: ObservedPod | undefined, id: string): ObservedState | undefined {
  const isIt = (one: { readonly id: string }): boolean => one.id === id;
  return (pod?.containers.find(isIt) ?? pod?.sandboxes.find(isIt))?.state;
}

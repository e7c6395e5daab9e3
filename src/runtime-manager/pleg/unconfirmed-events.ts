/** Events not yet confirmed by a relist. Their pods are relisted until the change shows. */
import type { Clock, Timer } from '../../async/index.js';
import type { ObservedPod, ObservedState } from '../../cri/index.js';

export type AwaitedKind = 'start' | 'exit' | 'delete';

/**
 * The events of unknown pods. `starts`: starts only; some may be the agent's own and show in its next relist.
 */
export type Strangers = 'none' | 'starts' | 'ends';

export interface AwaitedChangesOptions {
  readonly clock: Clock;
  readonly capacity: number;
  /** The longest time between two relists for a change; the first may be later. */
  readonly maxDelayMs: number;
  /** A position in the order of all relists and events. */
  readonly nextOrder: () => number;
  /** The pod that a container or sandbox belongs to. */
  readonly podOf: (id: string) => string | undefined;
  /** Relists the pod for what happened to a container or sandbox. */
  readonly relistPod: (uid: string, change: { readonly id: string; readonly kind: AwaitedKind }) => void;
  /** Reports which events belong to unknown pods; only a relist of all pods can resolve them. */
  readonly unknownPods: (strangers: Strangers) => void;
  /** Called when there is no room for another event. */
  readonly onOverflow: () => void;
}

interface AwaitedChange {
  readonly id: string;
  kind: AwaitedKind;
  /** Undefined until a relist shows which pod has this id. */
  uid: string | undefined;
  /** A relist that began earlier says nothing about this change. */
  order: number;
  delayMs: number;
  relistsLeft: number;
  /** Set while the next relist is not due. */
  timer: Timer | undefined;
}

/** A container's later event supersedes an earlier one, in whatever order they arrive. */
const rank: Readonly<Record<AwaitedKind, number>> = { start: 0, exit: 1, delete: 2 };
/** Nobody acts on a start seen late; exits and removals are relisted until they show. */
const relistTries: Readonly<Record<AwaitedKind, number>> = { start: 2, exit: Infinity, delete: Infinity };
const firstDelayMs = 10;

/** Whether a container or sandbox in this state (undefined: not listed) confirms the event. */
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
      relistsLeft: relistTries[kind],
      timer: undefined,
    };
    this.#changes.set(id, change);
    if (change.uid === undefined) this.#tellOfStrangers();
    else this.#lookLater(change, change.uid);
  }

  /** Notes a relist of one pod. */
  relisted(uid: string, pod: ObservedPod | undefined, order: number): void {
    if (this.#changes.size === 0) return;
    this.#meet((met, change) => met === uid && change.order < order);
    for (const change of this.#changes.values()) {
      if (change.uid === uid && change.order < order) this.#seen(change, uid, pod);
    }
    this.#tellOfStrangers();
  }

  /** Notes a relist of all pods. */
  lookedAtAll(podByUid: (uid: string) => ObservedPod | undefined, order: number): void {
    if (this.#changes.size === 0) return;
    this.#meet((_uid, change) => change.order < order);
    for (const change of this.#changes.values()) {
      if (change.order > order) continue;
      const { uid, id, kind } = change;
      if (uid !== undefined) this.#seen(change, uid, podByUid(uid));
      else if (shows(kind, undefined) || --change.relistsLeft <= 0) this.#changes.delete(id);
    }
    this.#tellOfStrangers();
  }

  stop(): void {
    for (const { timer } of this.#changes.values()) timer?.cancel();
    this.#changes.clear();
  }

  /** Finds the pods of unknown ids. A pod is relisted again if this relist began before its event. */
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
    // A relist ahead of its time only delays the next one.
    if (timer === undefined) {
      if (--change.relistsLeft <= 0) {
        this.#changes.delete(id);
        return;
      }
      change.delayMs = Math.min(Math.max(firstDelayMs, change.delayMs * 2), maxDelayMs);
    }
    this.#lookLater(change, uid);
  }

  #lookLater(change: AwaitedChange, uid: string): void {
    const { clock, relistPod, nextOrder } = this.#options;
    change.timer = undefined;
    if (change.delayMs === 0) {
      relistPod(uid, change);
      return;
    }
    change.timer = clock.setTimer(change.delayMs, () => {
      change.timer = undefined;
      change.order = nextOrder();
      relistPod(uid, change);
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

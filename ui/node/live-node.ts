/** The node as it is now: its pods and its timeline, followed, and the line of each pod in the table. */
import { type PodView, toneOf, viewPod } from '../../src/cli/run/pod-view.js';
import type { Pod } from '../../src/kube/types/index.js';
import type { TimelineIsCurrent } from '../../src/server/timeline.js';
import type { PodWatchEvent } from '../../src/server/watch.js';
import type { TimelineEntry } from '../../src/timeline/entry.js';
import { Cell } from '../cell.js';
import { type FollowState, follow } from './followed.js';
import { Paces, paceOf } from './pace.js';
import { EntryRings } from './rings.js';
import { SlicedWork } from './sliced-work.js';

export interface LivePod {
  readonly uid: string;
  readonly pod: Pod;
  readonly line: Cell<PodView>;
  /** Counts what was told of the pod, for what draws all of it. */
  readonly version: Cell<number>;
}

export interface PodCounts {
  readonly waiting: number;
  readonly failing: number;
}

/** Lines whose text goes on without anything being told: countdowns and ages. */
const tickMs = 1_000;

export class LiveNode {
  /** In the order of namespaces and names. */
  readonly order = new Cell<readonly string[]>([]);
  readonly state = new Cell<FollowState>({ kind: 'connecting' });
  /** Kept with each line, so that nobody has to look at all lines for them. */
  readonly counts = new Cell<PodCounts>({ waiting: 0, failing: 0 });
  /** Counts the entries that are about no pod. */
  readonly nodeVersion = new Cell(0);
  readonly #pods = new Map<string, LivePod>();
  readonly #paces = new Paces();
  #told = new Set<string>();
  #rings = new EntryRings();
  /** What a new stream of entries has told, until it is as far as the old one was. */
  #incoming: EntryRings | undefined;
  #clockAheadMs = 0;
  #ticks = 0;
  #states: Record<'pods' | 'timeline', FollowState> = {
    pods: { kind: 'connecting' },
    timeline: { kind: 'connecting' },
  };
  readonly #work = new SlicedWork<string>((uid) => this.#drawLine(uid));
  readonly #stops: (() => void)[];

  constructor() {
    this.#stops = [
      follow({
        path: '/debug/watch?allowWatchBookmarks=true',
        begin: () => this.#told.clear(),
        line: (value) => this.#podTold(value as PodWatchEvent | { readonly type: 'BOOKMARK' }),
        state: (state) => this.#stateChanged('pods', state),
      }),
      follow({
        path: '/debug/timeline?follow=1',
        begin: () => {
          this.#incoming = new EntryRings();
        },
        line: (value) => this.#entryTold(value as TimelineEntry | TimelineIsCurrent),
        state: (state) => this.#stateChanged('timeline', state),
      }),
    ];
    const tick = setInterval(() => this.#tick(), tickMs);
    this.#stops.push(() => clearInterval(tick));
  }

  close(): void {
    for (const stop of this.#stops) stop();
    this.#work.close();
  }

  /** By the clock of the node. */
  nowMs(): number {
    return Date.now() + this.#clockAheadMs;
  }

  pod(uid: string): LivePod | undefined {
    return this.#pods.get(uid);
  }

  entriesOf(uid: string): readonly TimelineEntry[] {
    return this.#rings.ofPod(uid);
  }

  nodeEntries(): readonly TimelineEntry[] {
    return this.#rings.ofNode();
  }

  /** Also those that are gone, as long as their entries are kept. */
  knownUids(): readonly string[] {
    return this.#rings.pods();
  }

  #stateChanged(which: 'pods' | 'timeline', state: FollowState): void {
    this.#states[which] = state;
    const { pods, timeline } = this.#states;
    const worst =
      [pods, timeline].find(({ kind }) => kind === 'refused' || kind === 'lost') ??
      (pods.kind === 'live' ? timeline : pods);
    const before = this.state.value;
    if (worst.kind !== before.kind) {
      this.state.set(worst);
      return;
    }
    // It is lost from the first moment on, however often it was asked again.
    const isNews = 'because' in worst && 'because' in before && worst.because !== before.because;
    if (isNews) this.state.set({ ...worst, sinceMs: before.sinceMs });
  }

  #podTold(event: PodWatchEvent | { readonly type: 'BOOKMARK' }): void {
    if (event.type === 'BOOKMARK') {
      // What the node does not have any more.
      for (const uid of [...this.#pods.keys()]) if (!this.#told.has(uid)) this.#forget(uid);
      return;
    }
    const { object: pod } = event;
    const { uid } = pod.metadata;
    const known = this.#pods.get(uid);
    if (event.type === 'DELETED') {
      this.#forget(uid);
      return;
    }
    this.#told.add(uid);
    const line = known?.line ?? new Cell(this.#lineOf(pod));
    this.#pods.set(uid, { uid, pod, line, version: known?.version ?? new Cell(0) });
    if (known === undefined) {
      this.#count(line.value, 1);
      this.#reorder();
    }
    this.#work.add(uid);
  }

  #forget(uid: string): void {
    const known = this.#pods.get(uid);
    if (known === undefined) return;
    this.#count(known.line.value, -1);
    this.#paces.delete(uid);
    this.#pods.delete(uid);
    this.#reorder();
  }

  #count({ waitsFor, status }: PodView, by: 1 | -1): void {
    const { waiting, failing } = this.counts.value;
    const next = {
      waiting: waiting + (waitsFor === '' ? 0 : by),
      failing: failing + (toneOf(status) === 'bad' ? by : 0),
    };
    if (next.waiting !== waiting || next.failing !== failing) this.counts.set(next);
  }

  #reorderPending = false;
  /** Many come at once. */
  #reorder(): void {
    if (this.#reorderPending) return;
    this.#reorderPending = true;
    setTimeout(() => {
      this.#reorderPending = false;
      const fullName = ({ pod: { metadata } }: LivePod): string => `${metadata.namespace}/${metadata.name}`;
      const byName = [...this.#pods.values()]
        .map((live) => ({ uid: live.uid, name: fullName(live) }))
        .sort((a, b) => (a.name < b.name ? -1 : 1));
      this.order.set(byName.map(({ uid }) => uid));
    }, 30);
  }

  #entryTold(entry: TimelineEntry | TimelineIsCurrent): void {
    if ('current' in entry) {
      this.#clockAheadMs = entry.nowMs - Date.now();
      if (this.#incoming !== undefined) this.#rings = this.#incoming;
      this.#incoming = undefined;
      for (const uid of this.#pods.keys()) this.#work.add(uid);
      this.nodeVersion.set(this.nodeVersion.value + 1);
      return;
    }
    (this.#incoming ?? this.#rings).add(entry);
    if (this.#incoming !== undefined) return;
    if (entry.pod === undefined) this.nodeVersion.set(this.nodeVersion.value + 1);
    else this.#work.add(entry.pod.uid);
  }

  #tick(): void {
    if (document.visibilityState === 'hidden') return;
    this.#ticks++;
    for (const uid of this.#paces.due(this.#ticks)) this.#work.add(uid);
  }

  #lineOf(pod: Pod): PodView {
    const state = pod.metadata.deletionTimestamp === undefined ? 'active' : 'stopping';
    return viewPod(
      { pod, state },
      { ofPod: (uid) => this.#rings.ofPod(uid), ofNode: () => this.#rings.ofNode() },
      this.nowMs(),
    );
  }

  #drawLine(uid: string): void {
    const live = this.#pods.get(uid);
    if (live === undefined) return;
    const next = this.#lineOf(live.pod);
    const isStopping = live.pod.metadata.deletionTimestamp !== undefined;
    this.#paces.set(uid, isStopping ? 'seconds' : paceOf(next));
    if (!isSame(next, live.line.value)) {
      this.#count(live.line.value, -1);
      this.#count(next, 1);
      live.line.set(next);
    }
    live.version.set(live.version.value + 1);
  }
}

function isSame(a: PodView, b: PodView): boolean {
  return (Object.keys(a) as (keyof PodView)[]).every((key) => a[key] === b[key]);
}

/** `/watch` and `/debug/watch`: the current pods, then each change, as watch events of the Kubernetes API. */
import { type Clock, isCancelled, sleep } from '../async/index.js';
import type { Pod, PodStatus } from '../kube/index.js';
import { jsonLines } from './lines.js';
import type { Route } from './routes.js';

export interface WatchedKubelet {
  pods(): readonly Pod[];
  onStatus(listener: (change: { readonly uid: string; readonly status: PodStatus }) => void): () => void;
  onPods(listener: () => void): () => void;
  readonly clock: Clock;
}

export interface PodWatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: Pod;
}

/** Changes within this time are sent together. */
const collectMs = 50;
/** A change that rings no bell, such as a status that was forgotten, is seen after this. */
const lookAgainMs = 1_000;

export function watchRoute(kubelet: WatchedKubelet, path: `/${string}`): Route {
  return {
    kind: 'resource',
    path,
    methods: ['GET'],
    produces: 'application/jsonl',
    handle: ({ query }) =>
      jsonLines(async (write, signal) => {
        let wantsBookmark = query.get('allowWatchBookmarks') === 'true';
        const changes = new ChangeBell(kubelet);
        const told = new Map<string, SentPod>();
        try {
          for (;;) {
            for (const event of podChanges(told, kubelet.pods())) await write(event);
            // Says that all pods that there are have been told.
            if (wantsBookmark) await write({ type: 'BOOKMARK' });
            wantsBookmark = false;
            await changes.wait(signal);
            await sleep(kubelet.clock, collectMs, signal);
          }
        } finally {
          changes.close();
        }
      }),
  };
}

interface SentPod {
  readonly pod: Pod;
  readonly text: string;
}

/** The changes since the last call; marks them as sent. */
export function podChanges(told: Map<string, SentPod>, pods: readonly Pod[]): PodWatchEvent[] {
  const events: PodWatchEvent[] = [];
  const present = new Set<string>();
  for (const { metadata, spec, status = {} } of pods) {
    const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec, status };
    const uid = metadata.uid;
    const text = JSON.stringify(pod);
    const before = told.get(uid);
    present.add(uid);
    if (before?.text === text) continue;
    told.set(uid, { pod, text });
    events.push({ type: before === undefined ? 'ADDED' : 'MODIFIED', object: pod });
  }
  for (const [uid, { pod }] of told) {
    if (present.has(uid)) continue;
    told.delete(uid);
    events.push({ type: 'DELETED', object: pod });
  }
  return events;
}

/** Rings when pods may have changed since the last wait. */
class ChangeBell {
  readonly #clock: Clock;
  readonly #unsubscribe: (() => void)[];
  #changed = false;
  #wake: AbortController | undefined;

  constructor(kubelet: WatchedKubelet) {
    this.#clock = kubelet.clock;
    this.#unsubscribe = [kubelet.onStatus(() => this.#ring()), kubelet.onPods(() => this.#ring())];
  }

  async wait(signal: AbortSignal): Promise<void> {
    if (!this.#changed) {
      this.#wake = new AbortController();
      const either = AbortSignal.any([signal, this.#wake.signal]);
      await sleep(this.#clock, lookAgainMs, either).catch((error: unknown) => {
        if (!isCancelled(error) || signal.aborted) throw error;
      });
      this.#wake = undefined;
    }
    this.#changed = false;
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  #ring(): void {
    this.#changed = true;
    this.#wake?.abort();
  }
}

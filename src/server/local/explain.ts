/** The timeline for `nodelet explain`: the known pods, and one pod's entries, now or followed. */
import { Channel } from '../../async/index.js';
import type { PodRef, Timeline, TimelineEntry } from '../../timeline/index.js';
import { jsonLines } from '../lines.js';
import { json, type RouteResponse, text } from '../responses.js';
import type { Route, ServerRequest } from '../routes.js';

/** A reader this far behind is no longer following. */
const heldEntries = 1000;

export function explainRoutes(timeline: Timeline): Route[] {
  return [
    {
      kind: 'resource',
      path: '/explain',
      methods: ['GET'],
      produces: 'application/jsonl',
      handle: (request) => explain(timeline, request),
    },
    {
      kind: 'resource',
      path: '/explain/pods',
      methods: ['GET'],
      produces: 'application/json',
      handle: () => json(knownPods(timeline)),
    },
  ];
}

/**
 * Includes deleted pods as long as their entries are kept. The most recently touched pod comes last, but none that is
 * finished after one that goes on: a new pod may run while its predecessor of the same name is still cleaned up.
 */
export function knownPods(timeline: Timeline): { readonly pod: PodRef }[] {
  const known = timeline.pods().flatMap((uid) => {
    const entries = timeline.ofPod(uid);
    const pod = entries.at(-1)?.pod;
    if (pod === undefined) return [];
    const last = entries.findLast(({ what }) => what === 'pod.finished' || what === 'pod.admit');
    return [{ pod, isFinished: last?.what === 'pod.finished' }];
  });
  return [
    ...known.filter(({ isFinished }) => isFinished),
    ...known.filter(({ isFinished }) => !isFinished),
  ].map(({ pod }) => ({ pod }));
}

/** Entries about the node come first: they explain why nothing moves. */
function explain(timeline: Timeline, { query }: ServerRequest): RouteResponse {
  const uid = query.get('uid') ?? '';
  const known = timeline.ofPod(uid);
  if (known.length === 0) return text(404, `no pod with UID ${JSON.stringify(uid)} in the timeline`);
  const follow = query.get('follow') === '1';
  return jsonLines(async (write, signal) => {
    const fresh = new Channel<TimelineEntry>(heldEntries);
    let missed = 0;
    const unsubscribe = follow
      ? timeline.subscribe((entry) => {
          if (entry.pod?.uid === uid && !fresh.trySend(entry)) missed++;
        })
      : () => {};
    try {
      for (const entry of timeline.ofNode()) if (entry.what === 'loop.gate') await write(entry);
      for (const entry of timeline.ofPod(uid)) await write(entry);
      if (follow) await write({ current: true });
      while (follow) {
        const received = await fresh.receive(signal);
        if (received.done) return;
        await write(received.value);
        if (missed > 0) throw new Error(`the reader is too slow: ${missed} entries were left out`);
      }
    } finally {
      unsubscribe();
    }
  });
}

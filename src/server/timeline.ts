/** `/debug/timeline`: the entries of the timeline that are kept, of the node and of every pod, now or followed. */
import { Channel, type Clock } from '../async/index.js';
import type { Timeline, TimelineEntry } from '../timeline/index.js';
import { timelineLimits } from './limits.js';
import { jsonLines } from './lines.js';
import type { Route } from './routes.js';

export const timelinePath = '/debug/timeline';

/** The line between what was kept and what follows. */
export interface TimelineIsCurrent {
  readonly current: true;
  /** The clock of the node, for readers whose own differs. */
  readonly nowMs: number;
}

export function timelineRoute(timeline: Timeline, clock: Clock): Route {
  return {
    kind: 'resource',
    path: timelinePath,
    methods: ['GET'],
    produces: 'application/jsonl',
    handle: ({ query }) => {
      const follow = query.get('follow') === '1';
      return jsonLines(async (write, signal) => {
        const fresh = new Channel<TimelineEntry>(timelineLimits.waitingEntries);
        let missed = 0;
        const unsubscribe = follow
          ? timeline.subscribe((entry) => {
              if (isTold(entry) && !fresh.trySend(entry)) missed++;
            })
          : () => {};
        try {
          for (const entry of kept(timeline)) await write(entry);
          await write({ current: true, nowMs: clock.now() } satisfies TimelineIsCurrent);
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
    },
  };
}

/** Taken at once, so that what is recorded while they are sent comes after them, once. */
function kept(timeline: Timeline): readonly TimelineEntry[] {
  return [...timeline.ofNode(), ...timeline.pods().flatMap((uid) => timeline.ofPod(uid))].filter(isTold);
}

/** What only follows the agent's own steps is left out. */
function isTold({ level }: TimelineEntry): boolean {
  return level !== 'trace';
}

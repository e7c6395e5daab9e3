/** What every controller is given, and how a controller becomes a task that runs. */
import type { Clock } from '../../async/index.js';
import type { KubeObject } from '../../kube/index.js';
import {
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeApi,
  type Resource,
} from '../../kube-client/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { ObjectEvents } from '../events/object-events.js';
import { type KeyOutcome, KeyQueue } from './key-queue.js';
import { keyOfObject } from './kind-cache.js';
import type { ObjectCaches } from './object-caches.js';

export interface ControllerContext {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly timeline: Pick<Timeline, 'record'>;
  readonly caches: ObjectCaches;
  readonly events: ObjectEvents;
  readonly nodeName: string;
}

/** A controller that is set up: its listeners are in place, its work begins with `run`. */
export interface Controller {
  readonly name: string;
  /** Works until the signal aborts, once the copies are complete. */
  run(signal: AbortSignal): Promise<void>;
}

export interface ControllerSetup {
  readonly name: string;
  readonly sync: (key: string, signal: AbortSignal) => Promise<KeyOutcome>;
  /** The kind whose objects are the keys; each change of one is looked at. */
  readonly keys: Resource;
  readonly concurrentKeys?: number;
}

/** Makes the queue of a controller, in which every object of its kind is a key. */
export function queueOf(context: ControllerContext, setup: ControllerSetup): KeyQueue {
  const { clock, timeline, caches } = context;
  const { name, sync, concurrentKeys } = setup;
  const objects = caches.of(setup.keys);
  const queue = new KeyQueue({
    clock,
    sync,
    ...(concurrentKeys === undefined ? {} : { concurrentKeys }),
    onFailure: (key, error, retryAfterMs) =>
      timeline.record({
        kind: 'problem',
        what: 'controller.sync',
        level: isStale(error) ? 'debug' : 'warn',
        message: `The ${name} controller could not bring ${setup.keys.kind} ${key.replace(/^\//, '')} to its wanted state and tries again`,
        data: { controller: name, key, retryAfterMs },
        error,
      }),
    onDropped: () => {
      for (const object of objects.list()) queue.add(keyOfObject(object));
    },
  });
  objects.onChange(({ before, after }) => {
    const object: KubeObject | undefined = after ?? before;
    if (object !== undefined) queue.add(keyOfObject(object));
  });
  return queue;
}

/** The copy was older than the server's objects: the next try has newer ones. */
function isStale(error: unknown): boolean {
  return isConflict(error) || isNotFound(error) || isAlreadyExists(error);
}

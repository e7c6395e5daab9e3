/** Those who watch pods: each has a queue of its own, so that a slow one delays nobody. */
import { Channel } from '../../async/index.js';
import { GrpcError } from '../../grpc/index.js';
import type { WatchPodsEvent } from './gen/pods-api.js';
import { podsApiLimits } from './limits.js';

export interface PodWatcher {
  /** Rejects with what the client is told when the watcher was cut off. */
  next(signal: AbortSignal | undefined): Promise<WatchPodsEvent>;
  leave(): void;
}

export class PodWatchers {
  readonly #queues = new Set<Channel<WatchPodsEvent>>();
  readonly #onDrop: () => void;
  #isClosed = false;

  constructor(onDrop: () => void) {
    this.#onDrop = onDrop;
  }

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  join(): PodWatcher {
    if (this.#isClosed) throw cutOff();
    if (this.#queues.size >= podsApiLimits.watchers)
      throw new GrpcError('ResourceExhausted', `there are ${podsApiLimits.watchers} watchers already`);
    const queue = new Channel<WatchPodsEvent>(podsApiLimits.watcherEvents);
    this.#queues.add(queue);
    return {
      next: async (signal) => {
        const received = await queue.receive(signal);
        if (received.done) throw cutOff();
        return received.value;
      },
      leave: () => {
        this.#queues.delete(queue);
        queue.close();
      },
    };
  }

  send(event: WatchPodsEvent): void {
    for (const queue of this.#queues) {
      if (queue.trySend(event)) continue;
      this.#queues.delete(queue);
      queue.close();
      this.#onDrop();
    }
  }

  /** Cuts off all, and lets nobody join any more. */
  close(): void {
    this.#isClosed = true;
    for (const queue of this.#queues) queue.close();
    this.#queues.clear();
  }
}

function cutOff(): GrpcError {
  return new GrpcError('ResourceExhausted', 'watch client channel closed');
}

/** The container events of an in-process runtime, sent to every open stream. */
import { Channel } from '../async/index.js';
import {
  type ContainerEventResponse,
  type ContainerEventType,
  CriError,
  type PodSandboxStatus,
} from '../cri/index.js';

/** A stream whose reader is this far behind fails. */
const bufferedEvents = 10_000;

export interface PodEventParts<Sandbox> {
  readonly stamp: () => bigint;
  readonly sandboxStatus: (sandbox: Sandbox) => PodSandboxStatus;
  readonly containerStatuses: (sandbox: Sandbox) => ContainerEventResponse['containersStatuses'];
}

export class PodEvents<Sandbox> {
  readonly #parts: PodEventParts<Sandbox>;
  readonly #streams = new Set<Channel<ContainerEventResponse>>();
  readonly #broken = new WeakSet<Channel<ContainerEventResponse>>();

  constructor(parts: PodEventParts<Sandbox>) {
    this.#parts = parts;
  }

  /** How many streams are open. */
  get readers(): number {
    return this.#streams.size;
  }

  emit(type: ContainerEventType, containerId: string, sandbox: Sandbox): void {
    if (this.#streams.size === 0) return;
    const event: ContainerEventResponse = {
      containerId,
      containerEventType: type,
      createdAt: this.#parts.stamp(),
      podSandboxStatus: this.#parts.sandboxStatus(sandbox),
      containersStatuses: this.#parts.containerStatuses(sandbox),
    };
    for (const stream of this.#streams) {
      if (!stream.trySend(event)) {
        this.#streams.delete(stream);
        stream.close();
      }
    }
  }

  async *follow(signal: AbortSignal): AsyncGenerator<ContainerEventResponse, void, undefined> {
    const stream = new Channel<ContainerEventResponse>(bufferedEvents);
    this.#streams.add(stream);
    try {
      for (;;) {
        const received = await stream.receive(signal);
        if (received.done) {
          throw this.#broken.has(stream)
            ? new CriError('Unavailable', 'error reading from server: EOF')
            : new CriError('ResourceExhausted', 'container events were not read in time');
        }
        yield received.value;
      }
    } finally {
      this.#streams.delete(stream);
    }
  }

  /** Ends every open stream with an error. */
  breakStreams(): void {
    for (const stream of this.#streams) {
      this.#broken.add(stream);
      stream.close();
    }
    this.#streams.clear();
  }
}

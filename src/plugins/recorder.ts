/** Writes to the timeline what becomes of plugins; what repeats itself is told quietly. */
import { BoundedMap, errorText } from '../async/index.js';
import type { Timeline } from '../timeline/index.js';
import type { PluginClaim } from './contracts.js';
import { pluginLimits } from './limits.js';

export class PluginRecorder {
  readonly #timeline: Timeline;
  /** The last failure of each socket. */
  readonly #told = new BoundedMap<string, string>({ maxEntries: pluginLimits.sockets });
  #unreadable = '';

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  registered(socket: string, { type, name, endpoint }: PluginClaim, because: string): void {
    this.#told.delete(socket);
    this.#timeline.record({
      kind: 'effect',
      what: 'plugin.register',
      message: `${type} ${name} is registered, its service is at ${endpoint}`,
      because,
      data: { socket, registered: true, type, name },
    });
  }

  refused(socket: string, claim: PluginClaim | undefined, error: unknown, retryMs: number): void {
    const text = errorText(error);
    const isNews = this.#told.get(socket) !== text;
    this.#told.set(socket, text);
    const who = claim === undefined ? `the plugin at ${socket}` : `${claim.type} ${claim.name} at ${socket}`;
    this.#timeline.record({
      kind: 'problem',
      what: 'plugin.register',
      level: isNews ? 'warn' : 'debug',
      message: `${who} is not registered; the next attempt is in ${retryMs / 1000} s`,
      error,
      data: {
        socket,
        registered: false,
        ...(claim === undefined ? {} : { type: claim.type, name: claim.name }),
      },
    });
  }

  deregistered(socket: string, { type, name }: PluginClaim, because: string): void {
    this.#timeline.record({
      kind: 'effect',
      what: 'plugin.deregister',
      message: `${type} ${name} is no longer registered`,
      because,
      data: { socket, type, name },
    });
  }

  notDeregistered(socket: string, { type, name }: PluginClaim, error: unknown): void {
    this.#timeline.record({
      kind: 'problem',
      what: 'plugin.deregister',
      message: `${type} ${name} has gone, and not all of it could be removed`,
      error,
      data: { socket, type, name },
    });
  }

  /** What cannot be looked at; told when it changes. */
  unreadable(problems: readonly string[]): void {
    const text = problems.join('; ');
    if (text === this.#unreadable) return;
    this.#unreadable = text;
    this.#timeline.record(
      text === ''
        ? { kind: 'notice', what: 'plugin.directory', message: 'the directory of plugins can be read again' }
        : { kind: 'problem', what: 'plugin.directory', level: 'warn', message: text },
    );
  }

  broken(task: string, error: unknown): void {
    this.#timeline.record({ kind: 'problem', what: 'kubelet.task', message: `${task} failed`, error });
  }
}

/**
 * Follows all objects of a selection: a list, then a watch from there on, or a watch that begins with all of them, whatever
 * happens to the connection.
 */
import { type Clock, isCancelled, sleep, throwIfCancelled } from '../../async/index.js';
import type { KubeObject } from '../../kube/types/index.js';
import type { KubeApi, ObjectSelection } from '../port.js';
import type { Resource } from '../resources.js';
import {
  type BackoffState,
  failureOf,
  nextBackoff,
  nextStep,
  type ReflectorOutcome,
  type ReflectorStep,
  streamFailureOf,
} from './decision.js';

export interface ReflectorChange<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: T;
}

/** Receives the objects. Nothing more is read from the server until it returns. */
export interface ReflectorSink<T> {
  /** All existing objects. */
  replace(objects: readonly T[]): void | Promise<void>;
  change(change: ReflectorChange<T>): void | Promise<void>;
}

export interface ReflectorOptions<T extends KubeObject> extends ObjectSelection {
  readonly api: KubeApi;
  readonly resource: Resource<T>;
  readonly clock: Clock;
  readonly sink: ReflectorSink<T>;
  readonly random?: () => number;
  /** Called for each failure, with the next step. */
  readonly onProblem?: (error: unknown, then: string) => void;
  /** Called when a list or watch works again after failures. */
  readonly onRecovered?: () => void;
}

const pageSize = 500;
const shortestWatchSeconds = 300;

export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  /** The last delivered version. */
  #seen: string | undefined;
  /** The delivered objects and their versions: a check compares them. */
  #known = new Map<string, string>();
  #listed = false;
  #failing = false;
  #backoff: BackoffState | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
  }

  /** Whether the first list was delivered. */
  get hasSynced(): boolean {
    return this.#listed;
  }

  get resourceVersion(): string | undefined {
    return this.#seen;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random = Math.random } = this.#options;
    let outcome: ReflectorOutcome = { kind: 'started' };
    for (;;) {
      const step = this.#after(outcome);
      if (step.wait === 'back-off') {
        const { state, waitMs } = nextBackoff(this.#backoff, clock.monotonic(), random());
        this.#backoff = state;
        await sleep(clock, waitMs, signal);
      }
      throwIfCancelled(signal);
      switch (step.do) {
        case 'list':
          outcome = await this.#list(step.resourceVersion, signal);
          break;
        case 'stream':
        case 'watch':
          outcome = await this.#watch(step.resourceVersion, signal, step.do === 'stream');
          break;
        case 'check':
          outcome = await this.#check(step.resourceVersion, signal);
          break;
      }
    }
  }

  async #list(resourceVersion: string, signal: AbortSignal): Promise<ReflectorOutcome> {
    let found: { objects: T[]; resourceVersion: string };
    try {
      found = await this.#fetch(resourceVersion, signal);
    } catch (error) {
      return this.#failed(error, { kind: 'list-failed', asked: resourceVersion, failure: failureOf(error) });
    }
    this.#works();
    await this.#replace(found.objects, found.resourceVersion);
    return { kind: 'listed', resourceVersion: found.resourceVersion };
  }

  async #replace(objects: readonly T[], resourceVersion: string): Promise<void> {
    await this.#options.sink.replace(objects);
    this.#known = identitiesOf(objects);
    this.#seen = resourceVersion;
    this.#listed = true;
  }

  async #fetch(
    resourceVersion: string,
    signal: AbortSignal,
  ): Promise<{ objects: T[]; resourceVersion: string }> {
    const { api, resource } = this.#options;
    const objects: T[] = [];
    let next: string | undefined;
    for (;;) {
      const page = await api.list(resource, {
        ...this.#selection(),
        signal,
        ...(resourceVersion === '' ? { limit: pageSize } : { resourceVersion }),
        ...(next === undefined ? {} : { continue: next }),
      });
      objects.push(...page.items);
      next = page.metadata?.continue || undefined;
      if (next === undefined) return { objects, resourceVersion: page.metadata?.resourceVersion ?? '' };
    }
  }

  /** A stream begins with all objects, which replace the known ones when the server says that they are all. */
  async #watch(resourceVersion: string, signal: AbortSignal, streams: boolean): Promise<ReflectorOutcome> {
    let initial = streams ? new Map<string, T>() : undefined;
    const { api, resource, clock, sink, random = Math.random } = this.#options;
    const startMs = clock.monotonic();
    // Spread, so that watches that began together do not end together.
    const timeoutSeconds = Math.floor(shortestWatchSeconds * (1 + random()));
    let events = 0;
    let sinkFailed = false;
    try {
      const watch = api.watch(resource, {
        ...this.#selection(),
        signal,
        ...(resourceVersion === '' ? {} : { resourceVersion }),
        timeoutSeconds,
        allowBookmarks: true,
        ...(streams ? { sendInitialEvents: true } : {}),
      });
      for await (const event of watch) {
        if (event.type === 'ERROR') throw event.error;
        this.#works();
        events++;
        if (event.type === 'BOOKMARK') {
          if (initial === undefined) this.#seen = event.resourceVersion || this.#seen;
          else if (event.initialEventsEnd === true) {
            sinkFailed = true;
            await this.#replace([...initial.values()], event.resourceVersion);
            sinkFailed = false;
            initial = undefined;
          }
          continue;
        }
        if (initial !== undefined) {
          const [key] = identityOf(event.object);
          if (event.type === 'DELETED') initial.delete(key);
          else initial.set(key, event.object);
          continue;
        }
        sinkFailed = true;
        await sink.change(event);
        sinkFailed = false;
        this.#note(event.type, event.object);
      }
      throwIfCancelled(signal);
      if (initial !== undefined) {
        const error = new Error('the watch ended before all objects were sent');
        return this.#failed(error, { kind: 'stream-failed', asked: resourceVersion, failure: 'no-end' });
      }
      return { kind: 'watch-ended', livedMs: clock.monotonic() - startMs, events };
    } catch (error) {
      // A sink that cannot take a change is broken; going on would lose the change.
      if (sinkFailed) throw error;
      if (initial !== undefined) {
        const failure = streamFailureOf(error);
        return this.#failed(error, { kind: 'stream-failed', asked: resourceVersion, failure });
      }
      return this.#failed(error, { kind: 'watch-failed', failure: failureOf(error) });
    }
  }

  async #check(resourceVersion: string, signal: AbortSignal): Promise<ReflectorOutcome> {
    const { api, resource } = this.#options;
    try {
      const page = await api.list(resource, {
        ...this.#selection(),
        signal,
        resourceVersion,
        metadataOnly: true,
      });
      const same = isSame(this.#known, identitiesOf(page.items));
      return { kind: 'checked', same, resourceVersion: page.metadata?.resourceVersion ?? '' };
    } catch (error) {
      return this.#failed(error, { kind: 'check-failed', failure: failureOf(error) });
    }
  }

  #note(type: ReflectorChange<T>['type'], object: T): void {
    const [key, identity] = identityOf(object);
    if (type === 'DELETED') this.#known.delete(key);
    else this.#known.set(key, identity);
    this.#seen = object.metadata.resourceVersion ?? this.#seen;
  }

  #selection(): ObjectSelection {
    const { namespace, fieldSelector, labelSelector } = this.#options;
    return {
      ...(namespace === undefined ? {} : { namespace }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
    };
  }

  #failed(error: unknown, outcome: ReflectorOutcome): ReflectorOutcome {
    if (isCancelled(error)) throw error;
    const { do: next, because } = this.#after(outcome);
    // Not every server streams; the list that takes its place tells of a real problem.
    if (outcome.kind === 'stream-failed' && next === 'list') return outcome;
    this.#failing = true;
    this.#options.onProblem?.(error, because);
    return outcome;
  }

  #after(outcome: ReflectorOutcome): ReflectorStep {
    return nextStep(outcome, this.#seen, this.#options.api.streamsLists === true);
  }

  #works(): void {
    if (!this.#failing) return;
    this.#failing = false;
    this.#options.onRecovered?.();
  }
}

function identityOf({ metadata }: KubeObject): [key: string, identity: string] {
  return [`${metadata.namespace ?? ''}/${metadata.name}`, `${metadata.uid} ${metadata.resourceVersion}`];
}

function identitiesOf(objects: readonly KubeObject[]): Map<string, string> {
  return new Map(objects.map(identityOf));
}

function isSame(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, identity]) => b.get(key) === identity);
}

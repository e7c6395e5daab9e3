/** The line between one kubelet and its API server: it counts the calls, and it can be cut as a crash would. */
import { ApiUnreachable, type KubeApi, type WatchEvent } from '../../src/kube-client/index.js';
import type { Cut } from './runtime-line.js';

export interface ApiLineOptions {
  readonly cutAt?: Cut | undefined;
  /** Called when the line is cut. */
  readonly onCut?: () => void;
}

export type ApiVerb = keyof KubeApi;

type AnyCall = (...given: readonly unknown[]) => Promise<unknown>;
type AnyWatch = (...given: readonly unknown[]) => AsyncIterable<WatchEvent<object>>;

const unaryVerbs = [
  'get',
  'list',
  'create',
  'update',
  'patch',
  'delete',
  'deleteCollection',
  'post',
  'getText',
] as const;
const changingVerbs: ReadonlySet<ApiVerb> = new Set(['create', 'update', 'patch', 'delete', 'post']);

export class ApiLine {
  readonly api: KubeApi;
  /** Each call by its verb and what it was about. */
  readonly calls: { readonly verb: ApiVerb; readonly about: string }[] = [];
  readonly #options: ApiLineOptions;
  readonly #down = new AbortController();

  constructor(target: KubeApi, options: ApiLineOptions = {}) {
    this.#options = options;
    const unary = unaryVerbs.map((verb) => [verb, this.#unary(verb, bound(target, verb))]);
    // Each member answers as the target's of the same name does.
    this.api = Object.fromEntries([
      ...unary,
      ['watch', this.#watch(bound(target, 'watch') as unknown as AnyWatch)],
    ]) as unknown as KubeApi;
  }

  get isCut(): boolean {
    return this.#down.signal.aborted;
  }

  /** From now on nothing gets through in either direction. */
  cut(): void {
    if (this.isCut) return;
    this.#down.abort();
    this.#options.onCut?.();
  }

  /** The calls at which a kubelet is made to die: all that change something, before and after, and some of the others. */
  cuts(): Cut[] {
    return this.calls.flatMap(({ verb, about }, index): Cut[] => {
      const at = { call: index + 1, withEffect: index % 2 === 0 };
      // Nothing depends on an event, and there are many of them.
      if (!changingVerbs.has(verb) || about === 'events') return index % 8 === 0 ? [at] : [];
      return [at, { ...at, withEffect: !at.withEffect }];
    });
  }

  #enter(verb: ApiVerb, resource: unknown): boolean {
    if (this.isCut) throw gone();
    this.calls.push({ verb, about: aboutOf(resource) });
    const isLast = this.calls.length === this.#options.cutAt?.call;
    if (!isLast || this.#options.cutAt?.withEffect === true) return isLast;
    this.cut();
    throw gone();
  }

  #unary(verb: ApiVerb, target: AnyCall): AnyCall {
    return async (...given) => {
      const isLast = this.#enter(verb, given[0]);
      const work = target(...given);
      if (isLast) this.cut();
      const answer = await work.catch((error: unknown) => {
        throw this.isCut ? gone() : error;
      });
      if (this.isCut) throw gone();
      return answer;
    };
  }

  #watch(target: AnyWatch): AnyWatch {
    const line = this;
    return async function* (resource, options) {
      line.#enter('watch', resource);
      const given = options as { readonly signal?: AbortSignal } | undefined;
      const signals = given?.signal === undefined ? [] : [given.signal];
      const signal = AbortSignal.any([...signals, line.#down.signal]);
      try {
        for await (const event of target(resource, { ...given, signal })) {
          if (line.isCut) throw gone();
          yield event;
        }
      } catch (error) {
        throw line.isCut ? gone() : error;
      }
    };
  }
}

function bound(target: KubeApi, verb: ApiVerb): AnyCall {
  // Calls are handed through as they came.
  return (target[verb] as unknown as AnyCall).bind(target);
}

/** The first argument of a call is the resource, its subresource or a path. */
function aboutOf(resource: unknown): string {
  if (typeof resource !== 'object' || resource === null) return String(resource);
  return 'plural' in resource ? String(resource.plural) : 'name' in resource ? String(resource.name) : '';
}

function gone(): ApiUnreachable {
  return new ApiUnreachable('the kubelet is gone', 'not-sent');
}

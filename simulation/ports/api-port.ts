/** The line between one process of a kubelet and the cluster's API. */
import { Cancelled, sleep } from '../../src/async/index.js';
import { ApiError, ApiUnreachable, type KubeApi, type WatchEvent } from '../../src/kube-client/index.js';
import type { Director } from './director.js';
import { type KubeletProcess, untilDeath } from './process.js';

type AnyCall = (...given: readonly unknown[]) => Promise<unknown>;
type AnyWatch = (...given: readonly unknown[]) => AsyncIterable<WatchEvent<object>>;

/** In which argument each verb has its options. */
const optionsAt = {
  get: 2,
  list: 1,
  create: 2,
  update: 2,
  patch: 3,
  delete: 2,
  deleteCollection: 1,
  post: 3,
  getText: 1,
} as const satisfies Partial<Record<keyof KubeApi, number>>;

type UnaryVerb = keyof typeof optionsAt;

const changing: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'post']);
const repeatable: ReadonlySet<string> = new Set(['get', 'list', 'patch', 'update', 'delete']);
/** As long as the real client waits for a complete response. */
const callMs = 75_000;

export interface ApiCallSeen {
  readonly verb: UnaryVerb;
  /** The plural of what it is about. */
  readonly plural: string;
  readonly subresource: string | undefined;
  readonly given: readonly unknown[];
}

export interface ApiWitness {
  /** The server is about to act. */
  before?(call: ApiCallSeen): void;
  /** The server has acted. */
  after?(call: ApiCallSeen, answer: unknown): void;
  /** The kubelet hears of an object. */
  told?(plural: string, object: object): void;
}

export function apiPort(
  target: KubeApi,
  process: KubeletProcess,
  director: Director,
  witness: ApiWitness,
): KubeApi {
  // The keys of the table are verbs.
  const unary = (Object.keys(optionsAt) as UnaryVerb[]).map((verb) => [
    verb,
    apiUnary(verb, bound(target, verb), process, director, witness),
  ]);
  // Each member answers as the target's of the same name does.
  return Object.fromEntries([
    ...unary,
    ['streamsLists', target.streamsLists],
    ['watch', apiWatch(bound(target, 'watch') as unknown as AnyWatch, process, director, witness)],
  ]) as unknown as KubeApi;
}

function apiUnary(
  verb: UnaryVerb,
  target: AnyCall,
  process: KubeletProcess,
  director: Director,
  witness: ApiWitness,
): AnyCall {
  return (...given) => {
    const plural = pluralOf(given[0]);
    // The options of a call, where it has any.
    const options = given[optionsAt[verb]] as
      | { readonly signal?: AbortSignal; readonly timeoutMs?: number; readonly subresource?: string }
      | undefined;
    const seen: ApiCallSeen = { verb, plural, subresource: options?.subresource, given };
    const name = `${verb} ${plural}`;
    const isEvent = plural === 'events';
    const answered = process.call({
      port: 'api',
      name,
      about: nameOf(given[1]),
      // Nothing depends on an event.
      isChange: changing.has(verb) && !isEvent,
      isRepeatable: repeatable.has(verb),
      signal: options?.signal,
      effect: async () => {
        if (director.apiAway) throw apiFailure('unreachable', name);
        witness.before?.(seen);
        const answer = await target(...given);
        // A request that arrives after its sender has died may find that its successor has written.
        if (process.alive) witness.after?.(seen, answer);
        return answer;
      },
      failure: (code) => apiFailure(code, name),
      lostAnswer: () => new ApiUnreachable(`${name}: connection reset by peer`, 'unknown'),
      patienceMs: options?.timeoutMs ?? callMs,
      givenUp: () =>
        options?.signal?.aborted ? new Cancelled() : new ApiUnreachable(`${name}: no response`, 'unknown'),
    });
    if (verb !== 'list') return answered;
    return answered.then((list) => {
      // What is listed has items.
      for (const object of (list as { readonly items: readonly object[] }).items)
        witness.told?.(plural, object);
      return list;
    });
  };
}

function apiFailure(code: string, name: string): Error {
  if (code === 'unreachable') return new ApiUnreachable(`${name}: connection refused`, 'not-sent');
  const message = `${name} fails by chance`;
  if (code === '429') return new ApiError({ code: 429, message, retryAfterSeconds: 1 });
  return new ApiError({ code: Number(code), message });
}

function apiWatch(
  target: AnyWatch,
  process: KubeletProcess,
  director: Director,
  witness: ApiWitness,
): AnyWatch {
  return async function* (resource, given) {
    const plural = pluralOf(resource);
    const options = given as { readonly signal?: AbortSignal } | undefined;
    await process.call({
      port: 'api',
      name: `watch ${plural}`,
      about: '',
      isChange: false,
      isRepeatable: true,
      signal: options?.signal,
      effect: () => {
        if (director.apiAway) throw apiFailure('unreachable', 'watch');
      },
      failure: (code) => apiFailure(code, 'watch'),
      lostAnswer: () => new ApiUnreachable('watch: connection reset by peer', 'unknown'),
      patienceMs: callMs,
      givenUp: () =>
        options?.signal?.aborted ? new Cancelled() : new ApiUnreachable('watch: no response', 'unknown'),
    });
    const events = untilDeath(process, options?.signal, (signal) => target(resource, { ...options, signal }));
    for await (const event of events) {
      process.journal.event('message', event.type, 0);
      const { effect } = director.verdict('api', `event ${plural}`, false);
      if (effect !== undefined) process.journal.event('fault', effect.do, 0);
      if (effect?.do === 'fail' || effect?.do === 'lose' || effect?.do === 'hang')
        throw new ApiUnreachable('watch: connection reset by peer', 'unknown');
      if (effect?.do === 'delay' || effect?.do === 'late')
        await sleep(process.clock, effect.ms, options?.signal);
      if ('object' in event) witness.told?.(plural, event.object);
      yield event;
      if (effect?.do === 'twice') yield event;
    }
  };
}

function bound(target: KubeApi, verb: keyof KubeApi): AnyCall {
  // Calls are handed through as they came.
  return (target[verb] as unknown as AnyCall).bind(target);
}

/** The first argument of a call is the resource, its subresource or a path. */
function pluralOf(resource: unknown): string {
  if (typeof resource !== 'object' || resource === null) return String(resource);
  return 'plural' in resource ? String(resource.plural) : 'name' in resource ? String(resource.name) : '';
}

/** The second one names an object, or is one. */
function nameOf(given: unknown): string {
  if (typeof given !== 'object' || given === null) return '';
  const { name, metadata } = given as {
    readonly name?: string;
    readonly metadata?: { readonly name?: string };
  };
  return name ?? metadata?.name ?? '';
}

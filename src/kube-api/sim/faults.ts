/** Scripted faults between a client and the simulated server. */
import { type Clock, sleep } from '../../async/index.js';
import { type ApiError, ApiUnreachable } from '../../kube-client/api-error.js';
import type { Resource } from '../../kube-client/resources.js';

export type ApiVerb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deleteCollection'
  | 'post'
  | 'getText';

export interface ApiCall {
  readonly verb: ApiVerb;
  /** Plural; empty for a bare path. */
  readonly resource: string;
  readonly subresource: string | undefined;
  readonly name: string | undefined;
}

export type ApiFault =
  /** The server returns the error and does nothing. */
  | { readonly kind: 'refuse'; readonly error: ApiError }
  /** The request never arrives. */
  | { readonly kind: 'unreachable' }
  /** The server acts, and the response is lost. */
  | { readonly kind: 'lose-response' }
  | { readonly kind: 'delay'; readonly delayMs: number };

export interface FaultRule {
  readonly verb?: ApiVerb;
  readonly resource?: Resource;
  readonly subresource?: string;
  readonly name?: string;
  readonly fault: ApiFault;
  /** Matching calls that pass first. Default 0. */
  readonly skip?: number;
  /** Matching calls affected after that. Default 1. */
  readonly times?: number;
}

export class ApiFaults {
  readonly #clock: Clock;
  readonly #rules: { readonly rule: FaultRule; matched: number }[] = [];
  #reachable = true;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get reachable(): boolean {
    return this.#reachable;
  }

  setReachable(reachable: boolean): void {
    this.#reachable = reachable;
  }

  /** Returns a function that removes the rule. */
  add(rule: FaultRule): () => void {
    const entry = { rule, matched: 0 };
    this.#rules.push(entry);
    return () => {
      const index = this.#rules.indexOf(entry);
      if (index >= 0) this.#rules.splice(index, 1);
    };
  }

  /** Runs the server's work for a call under the matching rules. */
  async around<T>(call: ApiCall, signal: AbortSignal | undefined, work: () => T): Promise<T> {
    const faults = this.#hits(call);
    for (const fault of faults) {
      if (fault.kind === 'delay') await sleep(this.#clock, fault.delayMs, signal);
    }
    if (!this.#reachable || faults.some(({ kind }) => kind === 'unreachable')) {
      throw new ApiUnreachable(`${describe(call)}: connection refused`, 'not-sent');
    }
    for (const fault of faults) if (fault.kind === 'refuse') throw fault.error;
    const result = work();
    if (faults.some(({ kind }) => kind === 'lose-response')) {
      throw new ApiUnreachable(`${describe(call)}: connection reset by peer`, 'unknown');
    }
    return result;
  }

  #hits(call: ApiCall): ApiFault[] {
    return this.#rules.flatMap((entry) => {
      if (!matches(entry.rule, call)) return [];
      const index = entry.matched++;
      const { skip = 0, times = 1, fault } = entry.rule;
      return index >= skip && index < skip + times ? [fault] : [];
    });
  }
}

function matches(rule: FaultRule, call: ApiCall): boolean {
  return (
    (rule.verb === undefined || rule.verb === call.verb) &&
    (rule.resource === undefined || rule.resource.plural === call.resource) &&
    (rule.subresource === undefined || rule.subresource === call.subresource) &&
    (rule.name === undefined || rule.name === call.name)
  );
}

function describe({ verb, resource, subresource, name }: ApiCall): string {
  return [verb, resource, subresource, name].filter((part) => part !== undefined && part !== '').join(' ');
}

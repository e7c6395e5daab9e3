/** Runs credential provider plugins, and caches their responses for as long as they allow. */

import { join } from 'node:path';
import { BoundedMap, type Clock, errorText, throwIfCancelled, withTimeout } from '../../../async/index.js';
import type { Pod } from '../../../kube/index.js';
import { CommandLine, endText, inheritedEnvironment, runProgram } from '../../../programs/index.js';
import { podRef, type Timeline } from '../../../timeline/index.js';
import type { PodServiceAccounts, ServiceAccountSource } from '../../contracts.js';
import type { PluginMetrics } from '../../metrics.js';
import { imageCredentialLimits } from '../limits.js';
import { SharedWork } from '../shared-work.js';
import type { RegistryAuth } from './docker-config.js';
import type { CredentialProvider } from './plugin-config.js';
import { type AskedAccount, cacheIdentity, requestKey, selectAnnotations } from './plugin-identity.js';
import {
  type CredentialProviderResponse,
  cacheKey,
  cacheKeysOf,
  parsePluginAnswer,
} from './plugin-response.js';
import { lookUp, matchesImage } from './registry-match.js';

/** Runs a program with the given input and returns its output; fails unless it exits with 0. */
export type RunPlugin = (
  file: string,
  options: {
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly input: string;
    readonly signal: AbortSignal;
  },
) => Promise<string>;

export interface CredentialPluginOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly binDir: string;
  readonly metrics: PluginMetrics;
  readonly run?: RunPlugin;
  /** Absent on a node without an API. */
  readonly serviceAccounts?: PodServiceAccounts | undefined;
}

/** Credentials of a plugin, and the account that it was asked for. */
export interface PluginAuth extends RegistryAuth {
  readonly serviceAccount?: ServiceAccountSource;
}

const timeoutMs = imageCredentialLimits.pluginMs;

export class CredentialPlugin {
  readonly #provider: CredentialProvider;
  readonly #options: CredentialPluginOptions;
  readonly #cache = new BoundedMap<
    string,
    { readonly answer: CredentialProviderResponse; readonly endsAtMs: number }
  >({
    maxEntries: imageCredentialLimits.pluginResponses,
  });
  readonly #running = new SharedWork<CredentialProviderResponse>();

  constructor(provider: CredentialProvider, options: CredentialPluginOptions) {
    this.#provider = provider;
    this.#options = options;
  }

  /** The credentials for an image, best first. A plugin that fails has none, and the pull goes on without. */
  async lookup(pod: Pod, image: string, signal?: AbortSignal): Promise<readonly PluginAuth[]> {
    if (!this.#provider.matchImages.some((pattern) => matchesImage(pattern, image))) return [];
    try {
      const who = await this.#who(pod, signal);
      if (who.kind === 'skipped') {
        this.#problem(pod, image, who.reason, 'debug');
        return [];
      }
      const { asked } = who;
      const { auth } = await this.#answer(image, asked, signal).catch((error: unknown) => {
        throwIfCancelled(signal);
        this.#options.metrics.errors.inc({ plugin_name: this.#provider.name });
        throw error;
      });
      const serviceAccount = asked?.account;
      return lookUp(auth, image).map((one) =>
        serviceAccount === undefined ? one : { ...one, serviceAccount },
      );
    } catch (error) {
      throwIfCancelled(signal);
      this.#problem(pod, image, error);
      return [];
    }
  }

  /** For whom to ask: a plugin without tokens is never told, and others need not be where the pod has no account. */
  async #who(pod: Pod, signal: AbortSignal | undefined): Promise<Who> {
    const { tokenAttributes } = this.#provider;
    if (tokenAttributes === undefined) return { kind: 'ask', asked: undefined };
    const { namespace } = pod.metadata;
    const { serviceAccountName: name = '' } = pod.spec;
    if (name === '') {
      return tokenAttributes.requireServiceAccount
        ? { kind: 'skipped', reason: new Error('the pod has no service account') }
        : { kind: 'ask', asked: undefined };
    }
    const { serviceAccounts } = this.#options;
    if (serviceAccounts === undefined) {
      throw new Error(`service account ${namespace}/${name} cannot be read: this node has no API server`);
    }
    const found = await explained(`failed to get service account ${namespace}/${name}`, () =>
      serviceAccounts.serviceAccount(namespace, name, signal),
    );
    const selected = selectAnnotations(tokenAttributes, found.annotations);
    if (selected.kind === 'missing') {
      const reason = `service account ${namespace}/${name}: required annotation ${selected.key} not found`;
      return { kind: 'skipped', reason: new Error(reason) };
    }
    const { audience } = tokenAttributes;
    const token = await explained(`failed to get a token of service account ${namespace}/${name}`, () =>
      serviceAccounts.token({ pod, serviceAccountUid: found.uid, audience, signal }),
    );
    const account = { uid: found.uid, namespace, name };
    return { kind: 'ask', asked: { account, annotations: selected.annotations, token } };
  }

  async #answer(
    image: string,
    asked: AskedAccount | undefined,
    signal: AbortSignal | undefined,
  ): Promise<CredentialProviderResponse> {
    const { tokenAttributes } = this.#provider;
    const identity =
      asked === undefined || tokenAttributes === undefined
        ? ''
        : cacheIdentity(tokenAttributes.cacheType, asked);
    const known = this.#cached(image, identity);
    if (known !== undefined) return known;
    return await this.#running.run(requestKey(image, asked), signal, async (shared) => {
      const answer = await this.#ask(image, asked, shared);
      if (asked !== undefined && tokenAttributes?.cacheType !== 'Token') refuseEcho(answer, asked, image);
      const { clock } = this.#options;
      const keepMs = answer.cacheDurationMs ?? this.#provider.defaultCacheDurationMs;
      const key = cacheKey(answer.cacheKeyType, image, identity);
      if (keepMs > 0) this.#cache.set(key, { answer, endsAtMs: clock.monotonic() + keepMs });
      return answer;
    });
  }

  #cached(image: string, identity: string): CredentialProviderResponse | undefined {
    const nowMs = this.#options.clock.monotonic();
    for (const key of cacheKeysOf(image, identity)) {
      const known = this.#cache.get(key);
      if (known === undefined) continue;
      if (known.endsAtMs > nowMs) return known.answer;
      this.#cache.delete(key);
    }
    return undefined;
  }

  async #ask(
    image: string,
    asked: AskedAccount | undefined,
    signal: AbortSignal,
  ): Promise<CredentialProviderResponse> {
    const { clock, metrics, binDir, run = pluginPrograms(clock) } = this.#options;
    const { name, apiVersion, args, env } = this.#provider;
    const startedMs = clock.monotonic();
    const output = await withTimeout(clock, timeoutMs, signal, (limited) =>
      run(join(binDir, name), {
        args,
        env: inheritedEnvironment(Object.fromEntries(env.map((one) => [one.name, one.value]))),
        input: JSON.stringify({
          kind: 'CredentialProviderRequest',
          apiVersion,
          image,
          ...(asked === undefined ? {} : tokenFields(asked)),
        }),
        signal: limited,
      }),
    );
    metrics.duration.observe((clock.monotonic() - startedMs) / 1000, { plugin_name: name });
    return parsePluginAnswer(output, apiVersion);
  }

  #problem(pod: Pod, image: string, error: unknown, level?: 'debug'): void {
    const { name, tokenAttributes } = this.#provider;
    this.#options.timeline.record({
      kind: 'problem',
      what: 'credentials.plugin',
      message: `credential provider plugin ${name} gave no credentials for ${image}`,
      data: { plugin: name },
      // What a plugin without tokens says is the same for every pod.
      ...(tokenAttributes === undefined ? {} : { pod: podRef(pod) }),
      ...(level === undefined ? {} : { level }),
      error,
    });
  }
}

type Who =
  | { readonly kind: 'ask'; readonly asked: AskedAccount | undefined }
  | { readonly kind: 'skipped'; readonly reason: Error };

function tokenFields({ token, annotations }: AskedAccount): object {
  return {
    serviceAccountToken: token,
    ...(Object.keys(annotations).length === 0 ? {} : { serviceAccountAnnotations: annotations }),
  };
}

/** A token that is used as a password is no longer valid when a response for the account still is. */
function refuseEcho({ auth }: CredentialProviderResponse, { token }: AskedAccount, image: string): void {
  if ([...auth.values()].flat().some(({ password }) => password === token)) {
    throw new Error(
      `credential provider plugin returned the service account token as the password for image ${JSON.stringify(image)}, which is not allowed when service account cache type is not set to 'Token'`,
    );
  }
}

async function explained<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new Error(`${what}: ${errorText(cause)}`, { cause });
  }
}

const outputLimitBytes = imageCredentialLimits.pluginOutputBytes;

/**
 * Programs and arguments come from the administrator; what a pod names is only in the input. Output is never
 * part of an error.
 */
function pluginPrograms(clock: Clock): RunPlugin {
  return async (file, { args, env, input, signal }) => {
    const line = CommandLine.given(file, args);
    const end = await runProgram(line, { clock, limitMs: timeoutMs, signal, env, input, outputLimitBytes });
    if (end.kind === 'exited' && end.exitCode === 0) return end.stdout;
    throw new Error(`error execing credential provider plugin ${file}: ${endText(end)}`);
  };
}

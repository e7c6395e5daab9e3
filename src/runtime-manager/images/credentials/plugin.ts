/** Runs credential provider plugins, and caches their responses for as long as they allow. */

import { join } from 'node:path';
import { BoundedMap, type Clock, throwIfCancelled, withTimeout } from '../../../async/index.js';
import { CommandLine, endText, inheritedEnvironment, runProgram } from '../../../programs/index.js';
import type { Timeline } from '../../../timeline/index.js';
import type { PluginMetrics } from '../../metrics.js';
import { SharedWork } from '../shared-work.js';
import type { RegistryAuth } from './docker-config.js';
import type { CredentialProvider } from './plugin-config.js';
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
}

const timeoutMs = 60_000;
/** Responses cached per plugin; the oldest go first. */
const rememberedAnswers = 1000;

export class CredentialPlugin {
  readonly #provider: CredentialProvider;
  readonly #options: CredentialPluginOptions;
  readonly #cache = new BoundedMap<
    string,
    { readonly answer: CredentialProviderResponse; readonly endsAtMs: number }
  >({
    maxEntries: rememberedAnswers,
  });
  readonly #running = new SharedWork<CredentialProviderResponse>();

  constructor(provider: CredentialProvider, options: CredentialPluginOptions) {
    this.#provider = provider;
    this.#options = options;
  }

  /** The credentials for an image, best first. A plugin that fails has none, and the pull goes on without. */
  async lookup(image: string, signal?: AbortSignal): Promise<readonly RegistryAuth[]> {
    if (!this.#provider.matchImages.some((pattern) => matchesImage(pattern, image))) return [];
    const known = this.#cached(image);
    if (known !== undefined) return lookUp(known.auth, image);
    try {
      const answer = await this.#running.run(image, signal, (shared) => this.#ask(image, shared));
      return lookUp(answer.auth, image);
    } catch (error) {
      throwIfCancelled(signal);
      this.#options.metrics.errors.inc({ plugin_name: this.#provider.name });
      this.#options.timeline.record({
        kind: 'problem',
        what: 'credentials.plugin',
        message: `credential provider plugin ${this.#provider.name} gave no credentials for ${image}`,
        data: { plugin: this.#provider.name },
        error,
      });
      return [];
    }
  }

  #cached(image: string): CredentialProviderResponse | undefined {
    const nowMs = this.#options.clock.monotonic();
    for (const key of cacheKeysOf(image)) {
      const known = this.#cache.get(key);
      if (known === undefined) continue;
      if (known.endsAtMs > nowMs) return known.answer;
      this.#cache.delete(key);
    }
    return undefined;
  }

  async #ask(image: string, signal: AbortSignal): Promise<CredentialProviderResponse> {
    const { clock, metrics, binDir, run = pluginPrograms(clock) } = this.#options;
    const { name, apiVersion, args, env, defaultCacheDurationMs } = this.#provider;
    const startedMs = clock.monotonic();
    const output = await withTimeout(clock, timeoutMs, signal, (limited) =>
      run(join(binDir, name), {
        args,
        env: inheritedEnvironment(Object.fromEntries(env.map((one) => [one.name, one.value]))),
        input: JSON.stringify({ kind: 'CredentialProviderRequest', apiVersion, image }),
        signal: limited,
      }),
    );
    metrics.duration.observe((clock.monotonic() - startedMs) / 1000, { plugin_name: name });
    const answer = parsePluginAnswer(output, apiVersion);
    const keepMs = answer.cacheDurationMs ?? defaultCacheDurationMs;
    if (keepMs > 0) this.#remember(cacheKey(answer.cacheKeyType, image), answer, clock.monotonic() + keepMs);
    return answer;
  }

  #remember(key: string, answer: CredentialProviderResponse, endsAtMs: number): void {
    this.#cache.set(key, { answer, endsAtMs });
  }
}

const outputLimitBytes = 1024 * 1024;

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

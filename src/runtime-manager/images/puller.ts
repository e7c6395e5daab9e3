/** Pulls one image through the runtime: waits for a slot, tries each credential in order, reads the size. */
import { aggregateText, type Clock, errorText } from '../../async/index.js';
import { CriError, type CriRuntime, type Init, type PodSandboxConfig } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import type { Keyring, PullCredentials } from '../contracts.js';
import type { PullQueue } from './pull-queue.js';
import { SharedWork } from './shared-work.js';

export interface PullerOptions {
  readonly cri: Pick<CriRuntime, 'imageStatus' | 'pullImage'>;
  readonly clock: Clock;
  readonly queue: PullQueue;
  readonly keyring?: Keyring | undefined;
}

export interface PullRequest {
  readonly pod: Pod;
  /** Includes a tag or digest. */
  readonly image: string;
  /** Empty for the runtime's own choice. */
  readonly runtimeHandler: string;
  readonly sandboxConfig: Init<PodSandboxConfig>;
  readonly signal: AbortSignal | undefined;
}

export interface PulledImage {
  readonly ref: string;
  /** Undefined when the runtime does not report it. */
  readonly sizeBytes: number | undefined;
  /** Excludes the wait in the queue. */
  readonly durationMs: number;
  /** The credentials that the registry accepted; undefined when the pull was anonymous. */
  readonly credentials: PullCredentials | undefined;
}

export class ImagePuller {
  readonly #options: PullerOptions;
  readonly #shared = new SharedWork<PulledImage>();

  constructor(options: PullerOptions) {
    this.#options = options;
  }

  /**
   * Pods that pull one image anonymously at the same time share one pull, if the runtime has no reason to
   * treat them differently: same namespace, same annotations, same runtime handler.
   */
  async pull(request: PullRequest): Promise<PulledImage> {
    const { pod, image, runtimeHandler, signal } = request;
    const credentials = (await this.#options.keyring?.lookup(pod, image, signal)) ?? [];
    if (credentials.length > 0) return await this.#queued(request, credentials, signal);
    const { namespace, annotations = {} } = pod.metadata;
    const key = JSON.stringify([image, runtimeHandler, namespace, Object.entries(annotations).sort()]);
    return await this.#shared.run(key, signal, (shared) => this.#queued(request, [], shared));
  }

  #queued(
    request: PullRequest,
    credentials: readonly PullCredentials[],
    signal: AbortSignal | undefined,
  ): Promise<PulledImage> {
    const { clock, queue } = this.#options;
    return queue.run(async () => {
      const startedMs = clock.monotonic();
      const { ref, taken } = await this.#pullOnce(request, credentials, signal);
      const sizeBytes = await this.#size(request, signal);
      return { ref, sizeBytes, durationMs: clock.monotonic() - startedMs, credentials: taken };
    }, signal);
  }

  async #pullOnce(
    { pod, image, runtimeHandler, sandboxConfig }: PullRequest,
    credentials: readonly PullCredentials[],
    signal: AbortSignal | undefined,
  ): Promise<{ readonly ref: string; readonly taken: PullCredentials | undefined }> {
    const errors: unknown[] = [];
    for (const auth of credentials.length === 0 ? [undefined] : credentials) {
      try {
        const { imageRef } = await this.#options.cri.pullImage(
          {
            image: { image, runtimeHandler, annotations: pod.metadata.annotations ?? {} },
            sandboxConfig,
            ...(auth === undefined ? {} : { auth: { username: auth.username, password: auth.password } }),
          },
          { signal },
        );
        return { ref: imageRef, taken: auth };
      } catch (error) {
        if (signal?.aborted) throw error;
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    const message = aggregateText(errors.map(errorText));
    const cause = errors.at(-1);
    // The code of the last one stays: it tells whether the runtime is away.
    throw cause instanceof CriError
      ? new CriError(cause.codeName, message, { message, cause })
      : new Error(message, { cause });
  }

  async #size(
    { image, runtimeHandler }: PullRequest,
    signal: AbortSignal | undefined,
  ): Promise<number | undefined> {
    try {
      const asked = { image: { image, runtimeHandler } };
      return (await this.#options.cri.imageStatus(asked, { signal })).image?.size;
    } catch (error) {
      // The size is informational; a runtime that does not report it must not fail the pull.
      if (error instanceof CriError) return undefined;
      throw error;
    }
  }
}

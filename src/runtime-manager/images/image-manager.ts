/** Ensures that a container's image is present, and pulls it where policy and access require or allow it. */
import { createHash } from 'node:crypto';
import {
  Backoff,
  BoundedMap,
  type Clock,
  errorText,
  textBytes,
  throwIfCancelled,
} from '../../async/index.js';
import type { CriRuntime, Image, Init, PodSandboxConfig } from '../../cri/index.js';
import { formatDuration, type Pod } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import {
  type EnsuredImage,
  type ImageEnsurer,
  type Keyring,
  type PullCredentials,
  SyncFailure,
} from '../contracts.js';
import { createImageMetrics, type ImageMetrics, imageSizeLabel } from '../metrics.js';
import { imageUserOf } from '../start/image-user.js';
import { ProgressNoter } from './progress-notes.js';
import { decidePull, explainPullError, type PullPolicy, pullPolicyOf } from './pull-decision.js';
import { progressText } from './pull-progress.js';
import type { PullQueue } from './pull-queue.js';
import type { PullWatch } from './pull-watch.js';
import { ImagePuller, type PulledImage } from './puller.js';
import { lookKey, RecentLooks } from './recent-looks.js';
import { withDefaultTag } from './reference.js';

/** Decides whether a pod may use a present image, or has to present its credentials to the registry first. */
export interface ImageAccess {
  mayUse(pod: Pod, image: string, localId: string, signal?: AbortSignal): Promise<boolean>;
}

/** Records every pull, so that it is known later who had credentials for an image. */
export interface PullRecorder {
  /** Called before a pull; if it fails, nothing is pulled. */
  pulling(image: string): Promise<void>;
  /** Called with the credentials that the registry accepted, if any. */
  pulled(image: string, imageRef: string, credentials: PullCredentials | undefined): Promise<void>;
  failed(image: string): Promise<void>;
}

export interface ImageManagerOptions {
  readonly cri: Pick<CriRuntime, 'imageStatus' | 'pullImage'>;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly queue: PullQueue;
  /** Absent: images are pulled anonymously. */
  readonly keyring?: Keyring;
  /** Absent: every pod may use every present image. */
  readonly access?: ImageAccess;
  readonly recorder?: PullRecorder;
  /** Whether events mention the access check (gate KubeletEnsureSecretPulledImages); on by default. */
  readonly announcesAccess?: boolean;
  /** Whether the runtime is told the handler of the pod (gate RuntimeClassInImageCriApi); off by default. */
  readonly namesHandlers?: boolean;
  /** Absent: nobody is told how far a pull is. */
  readonly watch?: Pick<PullWatch, 'watch'>;
  /** Absent: metrics that nobody reads. */
  readonly metrics?: Pick<ImageMetrics, 'requests' | 'pullDuration'>;
}

interface EnsureRequest {
  readonly pod: Pod;
  readonly containerName: string;
  readonly image: string;
  readonly policy: PullPolicy;
  readonly runtimeHandler: string;
  readonly sandboxConfig: Init<PodSandboxConfig>;
  readonly fieldPath: string | undefined;
  readonly signal: AbortSignal | undefined;
}

const backoffOptions = { initialMs: 10_000, maxMs: 300_000, resetAfterMs: 600_000 };
/** Pods that start together often want the same image. An image removed within this time fails one start. */
const lookLifeMs = 1_000;
const rememberedLooks = 100;
/** The reasons of recent pull failures. */
const rememberedFailures = {
  maxEntries: 1000,
  maxBytes: 256 * 1024,
  bytesOf: (key: string, message: string) => textBytes(key, message),
};

export class ImageManager implements ImageEnsurer {
  readonly #options: ImageManagerOptions;
  readonly #metrics: NonNullable<ImageManagerOptions['metrics']>;
  readonly #backoff = new Backoff(backoffOptions);
  readonly #failures = new BoundedMap<string, string>(rememberedFailures);
  readonly #puller: ImagePuller;
  readonly #looks = new RecentLooks<Image>({ lifeMs: lookLifeMs, capacity: rememberedLooks });

  constructor(options: ImageManagerOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? createImageMetrics();
    this.#puller = new ImagePuller(options);
  }

  /** Fails with a SyncFailure, or with Cancelled if the signal was aborted. */
  ensure({
    pod,
    container,
    sandboxConfig,
    fieldPath,
    runtimeHandler,
    signal,
  }: Parameters<ImageEnsurer['ensure']>[0]): Promise<EnsuredImage> {
    return this.#ensure({
      pod,
      containerName: container.name,
      image: container.image ?? '',
      policy: pullPolicyOf(container.imagePullPolicy),
      runtimeHandler: this.#options.namesHandlers ? runtimeHandler : '',
      sandboxConfig,
      fieldPath,
      signal,
    });
  }

  async #ensure(request: EnsureRequest): Promise<EnsuredImage> {
    const { pod, image, policy, signal } = request;
    const { access } = this.#options;
    const tagged = this.#tagged(request);
    const local = policy === 'Always' ? undefined : await this.#find(request, tagged);
    const localId = local?.id;
    const mayUse = localId === undefined || ((await access?.mayUse(pod, image, localId, signal)) ?? true);
    const decision = decidePull(policy, localId !== undefined, mayUse);
    this.#count(policy, policy === 'Always' ? undefined : localId !== undefined, decision.action === 'pull');
    this.#options.timeline.record({
      kind: 'decision',
      what: `image.${decision.action}`,
      message: `${decision.action} image ${tagged}`,
      because: decision.because,
      pod: podRef(pod),
      level: 'debug',
      data: { image: tagged },
    });
    switch (decision.action) {
      case 'refuse': {
        const message = `Container image "${image}" is not present with pull policy of Never`;
        this.#event(request, 'Warning', 'ErrImageNeverPull', message);
        throw new SyncFailure('ErrImageNeverPull', message);
      }
      case 'use':
        this.#event(
          request,
          'Normal',
          'Pulled',
          `Container image "${image}" already present on machine${this.#options.announcesAccess === false ? '' : ' and can be accessed by the pod'}`,
        );
        return { ref: localId ?? tagged, user: imageUserOf(local) };
      case 'pull':
        return { ref: await this.#pull(request, tagged) };
    }
  }

  #tagged(request: EnsureRequest): string {
    const { image, policy } = request;
    try {
      return withDefaultTag(image);
    } catch (error) {
      const message = `Failed to apply default image tag "${image}": ${errorText(error)}`;
      this.#count(policy);
      this.#event(request, 'Warning', 'InspectFailed', message);
      throw new SyncFailure('InvalidImageName', message, { cause: error });
    }
  }

  /** The image, if present. */
  async #find(request: EnsureRequest, tagged: string): Promise<Image | undefined> {
    try {
      const annotations = request.pod.metadata.annotations ?? {};
      const { runtimeHandler } = request;
      const key = lookKey(tagged, annotations, runtimeHandler);
      const known = this.#looks.get(key, this.#options.clock.monotonic());
      if (known !== undefined) return known;
      const { image } = await this.#options.cri.imageStatus(
        { image: { image: tagged, runtimeHandler, annotations } },
        { signal: request.signal },
      );
      if (image !== undefined) this.#looks.set(key, image, this.#options.clock.monotonic());
      return image;
    } catch (error) {
      throwIfCancelled(request.signal);
      this.#count(request.policy);
      const message = `Failed to inspect image "": ${errorText(error)}`;
      this.#event(request, 'Warning', 'InspectFailed', message);
      throw new SyncFailure('ImageInspectError', message, { cause: error });
    }
  }

  async #pull(request: EnsureRequest, tagged: string): Promise<string> {
    const { clock } = this.#options;
    const { pod, image } = request;
    const key = backoffKey(pod, image);
    const askedMs = clock.monotonic();
    this.#collect(askedMs);
    if (this.#backoff.isWaitingSinceAdvance(key, askedMs)) {
      const message = `Back-off pulling image "${image}"`;
      this.#event(request, 'Normal', 'BackOff', message);
      const before = this.#failures.get(key);
      throw new SyncFailure('ImagePullBackOff', before === undefined ? message : `${message}: ${before}`);
    }
    this.#failures.delete(key);
    this.#event(request, 'Normal', 'Pulling', `Pulling image "${image}"`);
    const pulled = await this.#recordedPull(request, key, tagged);
    const { ref, sizeBytes, durationMs } = pulled;
    const waitedMs = clock.monotonic() - askedMs;
    this.#options.timeline.record({
      kind: 'effect',
      what: 'image.pulled',
      message: `pulled image ${tagged}`,
      pod: podRef(pod),
      durationMs: waitedMs,
      // An event already tells.
      level: 'debug',
      data: { image: tagged, bytes: sizeBytes ?? 0 },
    });
    this.#metrics.pullDuration.observe(durationMs / 1000, {
      image_size_in_bytes: imageSizeLabel(sizeBytes),
    });
    this.#event(
      request,
      'Normal',
      'Pulled',
      `Successfully pulled image "${image}" in ${shown(durationMs)} (${shown(waitedMs)} including waiting). Image size: ${sizeBytes ?? 0} bytes.`,
    );
    return ref;
  }

  /** Undefined where the request ended before it was known. */
  #count(policy: PullPolicy, present?: boolean, pulls?: boolean): void {
    this.#metrics.requests.inc({
      pull_policy: policy.toLowerCase(),
      present_locally: String(present ?? 'unknown'),
      pull_required: String(pulls ?? 'unknown'),
    });
  }

  async #recordedPull(request: EnsureRequest, key: string, tagged: string): Promise<PulledImage> {
    const { recorder } = this.#options;
    const { pod, image, runtimeHandler, sandboxConfig, signal } = request;
    try {
      await recorder?.pulling(image);
    } catch (error) {
      const message = `Failed to record image pull intent for container image "${image}": ${errorText(error)}`;
      throw this.#failed(request, key, new Error(message, { cause: error }));
    }
    const unwatch = this.#watch(request, tagged);
    try {
      const pulled = await this.#puller.pull({
        pod,
        image: tagged,
        runtimeHandler,
        sandboxConfig,
        signal,
      });
      await recorder?.pulled(image, pulled.ref, pulled.credentials);
      return pulled;
    } catch (error) {
      await recorder?.failed(image);
      throwIfCancelled(signal);
      const failure = this.#failed(request, key, error);
      if (failure.reason === 'ErrImagePull') await this.#tellUnreadSecrets(pod);
      throw failure;
    } finally {
      unwatch?.();
    }
  }

  /** Only where a pull failed: an image that is there needs no secrets. */
  async #tellUnreadSecrets(pod: Pod): Promise<void> {
    const { keyring, timeline } = this.#options;
    // What is wrong with a malformed secret is the failure of the pull already.
    const unread = (await keyring?.unreadSecrets?.(pod).catch(() => undefined)) ?? [];
    if (unread.length === 0) return;
    timeline.event(
      podRef(pod),
      'Warning',
      'FailedToRetrieveImagePullSecret',
      `Unable to retrieve some image pull secrets (${unread.join(', ')}); attempting to pull the image may not succeed.`,
    );
  }

  #watch(request: EnsureRequest, tagged: string): (() => void) | undefined {
    const { clock, timeline, watch } = this.#options;
    const { pod, containerName, image } = request;
    const noter = new ProgressNoter(clock.monotonic());
    return watch?.watch(tagged, (progress) => {
      const { note, event } = noter.at(clock.monotonic());
      const text = progressText(progress);
      if (event) this.#event(request, 'Normal', 'Pulling', `Pulling image "${image}": ${text}`);
      if (!note) return;
      const { doneBytes, totalBytes, bytesPerSecond } = progress;
      timeline.record({
        kind: 'notice',
        what: 'image.progress',
        message: text,
        pod: podRef(pod),
        container: containerName,
        level: 'debug',
        data: { image: tagged, doneBytes, totalBytes, bytesPerSecond },
      });
    });
  }

  #failed(request: EnsureRequest, key: string, error: unknown): SyncFailure {
    const { clock } = this.#options;
    const { image } = request;
    const text = errorText(error);
    this.#event(request, 'Warning', 'Failed', `Failed to pull image "${image}": ${text}`);
    const nowMs = clock.monotonic();
    this.#backoff.advance(key, nowMs, nowMs);
    const { reason, message } = explainPullError(image, text);
    this.#failures.set(key, `${reason}: ${message}`);
    return new SyncFailure(reason, message, { cause: error });
  }

  /** Forgets failures whose back-off is over. */
  #collect(nowMs: number): void {
    this.#backoff.collect(nowMs);
    for (const key of this.#failures.keys()) if (this.#backoff.delayMs(key) === 0) this.#failures.delete(key);
  }

  #event(request: EnsureRequest, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#options.timeline.event(podRef(request.pod), type, reason, message, request.fieldPath);
  }
}

/** Bounded in length, however long the image's name is. */
function backoffKey({ metadata: { uid } }: Pod, image: string): string {
  return createHash('sha256')
    .update(JSON.stringify([uid, image]))
    .digest('base64url');
}

function shown(durationMs: number): string {
  return formatDuration(Math.trunc(durationMs));
}

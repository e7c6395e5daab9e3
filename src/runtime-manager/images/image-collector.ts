/** Tracks the images on the machine and removes unused ones when space runs short or they grow old. */

import { statfs } from 'node:fs/promises';
import { aggregateText, type Clock, errorText, sleep, throwIfCancelled } from '../../async/index.js';
import { type CriRuntime, type Image, type ImageSpec, recogniseFault } from '../../cri/index.js';
import { blockBytesOf } from '../../host/index.js';
import { formatDuration } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import { forwardingTracer, type Tracer, traced } from '../../tracing/index.js';
import { faultEntry } from '../fault-entry.js';
import { createImageMetrics, type ImageMetrics } from '../metrics.js';
import {
  type FileSystemUsage,
  forecastImages,
  type ImageForecast,
  type NamedImageRecord,
} from './image-forecast.js';
import {
  bytesToFree,
  formatBytes,
  type ImageGcPolicy,
  type ImageRecord,
  removableForSpace,
  tooOld,
  usagePercent,
} from './image-gc.js';
import { type SandboxImageRuntime, sandboxImageIds } from './sandbox-image.js';

export interface ImageCollectorOptions {
  readonly cri: SandboxImageRuntime &
    Pick<CriRuntime, 'listImages' | 'listContainers' | 'imageFsInfo' | 'removeImage'>;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly nodeName: string;
  /** Default: passes are no spans. */
  readonly tracer?: Tracer;
  readonly policy: ImageGcPolicy;
  readonly usageOf?: (mountpoint: string) => Promise<FileSystemUsage>;
  /** Absent: metrics that nobody reads. */
  readonly metrics?: Pick<ImageMetrics, 'collected'>;
  /** Whether the runtime keeps the images of its handlers apart (gate RuntimeClassInImageCriApi); off by default. */
  readonly namesHandlers?: boolean;
  /** Called after images were removed for space, with the start time and the remaining images. */
  readonly onFreed?: (sinceMs: number, leftIds: ReadonlySet<string>) => Promise<void>;
  /**
   * Ids and names of images that pods have mounted, or are about to mount, as volumes; those are in use, too.
   * Undefined while unknown: then every image counts as in use.
   */
  readonly mountedImages?: () => ReadonlySet<string> | undefined;
}

const gcPeriodMs = 300_000;
const everything = Number.POSITIVE_INFINITY;

export class ImageCollector {
  readonly #options: ImageCollectorOptions;
  readonly #metrics: NonNullable<ImageCollectorOptions['metrics']>;
  readonly #startedMs: number;
  /** By image and handler. */
  #records = new Map<string, { id: string; firstDetectedMs: number; lastUsedMs: number }>();
  #failed = false;
  #hasToldOfPins = false;

  constructor(options: ImageCollectorOptions) {
    const { highThresholdPercent: high, lowThresholdPercent: low } = options.policy;
    for (const percent of [high, low]) {
      if (percent < 0 || percent > 100)
        throw new Error(`invalid image GC threshold ${percent}: it must be between 0 and 100`);
    }
    if (low > high)
      throw new Error(`the low image GC threshold ${low} must not be above the high one ${high}`);
    this.#options = options;
    this.#metrics = options.metrics ?? createImageMetrics();
    this.#startedMs = options.clock.now();
  }

  /** Collects periodically until stopped. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, timeline, nodeName, policy, tracer = forwardingTracer() } = this.#options;
    const collects = policy.highThresholdPercent < 100 || policy.maxAgeMs > 0;
    for (;;) {
      try {
        if (collects) await traced(tracer, { name: 'Images/GarbageCollect' }, () => this.collect());
        else await this.detect();
        this.#failed = false;
      } catch (error) {
        throwIfCancelled(signal);
        const text = errorText(error);
        // A single failure may only mean that the runtime does not report its file system yet.
        if (this.#failed) timeline.nodeEvent(nodeName, 'Warning', 'ImageGCFailed', text);
        else
          timeline.record({
            kind: 'problem',
            what: 'images.collect',
            message: 'collecting images failed',
            level: 'warn',
            error,
          });
        this.#failed = true;
      }
      await sleep(clock, gcPeriodMs, signal);
    }
  }

  /** The images on the machine and their use, remembered for the next look. */
  async detect(): Promise<ImageRecord[]> {
    const seen = await this.#look();
    this.#records = new Map(
      seen.map((image) => [
        keyOf(image),
        { id: image.id, firstDetectedMs: image.firstDetectedMs, lastUsedMs: image.lastUsedMs },
      ]),
    );
    return seen;
  }

  /** What a pass would remove now, and what only with a full disk; with its own policy or another. Changes nothing. */
  async forecast(policy: ImageGcPolicy = this.#options.policy): Promise<ImageForecast> {
    const { clock } = this.#options;
    // A runtime that does not tell where its images are keeps only the removal for space from being foretold.
    const [images, usage] = await Promise.all([this.#look(), this.#usage().catch(() => undefined)]);
    return forecastImages({ images, usage, policy, nowMs: clock.now(), startedMs: this.#startedMs });
  }

  async #look(): Promise<NamedImageRecord[]> {
    const { cri, clock, mountedImages, namesHandlers = false } = this.#options;
    const handlerOf = (image: Pick<ImageSpec, 'runtimeHandler'> | undefined): string =>
      namesHandlers ? (image?.runtimeHandler ?? '') : '';
    const nowMs = clock.now();
    const [{ images }, { containers }] = await Promise.all([cri.listImages({}), cri.listContainers({})]);
    const mounted = mountedImages === undefined ? new Set<string>() : mountedImages();
    const used = new Set(
      containers.map(({ image, imageId, imageRef }) =>
        keyOf({ id: imageId || imageRef, handler: handlerOf(image) }),
      ),
    );
    const ofSandboxes = await sandboxImageIds(cri, images);
    for (const id of ofSandboxes) {
      this.#noteSandboxImage(images.find((image) => image.id === id));
    }
    return images.map((image): NamedImageRecord => {
      const handler = handlerOf(image.spec);
      const key = keyOf({ id: image.id, handler });
      const inUse =
        ofSandboxes.has(image.id) ||
        [image.id, ...image.repoDigests].some((id) => used.has(keyOf({ id, handler }))) ||
        mounted === undefined ||
        [image.id, ...image.repoDigests, ...image.repoTags].some((name) => mounted.has(name));
      const before = this.#records.get(key);
      return {
        id: image.id,
        ...(handler === '' ? {} : { handler }),
        name: image.repoTags[0] ?? image.repoDigests[0] ?? '',
        sizeBytes: image.size,
        pinned: image.pinned,
        inUse,
        firstDetectedMs: before?.firstDetectedMs ?? nowMs,
        lastUsedMs: inUse ? nowMs : (before?.lastUsedMs ?? 0),
      };
    });
  }

  /** A runtime that does not pin the image has done so once and for all: one entry tells it. */
  #noteSandboxImage(image: Pick<Image, 'pinned'> | undefined): void {
    const fault = image && recogniseFault({ seen: 'sandbox image', pinned: image.pinned });
    if (fault === undefined || this.#hasToldOfPins) return;
    this.#hasToldOfPins = true;
    this.#options.timeline.record(faultEntry(fault));
  }

  /** One pass: first images that are too old, then what the space needs. */
  async collect(): Promise<void> {
    const { clock, policy, timeline, nodeName } = this.#options;
    const aged = tooOld(await this.detect(), policy, clock.now(), this.#startedMs);
    const { failures } = await this.#remove(aged, Number.POSITIVE_INFINITY, 'age');
    if (failures.length > 0) {
      throw new Error(
        `wanted to free images older than ${formatDuration(policy.maxAgeMs)}, encountered errors in image deletion: ${aggregateText(failures)}`,
      );
    }
    const { capacityBytes, availableBytes } = await this.#usage();
    if (capacityBytes === 0) {
      const message = 'invalid capacity 0 on image filesystem';
      timeline.nodeEvent(nodeName, 'Warning', 'InvalidDiskCapacity', message);
      throw new Error(message);
    }
    const wanted = bytesToFree(policy, capacityBytes, availableBytes);
    if (wanted <= 0) return;
    const used = usagePercent(capacityBytes, availableBytes);
    timeline.record({
      kind: 'decision',
      what: 'images.collect',
      message: `free ${wanted} bytes of images`,
      because: `the image file system is ${used}% full, at or above ${policy.highThresholdPercent}%`,
      data: { wantedBytes: wanted, usedPercent: used },
    });
    const { freedBytes } = await this.#free(wanted);
    if (freedBytes >= wanted) return;
    const message = `Insufficient free disk space on the node's image filesystem (${used}% of ${formatBytes(capacityBytes)} used). Failed to free sufficient space by deleting unused images (freed ${freedBytes} bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.`;
    timeline.nodeEvent(nodeName, 'Warning', 'FreeDiskSpaceFailed', message);
    throw new Error(message);
  }

  /** Removes every unused image that is old enough. */
  async deleteUnused(): Promise<{ readonly freedBytes: number }> {
    return await this.#free(everything);
  }

  /** Removes unused images until that much is free; removal failures are thrown at the end. */
  async #free(wantedBytes: number): Promise<{ readonly freedBytes: number }> {
    const { clock, policy, onFreed } = this.#options;
    const sinceMs = clock.now();
    const images = removableForSpace(await this.detect(), policy.minAgeMs, clock.now());
    const { freedBytes, failures } = await this.#remove(images, wantedBytes, 'space');
    await onFreed?.(sinceMs, new Set([...this.#records.values()].map(({ id }) => id)));
    if (failures.length > 0) {
      const wanted = wantedBytes === everything ? 'all' : wantedBytes;
      throw new Error(
        `wanted to free ${wanted} bytes, but freed ${freedBytes} bytes space with errors in image deletion: ${aggregateText(failures)}`,
      );
    }
    return { freedBytes };
  }

  async #usage(): Promise<FileSystemUsage> {
    const { cri, usageOf = readUsage } = this.#options;
    const { imageFilesystems } = await cri.imageFsInfo({});
    const mountpoint = imageFilesystems[0]?.fsId?.mountpoint;
    if (mountpoint === undefined) throw new Error('the runtime does not report where its images are');
    const { capacityBytes, availableBytes } = await usageOf(mountpoint);
    return { capacityBytes, availableBytes: Math.min(availableBytes, capacityBytes) };
  }

  async #remove(
    images: readonly ImageRecord[],
    wantedBytes: number,
    reason: 'age' | 'space',
  ): Promise<{ freedBytes: number; failures: string[] }> {
    const { cri, timeline } = this.#options;
    let freedBytes = 0;
    const failures: string[] = [];
    for (const image of images) {
      if (freedBytes >= wantedBytes) break;
      try {
        await cri.removeImage({ image: { image: image.id, runtimeHandler: image.handler ?? '' } });
      } catch (error) {
        const text = errorText(error);
        failures.push(text);
        timeline.record({
          kind: 'problem',
          what: 'image.remove',
          message: `could not remove image ${image.id}`,
          level: 'warn',
          data: { image: image.id, bytes: image.sizeBytes },
          error,
        });
        continue;
      }
      this.#records.delete(keyOf(image));
      freedBytes += image.sizeBytes;
      this.#metrics.collected.inc({ reason });
      timeline.record({
        kind: 'effect',
        what: 'image.remove',
        message: `removed image ${image.id}`,
        because:
          reason === 'age'
            ? 'it was unused for longer than the maximum age'
            : 'the image file system is nearly full',
        data: { image: image.id, bytes: image.sizeBytes },
      });
    }
    return { freedBytes, failures };
  }
}

function keyOf({ id, handler = '' }: Pick<ImageRecord, 'id' | 'handler'>): string {
  return handler === '' ? id : `${id},${handler}`;
}

/** Of the machine that this runs on. */
export async function readUsage(mountpoint: string): Promise<FileSystemUsage> {
  const info = await statfs(mountpoint);
  const blockBytes = blockBytesOf(info);
  return { capacityBytes: info.blocks * blockBytes, availableBytes: info.bavail * blockBytes };
}

/** Computes how far a pull is, from the manifest of the image and what the runtime has fetched. */
import type { FetchedBlob, StoredBlob } from '../../cri/index.js';

export interface ImageLayer {
  readonly digest: string;
  readonly sizeBytes: number;
}

export interface PullProgress {
  readonly doneBytes: number;
  readonly totalBytes: number;
  readonly bytesPerSecond: number;
  /** All bytes are there; the runtime unpacks them. */
  readonly isUnpacking: boolean;
}

/** More than any image has; a registry controls its manifests. */
const mostLayers = 1000;

/** The layers that a manifest names; undefined for a blob that is no manifest. */
export function layersOf(blob: Buffer): readonly ImageLayer[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(blob.toString('utf8'));
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || !('layers' in value)) return undefined;
  if (!Array.isArray(value.layers) || value.layers.length > mostLayers) return undefined;
  const layers = new Map<string, ImageLayer>();
  for (const layer of value.layers as readonly unknown[]) {
    if (typeof layer !== 'object' || layer === null || !('digest' in layer) || !('size' in layer))
      return undefined;
    const { digest, size } = layer;
    if (typeof digest !== 'string' || typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
      return undefined;
    // A layer that occurs twice is fetched once.
    layers.set(digest, { digest, sizeBytes: size });
  }
  return [...layers.values()];
}

/** Follows the layers of one image from look to look. */
export class LayerLedger {
  readonly #layers: readonly ImageLayer[];
  /** Bytes that are there, by layer; one that was fetched and no longer is, is complete. */
  readonly #doneBytes = new Map<string, number>();
  #lastBytes: number | undefined;
  #lastMs = 0;
  #bytesPerSecond = 0;

  constructor(layers: readonly ImageLayer[], stored: readonly StoredBlob[]) {
    this.#layers = layers;
    const present = new Set(stored.map(({ digest }) => digest));
    for (const { digest, sizeBytes } of layers)
      if (present.has(digest)) this.#doneBytes.set(digest, sizeBytes);
  }

  look(fetched: readonly FetchedBlob[], nowMs: number): PullProgress {
    const active = new Map(fetched.map(({ digest, doneBytes }) => [digest, doneBytes]));
    let doneBytes = 0;
    let totalBytes = 0;
    for (const { digest, sizeBytes } of this.#layers) {
      const offset = active.get(digest);
      const known = this.#doneBytes.get(digest);
      const done = offset ?? (known === undefined ? 0 : sizeBytes);
      if (offset !== undefined || known !== undefined) this.#doneBytes.set(digest, done);
      doneBytes += Math.min(done, sizeBytes);
      totalBytes += sizeBytes;
    }
    this.#measure(doneBytes, nowMs);
    return {
      doneBytes,
      totalBytes,
      bytesPerSecond: Math.round(this.#bytesPerSecond),
      isUnpacking: doneBytes === totalBytes,
    };
  }

  /** The rate of the last looks counts more than that of earlier ones. */
  #measure(doneBytes: number, nowMs: number): void {
    const seconds = (nowMs - this.#lastMs) / 1000;
    if (this.#lastBytes !== undefined && seconds > 0) {
      const rate = Math.max(0, doneBytes - this.#lastBytes) / seconds;
      this.#bytesPerSecond = this.#bytesPerSecond === 0 ? rate : this.#bytesPerSecond * 0.7 + rate * 0.3;
    }
    this.#lastBytes = doneBytes;
    this.#lastMs = nowMs;
  }
}

const megabyte = 1_000_000;

/** For people: `40 % of 300.2 MB, 12.1 MB/s, 15s left`. */
export function progressText({ doneBytes, totalBytes, bytesPerSecond, isUnpacking }: PullProgress): string {
  if (isUnpacking) return `all of ${inMegabytes(totalBytes)} fetched, unpacking`;
  const percent = Math.floor((100 * doneBytes) / totalBytes);
  const done = `${percent} % of ${inMegabytes(totalBytes)}`;
  if (bytesPerSecond === 0) return done;
  const leftSeconds = Math.ceil((totalBytes - doneBytes) / bytesPerSecond);
  return `${done}, ${inMegabytes(bytesPerSecond)}/s, ${leftText(leftSeconds)} left`;
}

function inMegabytes(bytes: number): string {
  return `${(bytes / megabyte).toFixed(1)} MB`;
}

function leftText(seconds: number): string {
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)}m` : `${Math.round(seconds / 3600)}h`;
}

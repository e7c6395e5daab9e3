/** What is known of the sizes of volumes on this node, for as long as they are here; a restart forgets it. */
import { BoundedMap } from '../../async/index.js';

interface VolumeSize {
  /** What the claim showed at first, then what the volume was expanded to. */
  readonly sizeBytes: bigint;
  /** What the driver has expanded it to. */
  readonly drivenBytes: bigint;
  /** It cannot grow while it is used. */
  readonly isInUse: boolean;
}

/** Refused volumes stay known when they leave; the oldest is forgotten beyond this. */
const maxRefused = 1000;

export class VolumeSizes {
  /** By unique name; only of volumes that pods want or that are here. */
  readonly #sizes = new Map<string, VolumeSize>();
  readonly #refused = new BoundedMap<string, true>({ maxEntries: maxRefused });

  /** The size of the claim, when its volume is seen for the first time. */
  seen(uniqueName: string, sizeBytes: bigint): void {
    if (this.#sizes.has(uniqueName) || sizeBytes === 0n) return;
    this.#sizes.set(uniqueName, { sizeBytes, drivenBytes: 0n, isInUse: false });
  }

  /** Zero while it is not known. */
  sizeOf(uniqueName: string): bigint {
    return this.#sizes.get(uniqueName)?.sizeBytes ?? 0n;
  }

  isInUse(uniqueName: string): boolean {
    return this.#sizes.get(uniqueName)?.isInUse === true;
  }

  isDriven(uniqueName: string, sizeBytes: bigint): boolean {
    return this.#sizes.get(uniqueName)?.drivenBytes === sizeBytes;
  }

  wasRefused(uniqueName: string): boolean {
    return this.#refused.has(uniqueName);
  }

  reached(uniqueName: string, sizeBytes: bigint): void {
    this.#change(uniqueName, { sizeBytes });
  }

  driven(uniqueName: string, drivenBytes: bigint): void {
    this.#change(uniqueName, { drivenBytes });
  }

  inUse(uniqueName: string): void {
    this.#change(uniqueName, { isInUse: true });
  }

  refused(uniqueName: string): void {
    this.#refused.set(uniqueName, true);
  }

  /** It is not here any more. */
  forget(uniqueName: string): void {
    this.#sizes.delete(uniqueName);
  }

  /** Forgets all others. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.#sizes.keys()) if (!names.has(name)) this.#sizes.delete(name);
  }

  #change(uniqueName: string, change: Partial<VolumeSize>): void {
    const known = this.#sizes.get(uniqueName) ?? { sizeBytes: 0n, drivenBytes: 0n, isInUse: false };
    this.#sizes.set(uniqueName, { ...known, ...change });
  }
}

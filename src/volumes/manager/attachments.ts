/** Keeps account of volumes that the cluster attaches: which are in use here, and which are known to be attached. */
import type { VolumePlugin } from '../contracts.js';
import type { ActualState, DesiredState, WantedMount } from './states.js';

/** What the cluster says of volumes of this node. */
export interface VolumeAttachments {
  /** The names of the volumes that are attached, as last heard. */
  attached(): ReadonlySet<string>;
  /** The same, asked for now. */
  read(signal: AbortSignal): Promise<ReadonlySet<string>>;
}

export class AttachmentBook {
  readonly #attachments: VolumeAttachments | undefined;
  readonly #plugins: ReadonlyMap<string, VolumePlugin>;
  /** Names of volumes that were attached, as long as something of them is here. */
  readonly #attachable = new Set<string>();
  /** Found on disk; it is not known whether they are attached. */
  #unknown: ReadonlySet<string> = new Set();
  /** The names that the cluster has been told to be in use. */
  #reported: ReadonlySet<string> = new Set();
  #isOpen = false;

  constructor(plugins: readonly VolumePlugin[], attachments: VolumeAttachments | undefined) {
    this.#attachments = attachments;
    this.#plugins = new Map(plugins.map((plugin) => [plugin.name, plugin]));
  }

  /** Takes the volumes that were found on disk; `isResolved` may be false from here on. */
  open(found: readonly string[]): void {
    this.#unknown = this.#attachments === undefined ? new Set() : new Set(found);
    this.#isOpen = true;
  }

  /** Whether it is known of all volumes here whether they are attached; until then nothing may be unmounted. */
  get isResolved(): boolean {
    return this.#isOpen && this.#unknown.size === 0;
  }

  resolve(attached: ReadonlySet<string>): void {
    for (const name of this.#unknown) if (attached.has(name)) this.#attachable.add(name);
    this.#unknown = new Set();
  }

  reported(names: readonly string[]): void {
    this.#reported = new Set(names);
  }

  isNeeded({ pluginName, spec }: WantedMount): boolean {
    return this.#plugins.get(pluginName)?.attaching?.isNeeded(spec) === true;
  }

  /** Whether the cluster knows that it is in use here. */
  isReported({ uniqueName }: WantedMount): boolean {
    return this.#reported.has(uniqueName);
  }

  /** Whether the volume can be mounted as far as the cluster is concerned: in use by its account, and then attached. */
  isAttached(wanted: WantedMount): boolean {
    if (this.#attachments === undefined || !this.isNeeded(wanted)) return true;
    const { uniqueName } = wanted;
    return this.#reported.has(uniqueName) && this.#attachments.attached().has(uniqueName);
  }

  /** What the node reports as in use, so that nobody detaches it; undefined while that is not known. */
  inUse(desired: DesiredState, actual: ActualState): readonly string[] | undefined {
    if (!this.isResolved) return undefined;
    const here = new Set<string>();
    for (const wanted of desired.values()) {
      here.add(wanted.uniqueName);
      if (this.isNeeded(wanted)) this.#attachable.add(wanted.uniqueName);
    }
    for (const { uniqueName } of actual.mounts.values()) here.add(uniqueName);
    for (const name of actual.devices.keys()) here.add(name);
    for (const name of this.#attachable) if (!here.has(name)) this.#attachable.delete(name);
    return [...this.#attachable].sort();
  }
}

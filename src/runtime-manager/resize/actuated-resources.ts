/** Remembers the resources last applied to each container, since the runtime does not report them all. */
import { join } from 'node:path';
import { errorText } from '../../async/index.js';
import type { ObservedPodStatus } from '../../cri/index.js';
import { type DurableFiles, DurableState } from '../../host/index.js';
import { fnv32a, type Pod, type ResourceRequirements } from '../../kube/index.js';
import { amountsOf, changedResources, type ResourceAmounts, wantedResources } from './decide-resize.js';
import { requirementsInForce } from './rebuild-actuated.js';

interface PodEntry {
  ContainerResources?: Record<string, ResourceRequirements>;
  PodLevelResources?: ResourceRequirements;
}

export interface ActuatedResourcesOptions {
  /** Absent: nothing survives a restart. */
  readonly checkpoint?: { readonly rootDir: string; readonly store: DurableFiles } | undefined;
}

/** Entries are few and small; all are in one file. */
export class ActuatedResources {
  readonly #options: ActuatedResourcesOptions;
  readonly #file: DurableState | undefined;
  #entries = new Map<string, PodEntry>();
  /** Whether pods may be running whose entries are lost. */
  #isLost = false;

  constructor(options: ActuatedResourcesOptions) {
    this.#options = options;
    const { checkpoint } = options;
    if (checkpoint === undefined) return;
    this.#file = new DurableState(checkpoint.store, pathBelow(checkpoint.rootDir), () =>
      formatCheckpoint(this.#entries),
    );
  }

  /** A corrupt file is set aside, and `podGoesOn` reconstructs its content. */
  async start(): Promise<void> {
    const { checkpoint } = this.#options;
    if (checkpoint === undefined) return;
    const found = await checkpoint.store.read(pathBelow(checkpoint.rootDir), parseCheckpoint);
    if (found.kind === 'found') this.#entries = found.value;
    this.#isLost = found.kind === 'set aside';
  }

  requirements(uid: string, name: string): ResourceRequirements {
    return this.#entries.get(uid)?.ContainerResources?.[name] ?? {};
  }

  container(uid: string, name: string): ResourceAmounts {
    return amountsOf(this.requirements(uid, name));
  }

  /** The pod-level resources. */
  pod(uid: string): ResourceAmounts {
    return amountsOf(this.#entries.get(uid)?.PodLevelResources);
  }

  /** A new pod starts with what it requests, so that its first start is no resize. */
  podBegins(pod: Pod): void {
    const { uid } = pod.metadata;
    if (this.#entries.has(uid)) return;
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      this.setContainer(uid, container.name, wantedResources(pod, container));
    }
    if (pod.spec.resources !== undefined) this.setPod(uid, pod.spec.resources);
  }

  /**
   * For a pod that ran before the file was lost, asks the runtime; else the pod would be resized for nothing.
   */
  podGoesOn(pod: Pod, { containers }: Pick<ObservedPodStatus, 'containers'>): void {
    const { uid } = pod.metadata;
    if (!this.#isLost || this.#entries.has(uid)) return;
    const running = containers.filter(({ state }) => state === 'running');
    if (running.length === 0) return;
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const wanted = wantedResources(pod, container);
      const observed = running.find(({ name }) => name === container.name)?.resources;
      this.setContainer(uid, container.name, requirementsInForce(wanted, observed));
    }
    if (pod.spec.resources !== undefined) this.setPod(uid, pod.spec.resources);
  }

  setContainer(uid: string, name: string, resources: ResourceRequirements): void {
    // A missing entry counts as no resources, and most containers request none.
    if (changedResources(amountsOf(resources), this.container(uid, name)).length === 0) return;
    const entry = this.#entryOf(uid);
    entry.ContainerResources = { ...entry.ContainerResources, [name]: resources };
    this.#file?.changed();
  }

  setPod(uid: string, resources: ResourceRequirements): void {
    if (changedResources(amountsOf(resources), this.pod(uid)).length === 0) return;
    this.#entryOf(uid).PodLevelResources = resources;
    this.#file?.changed();
  }

  /** Forgets all other pods; does not write the file for that alone. */
  keepOnly(isKept: (uid: string) => boolean): void {
    for (const uid of this.#entries.keys()) if (!isKept(uid)) this.#entries.delete(uid);
  }

  /**
   * Resolves once all earlier changes are on disk; fails if they cannot be written. After a crash, a
   * container without an entry would be resized, or even restarted, for nothing.
   */
  async written(): Promise<void> {
    try {
      await this.#file?.written();
    } catch (error) {
      throw new Error(`could not record allocated resources: ${errorText(error)}`, { cause: error });
    }
  }

  /** Resolves when everything is written, or cannot be. */
  async stop(): Promise<void> {
    await this.#file?.stop();
  }

  #entryOf(uid: string): PodEntry {
    const entry = this.#entries.get(uid) ?? {};
    this.#entries.set(uid, entry);
    return entry;
  }
}

function pathBelow(rootDir: string): string {
  return join(rootDir, 'actuated_pods_state');
}

function formatCheckpoint(entries: ReadonlyMap<string, PodEntry>): string {
  const data = JSON.stringify({ entries: Object.fromEntries(entries) });
  return JSON.stringify({ data, checksum: checkpointChecksum(data) });
}

function parseCheckpoint(text: string): Map<string, PodEntry> {
  const outer: unknown = JSON.parse(text);
  if (!isObject(outer) || typeof outer.data !== 'string') throw new Error('it has no data');
  if (outer.checksum !== checkpointChecksum(outer.data)) throw new Error('its checksum is wrong');
  const inner: unknown = JSON.parse(outer.data);
  const entries: unknown = isObject(inner) ? (inner.entries ?? {}) : undefined;
  if (!isObject(entries) || !Object.values(entries).every(isObject)) {
    throw new Error('its entries are not those of pods');
  }
  // The checksum matches, so an agent wrote this.
  return new Map(Object.entries(entries as Record<string, PodEntry>));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** As the reference kubelet computes it, so that either reads the other's file. */
export function checkpointChecksum(data: string): number {
  return fnv32a(new TextEncoder().encode(`(string)${data}`));
}

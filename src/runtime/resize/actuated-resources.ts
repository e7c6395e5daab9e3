/** Remembers what resources the runtime was last told for each container, which it cannot tell back. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorText } from '../../async/index.js';
import { fnv32a, type Pod, type ResourceRequirements } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import { isMissing } from '../logs/file-error.js';
import { amountsOf, changedResources, type ResourceAmounts, wantedResources } from './decide-resize.js';

interface PodEntry {
  ContainerResources?: Record<string, ResourceRequirements>;
  PodLevelResources?: ResourceRequirements;
}

export interface ActuatedResourcesOptions {
  /** Absent: nothing outlives this run. */
  readonly rootDir?: string | undefined;
  readonly timeline: Timeline;
}

/** Entries are few and small; writes that come together are one. */
export class ActuatedResources {
  readonly #options: ActuatedResourcesOptions;
  #entries = new Map<string, PodEntry>();
  /** The last write; those that come after it wait for it. */
  #last: Promise<void> = Promise.resolve();
  /** Whether a write is still to begin, which will have all that changed until then. */
  #isPending = false;
  #failure: unknown;

  constructor(options: ActuatedResourcesOptions) {
    this.#options = options;
  }

  /** Fails when the file is there but not what was written. */
  async start(): Promise<void> {
    const path = this.#path();
    if (path === undefined) return;
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if (isMissing(error)) return;
      throw error;
    }
    const { data, checksum }: { data?: unknown; checksum?: unknown } = JSON.parse(text);
    if (typeof data !== 'string' || checksum !== checkpointChecksum(data)) {
      throw new Error(
        `could not restore state from checkpoint: checkpoint is corrupted, please drain this node and delete the checkpoint file ${path} before restarting`,
      );
    }
    const { entries = {} }: { entries?: Record<string, PodEntry> } = JSON.parse(data);
    this.#entries = new Map(Object.entries(entries));
  }

  requirements(uid: string, name: string): ResourceRequirements {
    return this.#entries.get(uid)?.ContainerResources?.[name] ?? {};
  }

  container(uid: string, name: string): ResourceAmounts {
    return amountsOf(this.requirements(uid, name));
  }

  /** What holds for the pod as a whole. */
  pod(uid: string): ResourceAmounts {
    return amountsOf(this.#entries.get(uid)?.PodLevelResources);
  }

  /** A pod that begins has what it asks for, so that its first start is no resize. */
  podBegins(pod: Pod): void {
    const { uid = '' } = pod.metadata;
    if (this.#entries.has(uid)) return;
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      this.setContainer(uid, container.name, wantedResources(pod, container));
    }
    if (pod.spec.resources !== undefined) this.setPod(uid, pod.spec.resources);
  }

  setContainer(uid: string, name: string, resources: ResourceRequirements): void {
    // What is not remembered counts as nothing, and most containers ask for nothing.
    if (changedResources(amountsOf(resources), this.container(uid, name)).length === 0) return;
    const entry = this.#entryOf(uid);
    entry.ContainerResources = { ...entry.ContainerResources, [name]: resources };
    this.#write();
  }

  setPod(uid: string, resources: ResourceRequirements): void {
    if (changedResources(amountsOf(resources), this.pod(uid)).length === 0) return;
    this.#entryOf(uid).PodLevelResources = resources;
    this.#write();
  }

  /** Forgets all other pods; the file is not written for that alone. */
  keepOnly(isKept: (uid: string) => boolean): void {
    for (const uid of this.#entries.keys()) if (!isKept(uid)) this.#entries.delete(uid);
  }

  /**
   * Resolves once all that was set before is on disk; fails when it cannot be written. A container of
   * which nothing is known after a crash would be changed, or even restarted, for nothing.
   */
  async written(): Promise<void> {
    await this.#last;
    if (this.#failure === undefined) return;
    this.#write();
    await this.#last;
    if (this.#failure === undefined) return;
    throw new Error(`could not record allocated resources: ${errorText(this.#failure)}`, {
      cause: this.#failure,
    });
  }

  /** Resolves when all is on disk, or cannot be. */
  async stop(): Promise<void> {
    await this.#last;
  }

  #entryOf(uid: string): PodEntry {
    const entry = this.#entries.get(uid) ?? {};
    this.#entries.set(uid, entry);
    return entry;
  }

  #path(): string | undefined {
    const { rootDir } = this.#options;
    return rootDir === undefined ? undefined : join(rootDir, 'actuated_pods_state');
  }

  /** What changes together is written together, and what changes during a write with the next one. */
  #write(): void {
    if (this.#isPending || this.#path() === undefined) return;
    this.#isPending = true;
    this.#last = this.#last.then(() => this.#writeAll());
  }

  async #writeAll(): Promise<void> {
    this.#isPending = false;
    const path = this.#path();
    if (path === undefined) return;
    const data = JSON.stringify({ entries: Object.fromEntries(this.#entries) });
    const text = JSON.stringify({ data, checksum: checkpointChecksum(data) });
    try {
      await writeFile(`${path}.tmp`, text, { mode: 0o600 }).catch(async (error: unknown) => {
        if (!isMissing(error)) throw error;
        await mkdir(dirname(path), { recursive: true, mode: 0o750 });
        await writeFile(`${path}.tmp`, text, { mode: 0o600 });
      });
      await rename(`${path}.tmp`, path);
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
      this.#options.timeline.record({
        kind: 'problem',
        what: 'resources.checkpoint',
        message: `the resources of containers could not be written to ${path}`,
        error,
      });
    }
  }
}

/** As the reference agent computes it, so that either finds the other's file in order. */
export function checkpointChecksum(data: string): number {
  return fnv32a(new TextEncoder().encode(`(string)${data}`));
}

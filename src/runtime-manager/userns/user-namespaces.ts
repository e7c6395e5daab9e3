/** Allocates user ids to pods and stores them in the pods' directories, so that running pods keep theirs. */
import { join } from 'node:path';
import { errorText } from '../../async/index.js';
import type { DurableFiles } from '../../host/index.js';
import { formatPod, goQuote, type Pod } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import { IdBlocks, type UserNamespaceMapping } from './id-blocks.js';
import type { IdPool } from './id-pool.js';

export const usersUnsupported = "can't set `spec.hostUsers: false`, runtime does not support user namespaces";

export interface UserNamespacesOptions {
  readonly idsPerPod: number;
  /** The ids that pods may have; read at the start, which fails if they cannot be used. */
  readonly pool: () => Promise<IdPool>;
  readonly rootDir: string;
  readonly store: DurableFiles;
  readonly timeline: Timeline;
  /** Whether pods of the runtime handler can have a user namespace. */
  readonly isSupported: (runtimeHandler: string) => boolean;
  /** The ids that the runtime reports for a pod; undefined when it has none. */
  readonly inForce: (uid: string) => Promise<UserNamespaceMapping | undefined>;
}

export class UserNamespaces {
  readonly #options: UserNamespacesOptions;
  #blocks: IdBlocks;
  /** Pods whose files were lost; no other pod may get ids until the runtime has reported theirs. */
  readonly #lost = new Set<string>();

  constructor(options: UserNamespacesOptions) {
    this.#options = options;
    // None before the start.
    this.#blocks = new IdBlocks({ idsPerPod: options.idsPerPod, blocks: 0 });
  }

  /**
   * Restores the allocations of earlier runs; a pod with a corrupt file is reported, and its next sandbox
   * fails.
   */
  async start(): Promise<void> {
    const { rootDir, store, idsPerPod, pool } = this.#options;
    try {
      this.#blocks = new IdBlocks({ idsPerPod, ...(await pool()) });
    } catch (cause) {
      throw new Error(`create user namespace manager: ${errorText(cause)}`, { cause });
    }
    for (const uid of await store.names(join(rootDir, 'pods'))) {
      await this.#restore(uid).catch((error: unknown) => this.#untaken(uid, error));
    }
  }

  /** The pod's mapping; undefined for a pod in the host's user namespace. */
  async of(pod: Pod, runtimeHandler: string): Promise<UserNamespaceMapping | undefined> {
    if (pod.spec.hostUsers !== false) return undefined;
    const { uid } = pod.metadata;
    if (!this.#options.isSupported(runtimeHandler)) {
      throw new Error(usersUnsupported);
    }
    if (!this.#blocks.has(uid)) {
      try {
        await this.#restore(uid);
        await this.#askForLost();
      } catch (cause) {
        throw new Error(`user namespace of pod ${goQuote(formatPod(pod))}: ${errorText(cause)}`, { cause });
      }
    }
    const isNew = !this.#blocks.has(uid);
    const mapping = this.#blocks.allocate(uid);
    if (isNew) {
      await this.#write(uid, mapping).catch((error: unknown) => {
        this.#blocks.release(uid);
        throw error;
      });
    }
    return mapping;
  }

  /**
   * Frees a pod's ids when it ends, not when it is deleted: finished pods may stay for as long as they like.
   */
  async release(uid: string): Promise<void> {
    this.#lost.delete(uid);
    if (!this.#blocks.has(uid)) return;
    await this.#options.store.remove(this.#path(uid));
    this.#blocks.release(uid);
  }

  /** Frees the ids of all other pods; their directories are gone or about to be. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const uid of this.#blocks.pods()) if (!uids.has(uid)) this.#blocks.release(uid);
    for (const uid of this.#lost) if (!uids.has(uid)) this.#lost.delete(uid);
  }

  async #restore(uid: string): Promise<void> {
    if (this.#blocks.has(uid)) return;
    const found = await this.#options.store.read(this.#path(uid), parseMapping);
    if (found.kind === 'found') this.#blocks.restore(uid, found.value);
    else if (found.kind === 'set aside') this.#lost.add(uid);
  }

  async #askForLost(): Promise<void> {
    for (const uid of [...this.#lost]) {
      const mapping = await this.#options.inForce(uid);
      if (!this.#lost.delete(uid) || mapping === undefined || this.#blocks.has(uid)) continue;
      try {
        this.#blocks.restore(uid, mapping);
        await this.#write(uid, mapping);
      } catch (error) {
        this.#untaken(uid, error);
      }
    }
  }

  #untaken(uid: string, error: unknown): void {
    this.#options.timeline.record({
      kind: 'problem',
      what: 'pod.userns',
      message: `the user ids of pod ${uid} could not be restored from ${this.#path(uid)}`,
      level: 'warn',
      data: { podUid: uid },
      error,
    });
  }

  async #write(uid: string, mapping: UserNamespaceMapping): Promise<void> {
    await this.#options.store.write(this.#path(uid), JSON.stringify(mapping), { directoryMode: 0o750 });
  }

  #path(uid: string): string {
    return join(this.#options.rootDir, 'pods', uid, 'userns');
  }
}

function parseMapping(text: string): UserNamespaceMapping {
  const value: unknown = JSON.parse(text);
  if (!isMapping(value)) throw new Error('it does not hold the ids of a pod');
  return value;
}

function isMapping(value: unknown): value is UserNamespaceMapping {
  if (typeof value !== 'object' || value === null) return false;
  if (!('uidMappings' in value) || !('gidMappings' in value)) return false;
  return [value.uidMappings, value.gidMappings].every(
    (mappings) => Array.isArray(mappings) && mappings.every(isIdMapping),
  );
}

function isIdMapping(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return ['hostId', 'containerId', 'length'].every((name) =>
    Number.isSafeInteger((value as Record<string, unknown>)[name]),
  );
}

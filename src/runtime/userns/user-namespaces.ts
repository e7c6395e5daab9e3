/** Gives pods their user ids and remembers them in the pods' folders, so that running pods keep theirs. */
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from '../../async/index.js';
import { formatPod, goQuote, type Pod } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import { isMissing } from '../logs/file-error.js';
import { IdBlocks, type IdBlocksOptions, type UserNamespaceMapping } from './id-blocks.js';

export const usersUnsupported = "can't set `spec.hostUsers: false`, runtime does not support user namespaces";

export interface UserNamespacesOptions extends IdBlocksOptions {
  readonly rootDir: string;
  readonly timeline: Timeline;
  /** Whether pods of the handler can have a user namespace. */
  readonly isSupported: (runtimeHandler: string) => boolean;
}

export class UserNamespaces {
  readonly #options: UserNamespacesOptions;
  readonly #blocks: IdBlocks;

  constructor(options: UserNamespacesOptions) {
    this.#options = options;
    this.#blocks = new IdBlocks(options);
  }

  /** Takes up what pods were given before; a pod whose file makes no sense is told, and its next sandbox fails. */
  async start(): Promise<void> {
    const { rootDir, timeline } = this.#options;
    const uids = await readdir(join(rootDir, 'pods')).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    });
    for (const uid of uids) {
      await this.#restore(uid).catch((error: unknown) => {
        timeline.record({
          kind: 'problem',
          what: 'pod.userns',
          message: `the user ids of pod ${uid} could not be taken up from ${this.#path(uid)}`,
          level: 'warn',
          error,
        });
      });
    }
  }

  /** The pod's mapping; undefined for a pod that shares the users of the machine. */
  async of(pod: Pod, runtimeHandler: string): Promise<UserNamespaceMapping | undefined> {
    if (pod.spec.hostUsers !== false) return undefined;
    const { uid = '' } = pod.metadata;
    if (!this.#options.isSupported(runtimeHandler)) {
      throw new Error(usersUnsupported);
    }
    if (!this.#blocks.has(uid)) {
      try {
        await this.#restore(uid);
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

  /** Frees the ids of all other pods; their folders are gone or on their way. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const uid of this.#blocks.pods()) if (!uids.has(uid)) this.#blocks.release(uid);
  }

  async #restore(uid: string): Promise<void> {
    if (this.#blocks.has(uid)) return;
    let text: string;
    try {
      text = await readFile(this.#path(uid), 'utf8');
    } catch (error) {
      if (isMissing(error)) return;
      throw error;
    }
    // An empty file is what a crash while writing leaves.
    if (text === '') return;
    const value: unknown = JSON.parse(text);
    if (!isMapping(value)) throw new Error('not the ids of a pod');
    this.#blocks.restore(uid, value);
  }

  async #write(uid: string, mapping: UserNamespaceMapping): Promise<void> {
    const path = this.#path(uid);
    await mkdir(join(this.#options.rootDir, 'pods', uid), { recursive: true, mode: 0o750 });
    await writeFile(`${path}.tmp`, JSON.stringify(mapping), { mode: 0o600 });
    await rename(`${path}.tmp`, path);
  }

  #path(uid: string): string {
    return join(this.#options.rootDir, 'pods', uid, 'userns');
  }
}

function isMapping(value: unknown): value is UserNamespaceMapping {
  if (typeof value !== 'object' || value === null) return false;
  if (!('uidMappings' in value) || !('gidMappings' in value)) return false;
  return Array.isArray(value.uidMappings) && Array.isArray(value.gidMappings);
}

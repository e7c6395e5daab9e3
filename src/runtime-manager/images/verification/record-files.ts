/** Keeps pull records on disk, so that image access survives a restart. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { DurableFileRead, DurableFiles } from '../../../host/index.js';
import type { PulledRecord } from './pulled-record.js';

const apiVersion = 'kubelet.config.k8s.io/v1beta1';
/** Versions whose files have the same fields. */
const readableVersions: readonly unknown[] = [apiVersion, 'kubelet.config.k8s.io/v1alpha1'];

export interface PullIntent {
  readonly image: string;
}

type RecordKind = 'ImagePullIntent' | 'ImagePulledRecord';

/** A directory of records, one file per key. */
export class RecordFiles<T extends object> {
  readonly #store: DurableFiles;
  readonly #dir: string;
  readonly #kind: RecordKind;
  readonly #keyOf: (record: T) => string;

  constructor(store: DurableFiles, dir: string, kind: RecordKind, keyOf: (record: T) => string) {
    this.#store = store;
    this.#dir = dir;
    this.#kind = kind;
    this.#keyOf = keyOf;
  }

  async read(key: string): Promise<DurableFileRead<T>> {
    return await this.#load(recordName(key));
  }

  async write(record: T): Promise<void> {
    const text = JSON.stringify({ kind: this.#kind, apiVersion, ...record });
    const path = join(this.#dir, recordName(this.#keyOf(record)));
    await this.#store.write(path, text, { mode: 0o600, directoryMode: 0o700 });
  }

  async remove(key: string): Promise<void> {
    await this.#store.remove(join(this.#dir, recordName(key)));
  }

  /** All readable records, and the names of the unreadable ones, which were set aside. */
  async list(): Promise<{ readonly records: readonly T[]; readonly lost: ReadonlySet<string> }> {
    const records: T[] = [];
    const lost = new Set<string>();
    for (const name of await this.#store.names(this.#dir)) {
      if (!name.startsWith(namePrefix)) continue;
      const found = await this.#load(name);
      if (found.kind === 'found') records.push(found.value);
      else if (found.kind === 'set aside') lost.add(name);
    }
    return { records, lost };
  }

  async #load(name: string): Promise<DurableFileRead<T>> {
    let isOld = false;
    const found = await this.#store.read(join(this.#dir, name), (text) => {
      const value: unknown = JSON.parse(text);
      if (typeof value !== 'object' || value === null) throw new Error(`it holds no ${this.#kind}`);
      const { kind, apiVersion: version, ...record }: Record<string, unknown> = { ...value };
      if (kind !== this.#kind || !readableVersions.includes(version)) {
        throw new Error(`it holds no ${this.#kind} of ${apiVersion}`);
      }
      // Only agents write these files, each kind with the fields of T.
      const fields = record as T;
      if (recordName(this.#keyOf(fields)) !== name) throw new Error('it is the record of something else');
      isOld = version !== apiVersion;
      return fields;
    });
    if (found.kind === 'found' && isOld) await this.write(found.value);
    return found;
  }
}

const namePrefix = 'sha256-';

/** The record name for this key. */
export function recordName(key: string): string {
  return `${namePrefix}${createHash('sha256').update(key).digest('hex')}`;
}

export function intentFiles(store: DurableFiles, rootDir: string): RecordFiles<PullIntent> {
  const dir = join(rootDir, 'image_manager', 'pulling');
  return new RecordFiles(store, dir, 'ImagePullIntent', ({ image }) => String(image));
}

export function pulledFiles(store: DurableFiles, rootDir: string): RecordFiles<PulledRecord> {
  const dir = join(rootDir, 'image_manager', 'pulled');
  return new RecordFiles(store, dir, 'ImagePulledRecord', ({ imageRef }) => String(imageRef));
}

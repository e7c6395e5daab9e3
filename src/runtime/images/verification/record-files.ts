/** Keeps pull records on disk, so that who may use an image is still known after a restart. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../../logs/file-error.js';
import type { PulledRecord } from './pulled-record.js';

const apiVersion = 'kubelet.config.k8s.io/v1beta1';
/** Versions whose files say the same in the same words. */
const readableVersions: readonly unknown[] = [apiVersion, 'kubelet.config.k8s.io/v1alpha1'];

export interface PullIntent {
  readonly image: string;
}

type RecordKind = 'ImagePullIntent' | 'ImagePulledRecord';

/** One folder of records, one file for each key, written in one step. */
export class RecordFiles<T extends object> {
  readonly #dir: string;
  readonly #kind: RecordKind;
  readonly #keyOf: (record: T) => string;

  constructor(dir: string, kind: RecordKind, keyOf: (record: T) => string) {
    this.#dir = dir;
    this.#kind = kind;
    this.#keyOf = keyOf;
  }

  async prepare(): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
  }

  async read(key: string): Promise<T | undefined> {
    return await this.#load(this.#path(key));
  }

  async write(record: T): Promise<void> {
    const path = this.#path(this.#keyOf(record));
    const temporary = `${path}.tmp`;
    await writeFile(temporary, JSON.stringify({ kind: this.#kind, apiVersion, ...record }), { mode: 0o600 });
    await rename(temporary, path);
  }

  async remove(key: string): Promise<void> {
    await rm(this.#path(key), { force: true });
  }

  /** All that can be read; `onBroken` is told of what cannot. */
  async list(onBroken: (path: string, error: unknown) => void): Promise<T[]> {
    const records: T[] = [];
    for (const name of await readdir(this.#dir)) {
      const path = join(this.#dir, name);
      if (name.endsWith('.tmp')) {
        await rm(path, { force: true });
        continue;
      }
      try {
        const record = await this.#load(path);
        if (record !== undefined) records.push(record);
      } catch (error) {
        onBroken(path, error);
      }
    }
    return records;
  }

  #path(key: string): string {
    return join(this.#dir, `sha256-${createHash('sha256').update(key).digest('hex')}`);
  }

  async #load(path: string): Promise<T | undefined> {
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
    const { kind, apiVersion: version, ...record }: Record<string, unknown> = JSON.parse(text);
    if (kind !== this.#kind || !readableVersions.includes(version)) {
      throw new Error(`${path} holds no ${this.#kind} of ${apiVersion}`);
    }
    const isOld = version !== apiVersion;
    // Only agents write these files, each kind with the fields of T.
    const value = record as T;
    if (isOld) await this.write(value);
    return value;
  }
}

export function intentFiles(rootDir: string): RecordFiles<PullIntent> {
  return new RecordFiles(join(rootDir, 'image_manager', 'pulling'), 'ImagePullIntent', ({ image }) => image);
}

export function pulledFiles(rootDir: string): RecordFiles<PulledRecord> {
  return new RecordFiles(
    join(rootDir, 'image_manager', 'pulled'),
    'ImagePulledRecord',
    ({ imageRef }) => imageRef,
  );
}

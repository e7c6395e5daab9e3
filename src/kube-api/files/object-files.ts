/** Keeps the API's objects as readable manifests below a directory, so that they outlive the process. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Clock, Timer } from '../../async/index.js';
import type { DurableFiles } from '../../host/index.js';
import { parseSource } from '../../kube/manifests/document.js';
import type { DocumentLimits } from '../../kube/manifests/document-limits.js';
import type { KubeObject } from '../../kube/types/index.js';
import { isMapping, jsonEqual, member } from '../../kube-client/patches/json.js';
import { apiVersionOf, qualifiedPlural, type Resource } from '../../kube-client/resources.js';
import type { Storage, StorageChange } from '../objects/storage.js';
import { WriteQueue } from './write-queue.js';
import { yamlText } from './yaml-writer.js';

export interface ObjectFilesOptions {
  readonly dir: string;
  readonly files: DurableFiles;
  readonly clock: Clock;
  /** The kinds that are kept; others live as long as the process. */
  readonly kept: readonly Resource[];
  /** Called for a file that cannot be written for now; it is tried again. */
  readonly onFailure: (file: string, error: unknown) => void;
}

/** A status is written at most this often for an object: the kubelet knows it anew after a crash. */
const statusDelayMs = 1000;
/** Versions that are set aside at once, so that a crash never gives one out twice. */
const revisionBlock = 100_000;
const retryMs = 1000;
/** Objects whose writes have failed and are tried again together. */
const retriesAtOnce = 100;
/** The disk makes fewer at a time; the next ones are ready meanwhile. */
const writesAtOnce = 8;
/** File systems allow 255 bytes, and suffixes take some. */
const longestFileName = 200;
/** Of our own files, which may hold as much as an object of the API. */
const fileLimits: DocumentLimits = { maxLength: 16 * 1024 * 1024, maxDepth: 200, maxTokens: 20_000_000 };
const namespaceSeparator = '/';

export class ObjectFiles {
  readonly #options: ObjectFilesOptions;
  readonly #byName: ReadonlyMap<string, Resource>;
  readonly #queue = new WriteQueue((key) => this.#write(key), writesAtOnce);
  /** Writes that callers may wait for, by the revision of the change. */
  readonly #urgent = new Map<number, Promise<void>>();
  /** Objects of which only the status has changed, until it is time to write them. */
  readonly #delayed = new Map<string, Timer>();
  /** Objects whose last write has failed: they are written again when the timer fires. */
  readonly #failed = new Set<string>();
  #retry: Timer | undefined;
  #reserving: Promise<void> = Promise.resolve();
  #storage: Storage | undefined;
  #reserved = 0;
  #stopped = false;

  constructor(options: ObjectFilesOptions) {
    this.#options = options;
    this.#byName = new Map(options.kept.map((resource) => [qualifiedPlural(resource), resource]));
  }

  /** Reads all objects into an empty storage, and follows its changes from then on. */
  async open(storage: Storage): Promise<void> {
    const { dir, files } = this.#options;
    const known = await files.read(path.join(dir, 'revision'), readRevision);
    const revision = known.kind === 'found' ? known.value : Date.now();
    const objects: (readonly [Resource, string, KubeObject])[] = [];
    for (const resource of this.#options.kept) objects.push(...(await this.#read(resource)));
    storage.load(revision + 1, objects);
    await this.#reserve(storage.revision);
    this.#storage = storage;
    storage.listen((change) => this.#follow(change));
  }

  /** Resolves when this change of a spec, or a newer one of the object, is on disk. Rejects when the disk refuses it. */
  written({ revision }: Pick<StorageChange, 'revision'>): Promise<void> {
    return this.#urgent.get(revision) ?? Promise.resolve();
  }

  /** Writes what waits, and follows no more. */
  async close(): Promise<void> {
    this.#stopped = true;
    this.#retry?.cancel();
    const left = new Set([...this.#delayed.keys(), ...this.#failed]);
    for (const timer of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
    for (const key of left) void this.#queue.add(key);
    await this.#queue.idle();
    await this.#reserving;
  }

  async #read(resource: Resource): Promise<(readonly [Resource, string, KubeObject])[]> {
    const { files } = this.#options;
    const dir = this.#dirOf(resource);
    const found: (readonly [Resource, string, KubeObject])[] = [];
    const below = resource.namespaced ? await files.names(dir) : [''];
    for (const part of below) {
      const directory = path.join(dir, part);
      for (const name of await files.names(directory)) {
        if (!name.endsWith('.yaml')) continue;
        const file = path.join(directory, name);
        const read = await files.read(file, (text) => readObjectText(text, file, resource));
        if (read.kind !== 'found') continue;
        const { namespace, name: own = '' } = read.value.metadata;
        found.push([resource, namespace === undefined ? own : `${namespace}/${own}`, read.value]);
      }
    }
    return found;
  }

  #follow({ revision, resource, before, after }: StorageChange): void {
    const object = after ?? before;
    if (revision > this.#reserved - revisionBlock / 2)
      this.#reserving = this.#reserving.then(() => this.#reserve(revision));
    if (!this.#byName.has(resource) || object === undefined) return;
    const key = `${resource} ${keyOf(object)}`;
    if (after !== undefined && before !== undefined && isStatusOnly(before, after)) {
      if (this.#delayed.has(key) || this.#failed.has(key)) return;
      const timer = this.#options.clock.setTimer(statusDelayMs, () => {
        this.#delayed.delete(key);
        void this.#queue.add(key);
      });
      this.#delayed.set(key, timer);
      return;
    }
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
    const done = this.#queue.add(key);
    this.#urgent.set(revision, done);
    const forget = (): void => void this.#urgent.delete(revision);
    done.then(forget, forget);
  }

  /** Writes or removes the file of an object as the storage has it now. */
  async #write(key: string): Promise<void> {
    const [resource = '', place = ''] = key.split(' ');
    const kind = this.#byName.get(resource);
    if (kind === undefined || this.#storage === undefined) return;
    const object = this.#storage.get(kind, place);
    const file = this.#fileOf(kind, place);
    const { files, onFailure } = this.#options;
    try {
      if (object === undefined) await files.remove(file);
      else await files.write(file, yamlText(named(kind, object)), { mode: 0o600, directoryMode: 0o700 });
      this.#failed.delete(key);
    } catch (error) {
      if (!this.#failed.has(key)) onFailure(file, error);
      this.#failed.add(key);
      this.#retrySoon();
      throw error;
    }
  }

  #retrySoon(): void {
    if (this.#stopped || this.#retry !== undefined) return;
    this.#retry = this.#options.clock.setTimer(retryMs, () => {
      this.#retry = undefined;
      for (const key of [...this.#failed].slice(0, retriesAtOnce)) void this.#queue.add(key);
    });
  }

  async #reserve(revision: number): Promise<void> {
    const next = revision + revisionBlock;
    if (revision <= this.#reserved - revisionBlock / 2) return;
    const { dir, files, onFailure } = this.#options;
    const file = path.join(dir, 'revision');
    try {
      await files.write(file, `${next}\n`, { mode: 0o600, directoryMode: 0o700 });
      this.#reserved = next;
    } catch (error) {
      // The next change tries again.
      onFailure(file, error);
    }
  }

  #dirOf({ group, plural }: Resource): string {
    return path.join(this.#options.dir, group === '' ? 'core' : group, plural);
  }

  #fileOf(resource: Resource, place: string): string {
    const parts = place.split(namespaceSeparator).map(fileName);
    return `${path.join(this.#dirOf(resource), ...parts)}.yaml`;
  }
}

/** A name as part of a path; names that are too long, lead elsewhere or look like other files become hashes. */
function fileName(name: string): string {
  const encoded = encodeURIComponent(name);
  const isOrdinary = !encoded.includes('.corrupt-') && !encoded.endsWith('.tmp') && !/^\.*$/.test(encoded);
  if (encoded.length <= longestFileName && isOrdinary) return encoded;
  return `sha256-${createHash('sha256').update(name).digest('hex')}`;
}

function keyOf({ metadata: { namespace, name = '' } }: KubeObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function named(resource: Resource, object: KubeObject): KubeObject {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
}

/** Whether only the status, and the versions that go with it, have changed. */
function isStatusOnly(before: KubeObject, after: KubeObject): boolean {
  const rest = (object: KubeObject): unknown => {
    const { resourceVersion, managedFields, ...metadata } = object.metadata;
    return { ...object, status: undefined, metadata };
  };
  return member(after, 'status') !== undefined && jsonEqual(rest(before), rest(after));
}

function readRevision(text: string): number {
  const value = Number(text.trim());
  if (!Number.isSafeInteger(value) || value < 0) throw new Error('it is not a revision');
  return value;
}

/** Throws on what is not an object of this kind, so that the file is set aside. */
function readObjectText(text: string, file: string, resource: Resource): KubeObject {
  const [document] = parseSource(text, file, fileLimits);
  const value = document?.value;
  const metadata = member(value, 'metadata');
  const isOurs =
    isMapping(value) &&
    value.kind === resource.kind &&
    isMapping(metadata) &&
    typeof metadata.name === 'string' &&
    typeof metadata.uid === 'string' &&
    (typeof metadata.namespace === 'string') === resource.namespaced;
  if (!isOurs) throw new Error(`it holds no ${resource.kind} with a name and a uid`);
  // Its fields were valid when it was stored.
  return value as unknown as KubeObject;
}

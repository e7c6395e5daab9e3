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
/** File systems allow 255 bytes, and suffixes take some. */
const longestFileName = 200;
/** Of our own files, which may hold as much as an object of the API. */
const fileLimits: DocumentLimits = { maxLength: 16 * 1024 * 1024, maxDepth: 200, maxTokens: 20_000_000 };
const namespaceSeparator = '/';

export class ObjectFiles {
  readonly #options: ObjectFilesOptions;
  readonly #byName: ReadonlyMap<string, Resource>;
  /** Writes that callers wait for. */
  readonly #urgent = new Set<Promise<void>>();
  readonly #pending = new Map<string, Timer>();
  readonly #running = new Set<Promise<void>>();
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

  /** Resolves when every change of a spec so far is on disk, or has failed for now and is tried again. */
  async settled(): Promise<void> {
    while (this.#urgent.size > 0) await Promise.all(this.#urgent);
  }

  /** Writes what waits, and follows no more. */
  async close(): Promise<void> {
    this.#stopped = true;
    for (const [key, timer] of [...this.#pending]) {
      timer.cancel();
      this.#pending.delete(key);
      this.#start(key, false);
    }
    await Promise.all(this.#running);
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
    const kind = this.#byName.get(resource);
    const object = after ?? before;
    if (revision > this.#reserved - revisionBlock / 2) this.#run(this.#reserve(revision));
    if (kind === undefined || object === undefined) return;
    const key = `${resource} ${keyOf(object)}`;
    const isUrgent = after === undefined || before === undefined || !isStatusOnly(before, after);
    const waiting = this.#pending.get(key);
    if (!isUrgent) {
      if (waiting !== undefined) return;
      const timer = this.#options.clock.setTimer(statusDelayMs, () => {
        this.#pending.delete(key);
        this.#start(key, false);
      });
      this.#pending.set(key, timer);
      return;
    }
    waiting?.cancel();
    this.#pending.delete(key);
    this.#start(key, true);
  }

  /** Writes or removes the file of an object as the storage has it now. */
  #start(key: string, isUrgent: boolean): void {
    const [resource = '', place = ''] = key.split(' ');
    const kind = this.#byName.get(resource);
    if (kind === undefined || this.#storage === undefined) return;
    const object = this.#storage.get(kind, place);
    const file = this.#fileOf(kind, place);
    const { files, onFailure } = this.#options;
    const change =
      object === undefined
        ? files.remove(file)
        : files.write(file, yamlText(named(kind, object)), { mode: 0o600, directoryMode: 0o700 });
    const done = change.catch((error: unknown) => {
      onFailure(file, error);
      // Newer content is written when the time comes.
      if (this.#stopped || this.#pending.has(key)) return;
      const timer = this.#options.clock.setTimer(retryMs, () => {
        this.#pending.delete(key);
        this.#start(key, false);
      });
      this.#pending.set(key, timer);
    });
    this.#run(done);
    if (!isUrgent) return;
    const waited: Promise<void> = done.finally(() => this.#urgent.delete(waited));
    this.#urgent.add(waited);
  }

  #run(work: Promise<void>): void {
    const tracked = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  async #reserve(revision: number): Promise<void> {
    const next = revision + revisionBlock;
    if (next <= this.#reserved) return;
    const before = this.#reserved;
    this.#reserved = next;
    const { dir, files, onFailure } = this.#options;
    const file = path.join(dir, 'revision');
    await files.write(file, `${next}\n`, { mode: 0o600, directoryMode: 0o700 }).catch((error: unknown) => {
      // The next change tries again.
      this.#reserved = before;
      onFailure(file, error);
    });
  }

  #dirOf({ group, plural }: Resource): string {
    return path.join(this.#options.dir, group === '' ? 'core' : group, plural);
  }

  #fileOf(resource: Resource, place: string): string {
    const parts = place.split(namespaceSeparator).map(fileName);
    return `${path.join(this.#dirOf(resource), ...parts)}.yaml`;
  }
}

/** A name as part of a path; names that are too long, or look like files that were set aside, become hashes. */
function fileName(name: string): string {
  const encoded = encodeURIComponent(name);
  if (encoded.length <= longestFileName && !encoded.includes('.corrupt-') && !encoded.endsWith('.tmp'))
    return encoded;
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

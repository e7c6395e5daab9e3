/** The file that names the pods which the kubelet of a run was told of: after a crash the next process goes on from them. */
import path from 'node:path';
import type { Clock } from '../../../async/index.js';
import { DurableFiles, type HostError, linuxHost, type UnusableFile } from '../../../host/index.js';
import type { KeptPod } from '../run-pod.js';
import { parseObject, runFilesVersion, wrongVersionOf } from '../run-record.js';

const keptFile = 'run-pods.json';

export interface KeptPodsOptions {
  /** Of the run, on disk. */
  readonly rootDir: string;
  readonly clock: Clock;
  readonly onSetAside: (file: UnusableFile) => void;
  readonly onFailing: (file: string, error: HostError) => void;
}

export class KeptPods {
  readonly #file: string;
  readonly #store: DurableFiles;
  #written = '';

  constructor({ rootDir, clock, onSetAside, onFailing }: KeptPodsOptions) {
    this.#file = path.join(rootDir, keptFile);
    const observer = { setAside: onSetAside, failing: onFailing, recovered: () => undefined };
    this.#store = new DurableFiles({ files: linuxHost().files, clock, observer });
  }

  /** Empty if no earlier process of this run left any. A broken file is set aside: then its pods start anew. */
  async read(): Promise<readonly KeptPod[]> {
    const found = await this.#store.read(this.#file, parseKeptPods);
    return found.kind === 'found' ? found.value : [];
  }

  /** Pods go on if this fails: only a crash would then start some of them anew. */
  async write(pods: readonly KeptPod[]): Promise<void> {
    const text = JSON.stringify({ version: runFilesVersion, pods });
    if (text === this.#written) return;
    // Specs may hold secrets as plain values of the environment.
    const isWritten = await this.#store.write(this.#file, text, { mode: 0o600 }).then(
      () => true,
      // The observer was told.
      () => false,
    );
    this.#written = isWritten ? text : '';
  }
}

/** Throws an error that says what is wrong with the text. */
export function parseKeptPods(text: string): readonly KeptPod[] {
  const value = parseObject(text);
  if (value === undefined) throw new Error('it is not whole JSON');
  const wrongVersion = wrongVersionOf(value);
  if (wrongVersion !== undefined) throw new Error(wrongVersion);
  const { pods } = value;
  if (!Array.isArray(pods) || !pods.every(isKeptPod)) throw new Error('it names no pods');
  return pods;
}

/** Only this program writes the file; what is not whole shows in the parts that identify a pod. */
function isKeptPod(value: unknown): value is KeptPod {
  const { slot, isWanted, pod } = members(value);
  const { metadata, spec } = members(pod);
  const { uid, name, namespace } = members(metadata);
  return (
    [slot, uid, name, namespace].every((text) => typeof text === 'string' && text !== '') &&
    typeof isWanted === 'boolean' &&
    Array.isArray(members(spec).containers)
  );
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  // Any object can be read as members of unknown types.
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

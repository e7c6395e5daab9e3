/** A simulated runtime's record of each sandbox and container. */
import { createHash } from 'node:crypto';
import type { LinuxContainerResources } from '../../cri/index.js';
import { type ContainerExit, PodStore, type StoredContainer, type StoredSandbox } from '../pod-store.js';
import type { SimLog } from './logs.js';
import type { SimProcess } from './process.js';
import type { ContainerScript } from './script.js';

export interface SimSandbox extends StoredSandbox {
  readonly hostNetwork: boolean;
  readonly containers: Set<SimContainer>;
}

export type SimContainerState =
  | { readonly kind: 'created' }
  | { readonly kind: 'starting' }
  | { readonly kind: 'running'; readonly startedAt: bigint; readonly process: SimProcess }
  | ({ readonly kind: 'exited' } & ContainerExit);

export interface SimContainer extends StoredContainer<SimSandbox> {
  readonly script: ContainerScript;
  readonly exitWaiters: Set<() => void>;
  /** The attached clients. */
  readonly outputListeners: Set<(stream: 'stdout' | 'stderr', bytes: Buffer) => void>;
  readonly log: SimLog | undefined;
  resources: LinuxContainerResources | undefined;
  state: SimContainerState;
}

/** Told after each change; a container of a sandbox that is gone has no further ones. */
export interface SimObserver {
  container?(container: SimContainer): void;
  /** Its resources were changed. */
  resources?(container: SimContainer): void;
  /** SIGTERM with what the caller of StopContainer allows for it, or SIGKILL. */
  signal?(container: SimContainer, signal: 'TERM' | 'KILL', timeoutSeconds: number): void;
  /** It was made, or is not ready any more. */
  sandbox?(sandbox: SimSandbox): void;
}

export class SimStore extends PodStore<SimSandbox, SimContainer> {
  readonly #seed: string;
  #made = 0;

  constructor(seed: string) {
    super();
    this.#seed = seed;
  }

  /** 64 hexadecimal digits, the same in every run with the same seed. */
  newId(): string {
    return createHash('sha256')
      .update(`${this.#seed}/${this.#made++}`)
      .digest('hex');
  }
}

/** What a simulated runtime remembers: sandboxes and containers with the indexes that make one pod cheap to list. */
import { createHash } from 'node:crypto';
import {
  type Container,
  type ContainerConfig,
  type ContainerFilter,
  ContainerState,
  CriError,
  criLabels,
  type LinuxContainerResources,
  type PodSandbox,
  type PodSandboxConfig,
  type PodSandboxFilter,
  PodSandboxState,
} from '../../cri/index.js';
import type { SimContainerLog } from './logs.js';
import type { SimProcess } from './process.js';
import type { ContainerScript } from './script.js';

export interface SimSandbox {
  readonly id: string;
  /** The name that is reserved while it exists. */
  readonly name: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly createdAt: bigint;
  readonly hostNetwork: boolean;
  readonly containers: Set<SimContainer>;
  ready: boolean;
  ip: string;
  view: PodSandbox | undefined;
}

export type SimContainerState =
  | { readonly kind: 'created' }
  | { readonly kind: 'starting' }
  | { readonly kind: 'running'; readonly startedAt: bigint; readonly process: SimProcess }
  | {
      readonly kind: 'exited';
      readonly startedAt: bigint;
      readonly finishedAt: bigint;
      readonly exitCode: number;
      readonly reason: string;
      readonly message: string;
    };

export interface SimContainer {
  readonly id: string;
  readonly name: string;
  readonly sandbox: SimSandbox;
  readonly config: ContainerConfig;
  readonly script: ContainerScript;
  readonly imageId: string;
  readonly imageRef: string;
  readonly createdAt: bigint;
  readonly exitWaiters: Set<() => void>;
  readonly log: SimContainerLog | undefined;
  resources: LinuxContainerResources | undefined;
  state: SimContainerState;
  view: Container | undefined;
}

export class SimStore {
  readonly sandboxes = new Map<string, SimSandbox>();
  readonly containers = new Map<string, SimContainer>();
  readonly #sandboxNames = new Map<string, string>();
  readonly #containerNames = new Map<string, string>();
  readonly #sandboxesByPod = new Map<string, Set<SimSandbox>>();
  readonly #containersByPod = new Map<string, Set<SimContainer>>();
  readonly #seed: string;
  #made = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  /** 64 hexadecimal digits, the same ones in every run with the same seed. */
  newId(): string {
    return createHash('sha256')
      .update(`${this.#seed}/${this.#made++}`)
      .digest('hex');
  }

  addSandbox(sandbox: SimSandbox): void {
    reserve('sandbox', this.#sandboxNames, sandbox.name, sandbox.id);
    this.sandboxes.set(sandbox.id, sandbox);
    indexed(this.#sandboxesByPod, sandbox.config.labels[criLabels.podUid]).add(sandbox);
  }

  addContainer(container: SimContainer): void {
    reserve('container', this.#containerNames, container.name, container.id);
    this.containers.set(container.id, container);
    container.sandbox.containers.add(container);
    indexed(this.#containersByPod, container.config.labels[criLabels.podUid]).add(container);
  }

  removeSandbox(sandbox: SimSandbox): void {
    this.sandboxes.delete(sandbox.id);
    this.#sandboxNames.delete(sandbox.name);
    unindex(this.#sandboxesByPod, sandbox.config.labels[criLabels.podUid], sandbox);
  }

  removeContainer(container: SimContainer): void {
    this.containers.delete(container.id);
    this.#containerNames.delete(container.name);
    container.sandbox.containers.delete(container);
    unindex(this.#containersByPod, container.config.labels[criLabels.podUid], container);
  }

  listSandboxes(filter: PodSandboxFilter | undefined): PodSandbox[] {
    const items: PodSandbox[] = [];
    for (const sandbox of this.#sandboxCandidates(filter)) {
      const view = sandboxView(sandbox);
      if (filter?.state !== undefined && filter.state.state !== view.state) continue;
      if (filter !== undefined && !hasLabels(view.labels, filter.labelSelector)) continue;
      items.push(view);
    }
    return items;
  }

  listContainers(filter: ContainerFilter | undefined): Container[] {
    const items: Container[] = [];
    for (const container of this.selectContainers(filter)) {
      const view = containerView(container);
      if (filter?.state === undefined || filter.state.state === view.state) items.push(view);
    }
    return items;
  }

  /** By all of the filter but the state. */
  *selectContainers(
    filter: Pick<ContainerFilter, 'id' | 'podSandboxId' | 'labelSelector'> | undefined,
  ): Iterable<SimContainer> {
    for (const container of this.#containerCandidates(filter)) {
      if (filter !== undefined) {
        if (filter.podSandboxId !== '' && container.sandbox.id !== filter.podSandboxId) continue;
        if (!hasLabels(container.config.labels, filter.labelSelector)) continue;
      }
      yield container;
    }
  }

  #sandboxCandidates(filter: PodSandboxFilter | undefined): Iterable<SimSandbox> {
    if (filter === undefined) return this.sandboxes.values();
    if (filter.id !== '') return present(this.sandboxes.get(filter.id));
    const uid = filter.labelSelector[criLabels.podUid];
    return uid === undefined ? this.sandboxes.values() : (this.#sandboxesByPod.get(uid) ?? []);
  }

  #containerCandidates(
    filter: Pick<ContainerFilter, 'id' | 'podSandboxId' | 'labelSelector'> | undefined,
  ): Iterable<SimContainer> {
    if (filter === undefined) return this.containers.values();
    if (filter.id !== '') return present(this.containers.get(filter.id));
    if (filter.podSandboxId !== '') return this.sandboxes.get(filter.podSandboxId)?.containers ?? [];
    const uid = filter.labelSelector[criLabels.podUid];
    return uid === undefined ? this.containers.values() : (this.#containersByPod.get(uid) ?? []);
  }
}

/** The list entry of a sandbox; the same frozen object until its state changes. */
export function sandboxView(sandbox: SimSandbox): PodSandbox {
  sandbox.view ??= Object.freeze<PodSandbox>({
    id: sandbox.id,
    metadata: sandbox.config.metadata,
    state: sandbox.ready ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY,
    createdAt: sandbox.createdAt,
    labels: sandbox.config.labels,
    annotations: sandbox.config.annotations,
    runtimeHandler: sandbox.runtimeHandler,
  });
  return sandbox.view;
}

/** The list entry of a container; the same frozen object until its state changes. */
export function containerView(container: SimContainer): Container {
  container.view ??= Object.freeze<Container>({
    id: container.id,
    podSandboxId: container.sandbox.id,
    metadata: container.config.metadata,
    image: container.config.image,
    imageRef: container.imageRef,
    state: criContainerState(container),
    createdAt: container.createdAt,
    labels: container.config.labels,
    annotations: container.config.annotations,
    imageId: container.imageId,
  });
  return container.view;
}

export function criContainerState(container: SimContainer): ContainerState {
  switch (container.state.kind) {
    case 'created':
    case 'starting':
      return ContainerState.CONTAINER_CREATED;
    case 'running':
      return ContainerState.CONTAINER_RUNNING;
    case 'exited':
      return ContainerState.CONTAINER_EXITED;
  }
}

function hasLabels(
  labels: Readonly<Record<string, string>>,
  selector: Readonly<Record<string, string>>,
): boolean {
  for (const key in selector) {
    if (labels[key] !== selector[key]) return false;
  }
  return true;
}

function reserve(kind: string, names: Map<string, string>, name: string, id: string): void {
  const holder = names.get(name);
  if (holder !== undefined) {
    throw new CriError(
      'Unknown',
      `failed to reserve ${kind} name "${name}": name "${name}" is reserved for "${holder}"`,
    );
  }
  names.set(name, id);
}

function indexed<T>(index: Map<string, Set<T>>, uid: string | undefined): Set<T> {
  const key = uid ?? '';
  let entries = index.get(key);
  if (entries === undefined) {
    entries = new Set();
    index.set(key, entries);
  }
  return entries;
}

function unindex<T>(index: Map<string, Set<T>>, uid: string | undefined, entry: T): void {
  const key = uid ?? '';
  const entries = index.get(key);
  entries?.delete(entry);
  if (entries?.size === 0) index.delete(key);
}

function present<T>(value: T | undefined): readonly T[] {
  return value === undefined ? [] : [value];
}

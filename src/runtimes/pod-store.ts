/** The store of an in-process runtime: sandboxes and containers, indexed so that one pod is cheap to list. */
import {
  type Container,
  type ContainerConfig,
  type ContainerFilter,
  type ContainerMetadata,
  ContainerState,
  CriError,
  criLabels,
  type PodSandbox,
  type PodSandboxConfig,
  type PodSandboxFilter,
  type PodSandboxMetadata,
  PodSandboxState,
} from '../cri/index.js';

export interface StoredSandbox {
  readonly id: string;
  /** The name reserved while it exists. */
  readonly name: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly createdAt: bigint;
  ready: boolean;
  /** Empty when it has no address of its own. */
  ip: string;
  view: PodSandbox | undefined;
}

export interface ContainerExit {
  readonly startedAt: bigint;
  readonly finishedAt: bigint;
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
}

export type StoredContainerState =
  | { readonly kind: 'created' }
  | { readonly kind: 'starting' }
  | { readonly kind: 'running'; readonly startedAt: bigint }
  | ({ readonly kind: 'exited' } & ContainerExit);

export interface StoredContainer<Sandbox extends StoredSandbox> {
  readonly id: string;
  readonly name: string;
  readonly sandbox: Sandbox;
  readonly config: ContainerConfig;
  readonly imageId: string;
  readonly imageRef: string;
  readonly createdAt: bigint;
  state: StoredContainerState;
  view: Container | undefined;
}

type ContainerChoice = Pick<ContainerFilter, 'id' | 'podSandboxId' | 'labelSelector'>;

export class PodStore<
  SandboxRecord extends StoredSandbox & { readonly containers: Set<ContainerRecord> },
  ContainerRecord extends StoredContainer<SandboxRecord>,
> {
  readonly sandboxes = new Map<string, SandboxRecord>();
  readonly containers = new Map<string, ContainerRecord>();
  readonly #sandboxNames = new Map<string, string>();
  readonly #containerNames = new Map<string, string>();
  readonly #sandboxesByPod = new Map<string, Set<SandboxRecord>>();
  readonly #containersByPod = new Map<string, Set<ContainerRecord>>();

  addSandbox(sandbox: SandboxRecord): void {
    reserve('sandbox', this.#sandboxNames, sandbox.name, sandbox.id);
    this.sandboxes.set(sandbox.id, sandbox);
    indexed(this.#sandboxesByPod, sandbox.config.labels[criLabels.podUid]).add(sandbox);
  }

  addContainer(container: ContainerRecord): void {
    reserve('container', this.#containerNames, container.name, container.id);
    this.containers.set(container.id, container);
    container.sandbox.containers.add(container);
    indexed(this.#containersByPod, container.config.labels[criLabels.podUid]).add(container);
  }

  removeSandbox(sandbox: SandboxRecord): void {
    this.sandboxes.delete(sandbox.id);
    this.#sandboxNames.delete(sandbox.name);
    unindex(this.#sandboxesByPod, sandbox.config.labels[criLabels.podUid], sandbox);
  }

  removeContainer(container: ContainerRecord): void {
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

  /** Applies all of the filter but the state. */
  *selectContainers(filter: ContainerChoice | undefined): Iterable<ContainerRecord> {
    for (const container of this.#containerCandidates(filter)) {
      if (filter !== undefined) {
        if (filter.podSandboxId !== '' && container.sandbox.id !== filter.podSandboxId) continue;
        if (!hasLabels(container.config.labels, filter.labelSelector)) continue;
      }
      yield container;
    }
  }

  /** Only ready ones. */
  selectSandboxes(
    filter: { readonly id: string; readonly labelSelector: Record<string, string> } | undefined,
  ): SandboxRecord[] {
    const wanted = filter && { id: filter.id, labelSelector: filter.labelSelector, state: undefined };
    return this.listSandboxes(wanted)
      .flatMap(({ id }) => this.sandboxes.get(id) ?? [])
      .filter(({ ready }) => ready);
  }

  #sandboxCandidates(filter: PodSandboxFilter | undefined): Iterable<SandboxRecord> {
    if (filter === undefined) return this.sandboxes.values();
    if (filter.id !== '') return present(this.sandboxes.get(filter.id));
    const uid = filter.labelSelector[criLabels.podUid];
    return uid === undefined ? this.sandboxes.values() : (this.#sandboxesByPod.get(uid) ?? []);
  }

  #containerCandidates(filter: ContainerChoice | undefined): Iterable<ContainerRecord> {
    if (filter === undefined) return this.containers.values();
    if (filter.id !== '') return present(this.containers.get(filter.id));
    if (filter.podSandboxId !== '') return this.sandboxes.get(filter.podSandboxId)?.containers ?? [];
    const uid = filter.labelSelector[criLabels.podUid];
    return uid === undefined ? this.containers.values() : (this.#containersByPod.get(uid) ?? []);
  }
}

/** A sandbox's unique name. */
export function sandboxName({ name, namespace, uid, attempt }: PodSandboxMetadata): string {
  return [name, namespace, uid, attempt].join('_');
}

/** A container's unique name. */
export function containerName(
  { name, attempt }: ContainerMetadata,
  pod: PodSandboxMetadata | undefined,
): string {
  return [name, pod?.name, pod?.namespace, pod?.uid, attempt].join('_');
}

/** The list entry of a sandbox; the same frozen object until its state changes. */
function sandboxView(sandbox: StoredSandbox): PodSandbox {
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
function containerView(container: StoredContainer<StoredSandbox>): Container {
  container.view ??= Object.freeze<Container>({
    id: container.id,
    podSandboxId: container.sandbox.id,
    metadata: container.config.metadata,
    image: container.config.image,
    imageRef: container.imageRef,
    state: criContainerState(container.state),
    createdAt: container.createdAt,
    labels: container.config.labels,
    annotations: container.config.annotations,
    imageId: container.imageId,
  });
  return container.view;
}

export function criContainerState({ kind }: StoredContainerState): ContainerState {
  switch (kind) {
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

/** The containers of the process runtime, with the rules and messages of containerd. */
import { randomBytes, randomUUID } from 'node:crypto';
import { chown, mkdir } from 'node:fs/promises';
import { type Clock, sleep } from '../../async/index.js';
import {
  type ContainerConfig,
  ContainerEventType,
  ContainerState,
  type ContainerStatus,
  CriError,
  type LinuxContainerResources,
  type StopContainerRequest,
} from '../../cri/index.js';
import type { PodEvents } from '../pod-events.js';
import { containerStatus } from '../pod-status.js';
import { containerName, criContainerState, type PodStore } from '../pod-store.js';
import { mergeResources } from '../resource-updates.js';
import { endContainerCgroup } from './container-cgroup.js';
import { readCgroup, writeState } from './container-files.js';
import { failedStart, formatState, type RecordedState } from './container-state.js';
import { isAlive } from './identity.js';
import type { ProcessImages } from './images.js';
import type { LaunchPlanner } from './launch-planner.js';
import { reopenLog } from './log-reopening.js';
import { linkMounts } from './mounts.js';
import {
  formatContainer,
  type ProcessContainer,
  type ProcessContainerState,
  type ProcessSandbox,
} from './records.js';
import { type StateDirectory, writeNewRecord } from './state-directory.js';
import { stateReached } from './state-waits.js';
import { stopSignalNumber } from './stop-signal.js';
import { killGroup, type Supervision } from './supervision.js';

/** A supervisor that has written nothing after this time will not come. */
const startLimitMs = 60_000;
/** How long to wait for a container's exit after SIGKILL. */
const killLimitMs = 15_000;

export interface ProcessContainersOptions {
  readonly clock: Clock;
  readonly store: PodStore<ProcessSandbox, ProcessContainer>;
  readonly directory: StateDirectory;
  readonly images: ProcessImages;
  readonly events: PodEvents<ProcessSandbox>;
  readonly launches: LaunchPlanner;
  readonly bootId: string;
  readonly stamp: () => bigint;
  readonly supervision: () => Supervision;
}

export class ProcessContainers {
  readonly #options: ProcessContainersOptions;

  constructor(options: ProcessContainersOptions) {
    this.#options = options;
  }

  async create(sandboxId: string, config: ContainerConfig | undefined): Promise<string> {
    const { store, directory, images, events, launches, stamp } = this.#options;
    const sandbox = store.sandboxes.get(sandboxId);
    if (sandbox === undefined) {
      throw new CriError('NotFound', `failed to find sandbox id "${sandboxId}": not found`);
    }
    const metadata = config?.metadata;
    if (config === undefined || metadata === undefined) {
      throw new CriError('Unknown', 'container config must include metadata');
    }
    if (!isReady(sandbox)) {
      throw new CriError(
        'NotFound',
        `failed to get sandbox container task: no running task found: task ${sandboxId} not found: not found`,
      );
    }
    const reference = config.image?.image ?? '';
    const image = images.find(reference) ?? images.find(config.image?.userSpecifiedImage ?? '');
    if (image === undefined) {
      throw new CriError('NotFound', `failed to resolve image "${reference}": not found`);
    }
    const id = randomBytes(32).toString('hex');
    const files = directory.filesOf(id);
    // Throws now for a signal that could not be sent later.
    stopSignalNumber(config.stopSignal);
    const { launch, mounts, account } = await launches.plan({ id, config, sandbox, root: files.root });
    const container: ProcessContainer = {
      id,
      name: containerName(metadata, sandbox.config.metadata),
      sandbox,
      config,
      files,
      launch,
      account: { uid: account.uid, gid: account.gid },
      imageId: image.id,
      imageRef: image.repoDigests[0] ?? image.id,
      createdAt: stamp(),
      changeWaiters: new Set(),
      resources: config.linux?.resources,
      state: { kind: 'created' },
      removed: false,
      view: undefined,
    };
    store.addContainer(container);
    try {
      await directory.createContainer(id, async (unfinished) => {
        await mkdir(unfinished.root, { mode: 0o755 });
        await linkMounts(mounts, unfinished.root);
        if (account.change) await chown(unfinished.root, account.uid, account.gid);
        await Promise.all([
          writeNewRecord(unfinished.launch, `${JSON.stringify(launch)}\n`),
          writeNewRecord(unfinished.record, formatContainer(container)),
          writeNewRecord(unfinished.state, formatState({ kind: 'created' })),
        ]);
      });
    } catch (error) {
      store.removeContainer(container);
      throw error;
    }
    events.emit(ContainerEventType.CONTAINER_CREATED_EVENT, id, sandbox);
    return id;
  }

  async start(id: string, signal: AbortSignal): Promise<void> {
    const { bootId } = this.#options;
    const container = this.find(id);
    if (container.state.kind !== 'created') {
      const why =
        container.state.kind === 'starting'
          ? 'container is already in starting state'
          : `container is in ${stateName(container)} state`;
      throw new CriError('Unknown', `failed to set starting state for container "${id}": ${why}`);
    }
    const token = randomUUID();
    this.#enter(container, { kind: 'starting', token });
    if (!isReady(container.sandbox)) {
      const message = `sandbox container "${container.sandbox.id}" is not running`;
      await this.#failStart(container, message);
      throw new CriError('Unknown', message);
    }
    try {
      await writeState(container.files, { kind: 'starting', token, bootId });
      await this.#options.supervision().start(container, token);
    } catch (error) {
      // No supervisor has the token, so nothing starts what the next start replaces.
      this.observe(container, { kind: 'created' });
      throw error;
    }
    try {
      const told = await this.#until(
        container,
        () => container.state.kind !== 'starting',
        startLimitMs,
        signal,
      );
      if (!told) throw new CriError('DeadlineExceeded', `the supervisor of container "${id}" does not start`);
    } catch (error) {
      await this.#takeBack(container, token);
      throw error;
    }
    const problem = startProblem(container);
    if (problem !== undefined) throw new CriError('Unknown', problem);
  }

  /**
   * Sends the stop signal, then SIGKILL at the timeout. A container that is missing or not running is no
   * error.
   */
  async stop({ containerId, timeout }: StopContainerRequest, signal: AbortSignal): Promise<void> {
    const container = this.#options.store.containers.get(containerId);
    if (container === undefined) return;
    await this.#started(container, signal);
    if (timeout > 0 && container.state.kind === 'running') {
      await this.#signal(container, stopSignalNumber(container.config.stopSignal));
      await this.#until(container, () => container.state.kind !== 'running', timeout * 1000, signal);
    }
    await this.kill(container, signal);
  }

  /** Sends SIGKILL; resolves when the exit is recorded. */
  async kill(container: ProcessContainer, signal: AbortSignal): Promise<void> {
    await this.#started(container, signal);
    if (container.state.kind !== 'running') return;
    await this.#signal(container, 'SIGKILL');
    const ended = await this.#until(container, () => container.state.kind !== 'running', killLimitMs, signal);
    if (!ended) {
      throw new CriError(
        'DeadlineExceeded',
        `an error occurs during waiting for container "${container.id}" to be killed: it does not end`,
      );
    }
  }

  /** Kills it first if it is running; a missing container is no error. */
  async remove(id: string, signal: AbortSignal): Promise<void> {
    const { store, directory, events } = this.#options;
    const container = store.containers.get(id);
    if (container === undefined) return;
    if (container.state.kind === 'starting') {
      throw new CriError(
        'Unknown',
        `failed to set removing state for container "${id}": container is in starting state, can't be removed`,
      );
    }
    await this.kill(container, signal);
    container.removed = true;
    this.#options.supervision().unfollow(container);
    // Its supervisor has removed the cgroup unless it was killed, or could not leave it.
    const cgroup = await readCgroup(container.files);
    if (cgroup !== undefined) {
      const { clock } = this.#options;
      await endContainerCgroup(id, cgroup, (ms) => sleep(clock, ms, signal));
    }
    await directory.removeContainer(id);
    if (store.containers.get(id) !== container) return;
    store.removeContainer(container);
    events.emit(ContainerEventType.CONTAINER_DELETED_EVENT, id, container.sandbox);
  }

  /** Stores and reports the resources; nothing here enforces them. */
  async update(id: string, resources: LinuxContainerResources | undefined): Promise<void> {
    const container = this.find(id, 'failed to find container: not found');
    if (resources === undefined) return;
    container.resources = mergeResources(container.resources, resources);
    await this.#options.directory.writeContainer(id, formatContainer(container));
  }

  async reopenLog(id: string, signal: AbortSignal): Promise<void> {
    const container = this.find(id);
    if (container.state.kind !== 'running') throw new CriError('Unknown', 'container is not running');
    await reopenLog(this.#options.clock, container, signal);
  }

  find(id: string, whenAbsent?: string): ProcessContainer {
    const container = this.#options.store.containers.get(id);
    if (container !== undefined) return container;
    throw new CriError(
      'NotFound',
      whenAbsent ?? `an error occurred when try to find container "${id}": not found`,
    );
  }

  /** Takes over the recorded state. */
  observe(container: ProcessContainer, recorded: RecordedState): void {
    const { events } = this.#options;
    const before = container.state.kind;
    if (before === recorded.kind || container.removed) return;
    this.#enter(container, recorded);
    const supervision = this.#options.supervision();
    if (recorded.kind === 'running' || recorded.kind === 'starting') supervision.follow(container);
    else supervision.unfollow(container);
    const ran = recorded.kind === 'running' || (recorded.kind === 'exited' && recorded.startedAt > 0n);
    if (ran && before !== 'running') {
      events.emit(ContainerEventType.CONTAINER_STARTED_EVENT, container.id, container.sandbox);
    }
    if (recorded.kind === 'exited') {
      events.emit(ContainerEventType.CONTAINER_STOPPED_EVENT, container.id, container.sandbox);
    }
  }

  #until(
    container: ProcessContainer,
    condition: () => boolean,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    return stateReached(this.#options.clock, container, { condition, limitMs, signal });
  }

  async #started(container: ProcessContainer, signal: AbortSignal): Promise<void> {
    await this.#until(container, () => container.state.kind !== 'starting', startLimitMs, signal);
  }

  /** Undoes an abandoned start if that is still possible; else the start goes on. */
  async #takeBack(container: ProcessContainer, token: string): Promise<void> {
    if (container.state.kind !== 'starting') return;
    if (!(await this.#options.supervision().takeBack(container, token))) return;
    await writeState(container.files, { kind: 'created' });
    this.observe(container, { kind: 'created' });
  }

  async #failStart(container: ProcessContainer, message: string): Promise<void> {
    const failure = failedStart(message, this.#options.stamp());
    try {
      await writeState(container.files, failure);
    } finally {
      this.observe(container, failure);
    }
  }

  async #signal(container: ProcessContainer, signal: number | NodeJS.Signals): Promise<void> {
    if (container.state.kind !== 'running') return;
    const { process: first } = container.state;
    // Once the first process is gone, the supervisor ends the group, and its id may be anybody's.
    if (await isAlive(first)) killGroup(first.pid, signal);
  }

  #enter(container: ProcessContainer, state: ProcessContainerState): void {
    container.state = state;
    container.view = undefined;
    for (const wake of [...container.changeWaiters]) wake();
  }
}

export function processContainerStatus(container: ProcessContainer): ContainerStatus {
  const { account, resources, launch } = container;
  const status = containerStatus(container, {
    resources,
    user: { ...account, supplementalGroups: [...(launch.user?.groups ?? [])] },
  });
  const { image } = status;
  // Users know the image by its name in the pod; the caller may have used its id.
  return image === undefined || image.userSpecifiedImage === ''
    ? status
    : { ...status, image: { ...image, image: image.userSpecifiedImage } };
}

/** Why the container's first process never ran; undefined when it did. */
function startProblem({ state }: ProcessContainer): string | undefined {
  return state.kind === 'exited' && state.startedAt === 0n ? state.message : undefined;
}

/** Whether containers may be created and started in it. */
function isReady({ ready, stopping }: ProcessSandbox): boolean {
  return ready && !stopping;
}

function stateName({ state }: ProcessContainer): string {
  return criContainerState(state) === ContainerState.CONTAINER_RUNNING
    ? 'CONTAINER_RUNNING'
    : 'CONTAINER_EXITED';
}

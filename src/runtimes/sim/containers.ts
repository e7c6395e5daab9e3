/** The containers of a simulated runtime, with the rules and messages of containerd. */
import { type Clock, errorText, sleep, type Timer } from '../../async/index.js';
import {
  type ContainerConfig,
  ContainerEventType,
  type ContainerStatus,
  CriError,
  type LinuxContainerResources,
  type StopContainerRequest,
} from '../../cri/index.js';
import type { PodEvents } from '../pod-events.js';
import { containerLogPath, containerStatus } from '../pod-status.js';
import { containerName } from '../pod-store.js';
import { mergeResources } from '../resource-updates.js';
import type { SimImages } from './images.js';
import { SimContainerLog, SimContainerOutput, type SimLog } from './logs.js';
import { SimMemoryLog } from './memory-log.js';
import { SimProcess } from './process.js';
import { scriptOf, validateSimAnnotations } from './script.js';
import type { SimContainer, SimContainerState, SimObserver, SimSandbox, SimStore } from './store.js';

export interface SimContainersOptions {
  readonly clock: Clock;
  readonly store: SimStore;
  readonly images: SimImages;
  readonly events: PodEvents<SimSandbox>;
  readonly stamp: () => bigint;
  readonly logRoot: string | undefined;
  /** How much of each container's output is kept in memory; undefined: none. */
  readonly logBytes: number | undefined;
  readonly observer: SimObserver | undefined;
}

const unknownExit = { exitCode: 255, reason: 'Unknown', message: '' } as const;

export class SimContainers {
  readonly #options: SimContainersOptions;

  constructor(options: SimContainersOptions) {
    this.#options = options;
  }

  create(sandboxId: string, config: ContainerConfig | undefined): string {
    const { store, images, events, stamp } = this.#options;
    const sandbox = store.sandboxes.get(sandboxId);
    if (sandbox === undefined) {
      throw new CriError('NotFound', `failed to find sandbox id "${sandboxId}": not found`);
    }
    if (!sandbox.ready) {
      throw new CriError(
        'NotFound',
        `failed to get sandbox container task: no running task found: task ${sandboxId} not found: not found`,
      );
    }
    const metadata = config?.metadata;
    if (config === undefined || metadata === undefined) {
      throw new CriError('Unknown', 'container config must include metadata');
    }
    const reference = config.image?.image ?? '';
    const image = images.find(reference);
    if (image === undefined) {
      throw new CriError('NotFound', `failed to resolve image "${reference}": not found`);
    }
    validateSimAnnotations(config.annotations);
    const container: SimContainer = {
      id: store.newId(),
      name: containerName(metadata, sandbox.config.metadata),
      sandbox,
      config,
      script: scriptOf(
        {
          name: metadata.name,
          attempt: metadata.attempt,
          argv: [...config.command, ...config.args],
          annotations: config.annotations,
        },
        sandbox.config.annotations,
      ),
      imageId: image.id,
      imageRef: image.repoDigests[0] ?? image.id,
      createdAt: stamp(),
      exitWaiters: new Set(),
      outputListeners: new Set(),
      log: this.#logOf(sandbox, config),
      resources: config.linux?.resources,
      state: { kind: 'created' },
      view: undefined,
    };
    store.addContainer(container);
    this.#options.observer?.container?.(container);
    events.emit(ContainerEventType.CONTAINER_CREATED_EVENT, container.id, sandbox);
    return container.id;
  }

  #logOf(sandbox: SimSandbox, config: ContainerConfig): SimLog | undefined {
    const { logRoot, logBytes, stamp } = this.#options;
    if (logBytes !== undefined) return new SimMemoryLog(logBytes, stamp);
    return SimContainerLog.at(containerLogPath(sandbox.config.logDirectory, config.logPath), logRoot, stamp);
  }

  async start(id: string, signal: AbortSignal): Promise<void> {
    const { clock, events, stamp } = this.#options;
    const container = this.find(id);
    if (container.state.kind !== 'created') {
      const why =
        container.state.kind === 'starting'
          ? 'container is already in starting state'
          : `container is in ${stateName(container)} state`;
      throw new CriError('Unknown', `failed to set starting state for container "${id}": ${why}`);
    }
    this.#enter(container, { kind: 'starting' });
    const { script, sandbox, log } = container;
    try {
      if (script.startDelayMs > 0) await sleep(clock, script.startDelayMs, signal);
      // It was lost meanwhile.
      this.find(id);
      if (!sandbox.ready) throw new CriError('Unknown', `sandbox container "${sandbox.id}" is not running`);
      if (script.startError !== undefined) {
        throw new CriError('Unknown', `failed to create containerd task: ${script.startError}`);
      }
      log?.open();
    } catch (error) {
      const message = errorText(error);
      this.#exit(container, {
        exitCode: 128,
        reason: 'StartError',
        message: error instanceof CriError ? error.details : message,
      });
      throw error;
    }
    const output = new SimContainerOutput(container);
    const process = new SimProcess({
      clock,
      program: script.program,
      print: (stream, line) => output.print(stream, line),
      copy: (bytes) => output.copy(bytes),
      ...(container.config.stdin && { onReading: () => {} }),
      onExit: (exitCode, killed) => {
        const scripted = killed ? undefined : container.script.exitReason;
        this.#exit(container, { exitCode, reason: scripted ?? exitReason(exitCode), message: '' });
      },
    });
    this.#enter(container, { kind: 'running', startedAt: stamp(), process });
    events.emit(ContainerEventType.CONTAINER_STARTED_EVENT, container.id, sandbox);
    process.start();
  }

  /** SIGTERM, then SIGKILL at the timeout. A container that is not running is no error. */
  async stop({ containerId, timeout }: StopContainerRequest, signal: AbortSignal): Promise<void> {
    const container = this.find(containerId);
    if (container.state.kind !== 'running') return;
    if (timeout > 0) {
      this.#options.observer?.signal?.(container, 'TERM', timeout);
      container.state.process.terminate();
      await this.#exited(container, timeout * 1000, signal);
    }
    this.kill(container);
  }

  /** SIGKILL. */
  kill(container: SimContainer): void {
    if (container.state.kind !== 'running') return;
    this.#options.observer?.signal?.(container, 'KILL', 0);
    container.state.process.kill();
  }

  /** Stops it first if it is running; a missing container is no error. */
  remove(id: string): void {
    const { store, events } = this.#options;
    const container = store.containers.get(id);
    if (container === undefined) return;
    if (container.state.kind === 'starting') {
      throw new CriError(
        'Unknown',
        `failed to set removing state for container "${id}": container is in starting state, can't be removed`,
      );
    }
    this.kill(container);
    store.removeContainer(container);
    events.emit(ContainerEventType.CONTAINER_DELETED_EVENT, id, container.sandbox);
  }

  /** Makes a running container exit by itself, as a script would. */
  exit(id: string, exitCode: number, reason?: string): void {
    const container = this.find(id);
    if (container.state.kind !== 'running') throw new Error(`container ${id} is not running`);
    container.state.process.abandon();
    this.#exit(container, { exitCode, reason: reason ?? exitReason(exitCode), message: '' });
  }

  update(id: string, resources: LinuxContainerResources | undefined): void {
    const container = this.find(id, 'failed to find container: not found');
    if (resources === undefined) return;
    container.resources = mergeResources(container.resources, resources);
    this.#options.observer?.resources?.(container);
  }

  reopenLog(id: string): void {
    const container = this.find(id);
    if (container.state.kind !== 'running') throw new CriError('Unknown', 'container is not running');
    container.log?.open();
  }

  find(id: string, whenAbsent?: string): SimContainer {
    const container = this.#options.store.containers.get(id);
    if (container !== undefined) return container;
    throw new CriError(
      'NotFound',
      whenAbsent ?? `an error occurred when try to find container "${id}": not found`,
    );
  }

  /** Loses it as if it had never been. Its process ends with it. */
  forget(id: string): void {
    const container = this.find(id);
    this.lose(container);
    this.#options.store.removeContainer(container);
  }

  /** After a reboot a running container has exited, in an unknown way. */
  lose(container: SimContainer): void {
    if (container.state.kind !== 'running') return;
    container.state.process.abandon();
    this.#exit(container, unknownExit);
  }

  #exit(
    container: SimContainer,
    end: { readonly exitCode: number; readonly reason: string; readonly message: string },
  ): void {
    const startedAt = container.state.kind === 'running' ? container.state.startedAt : 0n;
    container.log?.close();
    this.#enter(container, { kind: 'exited', startedAt, finishedAt: this.#options.stamp(), ...end });
    for (const wake of container.exitWaiters) wake();
    container.exitWaiters.clear();
    this.#options.events.emit(ContainerEventType.CONTAINER_STOPPED_EVENT, container.id, container.sandbox);
  }

  #enter(container: SimContainer, state: SimContainerState): void {
    container.state = state;
    container.view = undefined;
    this.#options.observer?.container?.(container);
  }

  /** Waits until it has exited or the limit is reached. */
  #exited(container: SimContainer, limitMs: number, signal: AbortSignal): Promise<void> {
    if (container.state.kind !== 'running') return Promise.resolve();
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void): void => {
        timer.cancel();
        signal.removeEventListener('abort', onAbort);
        container.exitWaiters.delete(onExit);
        settle();
      };
      const onExit = (): void => finish(resolve);
      const onAbort = (): void => finish(() => reject(signal.reason));
      const timer: Timer = this.#options.clock.setTimer(limitMs, () => finish(resolve));
      signal.addEventListener('abort', onAbort, { once: true });
      container.exitWaiters.add(onExit);
    });
  }
}

export function simContainerStatus(container: SimContainer): ContainerStatus {
  const security = container.config.linux?.securityContext;
  return containerStatus(container, {
    resources: container.resources,
    user: {
      uid: security?.runAsUser?.value ?? 0,
      gid: security?.runAsGroup?.value ?? 0,
      supplementalGroups: security?.supplementalGroups ?? [],
    },
  });
}

function exitReason(exitCode: number): string {
  return exitCode === 0 ? 'Completed' : 'Error';
}

function stateName(container: SimContainer): string {
  return container.state.kind === 'running' ? 'CONTAINER_RUNNING' : 'CONTAINER_EXITED';
}

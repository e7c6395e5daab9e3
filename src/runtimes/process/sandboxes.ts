/** The pod sandboxes of the process runtime: records only, with nothing on the machine behind them. */
import { randomBytes } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import {
  ContainerEventType,
  CriError,
  NamespaceMode,
  type PodSandboxConfig,
  type PodSandboxStatus,
} from '../../cri/index.js';
import type { PodEvents } from '../pod-events.js';
import { sandboxStatus } from '../pod-status.js';
import { type PodStore, sandboxName } from '../pod-store.js';
import type { ProcessContainers } from './containers.js';
import { formatSandbox, type ProcessContainer, type ProcessSandbox } from './records.js';
import type { StateDirectory } from './state-directory.js';

export interface ProcessSandboxesOptions {
  readonly store: PodStore<ProcessSandbox, ProcessContainer>;
  readonly directory: StateDirectory;
  readonly containers: ProcessContainers;
  readonly events: PodEvents<ProcessSandbox>;
  readonly bootId: string;
  readonly stamp: () => bigint;
  /** The address of all pods: the machine's. */
  readonly address: () => string;
}

export class ProcessSandboxes {
  readonly #options: ProcessSandboxesOptions;

  constructor(options: ProcessSandboxesOptions) {
    this.#options = options;
  }

  async run(config: PodSandboxConfig | undefined, runtimeHandler: string): Promise<string> {
    const { store, directory, events, bootId, stamp, address } = this.#options;
    const metadata = config?.metadata;
    if (config === undefined || metadata === undefined) {
      throw new CriError('Unknown', 'sandbox config must include metadata');
    }
    if (runtimeHandler !== '') {
      throw new CriError(
        'Unknown',
        `failed to get sandbox runtime: no runtime for "${runtimeHandler}" is configured`,
      );
    }
    const hostNetwork = config.linux?.securityContext?.namespaceOptions?.network === NamespaceMode.NODE;
    const sandbox: ProcessSandbox = {
      id: randomBytes(32).toString('hex'),
      name: sandboxName(metadata),
      config,
      runtimeHandler,
      createdAt: stamp(),
      bootId,
      containers: new Set(),
      ready: true,
      stopping: false,
      ip: hostNetwork ? '' : address(),
      view: undefined,
    };
    store.addSandbox(sandbox);
    try {
      await directory.writeSandbox(sandbox.id, formatSandbox(sandbox));
    } catch (error) {
      store.removeSandbox(sandbox);
      throw error;
    }
    events.emit(ContainerEventType.CONTAINER_CREATED_EVENT, sandbox.id, sandbox);
    events.emit(ContainerEventType.CONTAINER_STARTED_EVENT, sandbox.id, sandbox);
    return sandbox.id;
  }

  /** Kills its containers. A stopped or missing sandbox is no error. */
  async stop(id: string, signal: AbortSignal): Promise<void> {
    const sandbox = this.#options.store.sandboxes.get(id);
    if (sandbox !== undefined) await this.#stop(sandbox, signal);
  }

  async #stop(sandbox: ProcessSandbox, signal: AbortSignal): Promise<void> {
    const { containers, directory, events } = this.#options;
    // From here on nothing can start, so this kills everything.
    sandbox.stopping = true;
    try {
      await Promise.all([...sandbox.containers].map((container) => containers.kill(container, signal)));
      if (!sandbox.ready) return;
      const { ip } = sandbox;
      Object.assign(sandbox, { ready: false, ip: '', view: undefined });
      try {
        await directory.writeSandbox(sandbox.id, formatSandbox(sandbox));
      } catch (error) {
        Object.assign(sandbox, { ready: true, ip, view: undefined });
        throw error;
      }
      events.emit(ContainerEventType.CONTAINER_STOPPED_EVENT, sandbox.id, sandbox);
    } finally {
      sandbox.stopping = false;
    }
  }

  /** Also removes its containers; a missing sandbox is no error. */
  async remove(id: string, signal: AbortSignal): Promise<void> {
    const { store, containers, directory, events } = this.#options;
    const sandbox = store.sandboxes.get(id);
    if (sandbox === undefined) return;
    await this.#stop(sandbox, signal);
    for (const container of [...sandbox.containers]) await containers.remove(container.id, signal);
    await directory.removeSandbox(id);
    if (store.sandboxes.get(id) !== sandbox) return;
    store.removeSandbox(sandbox);
    events.emit(ContainerEventType.CONTAINER_DELETED_EVENT, id, sandbox);
  }

  /** Throws unless the sandbox exists and is ready. */
  requireReady(id: string): void {
    const sandbox = this.#options.store.sandboxes.get(id);
    if (sandbox === undefined) {
      throw new CriError('NotFound', `failed to find sandbox "${id}" in store: not found`);
    }
    if (!sandbox.ready) throw new CriError('Unknown', `sandbox container "${id}" is not running`);
  }

  status(id: string): PodSandboxStatus {
    const sandbox = this.#options.store.sandboxes.get(id);
    if (sandbox === undefined) {
      throw new CriError('NotFound', 'an error occurred when try to find sandbox: not found');
    }
    return sandboxStatus(sandbox);
  }
}

/** The first address of this machine that others can reach, IPv4 before IPv6; else loopback. */
export function primaryAddress(interfaces = networkInterfaces()): string {
  const addresses = Object.values(interfaces).flatMap((entries) => entries ?? []);
  const reachable = addresses.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  const chosen = reachable.find(({ family }) => family === 'IPv4') ?? reachable[0];
  return chosen?.address ?? '127.0.0.1';
}

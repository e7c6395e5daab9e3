/** The pod sandboxes of a simulated runtime, with the rules and messages of containerd. */
import {
  ContainerEventType,
  CriError,
  NamespaceMode,
  type PodSandboxConfig,
  type PodSandboxStatus,
} from '../../cri/index.js';
import type { PodEvents } from '../pod-events.js';
import { sandboxStatus } from '../pod-status.js';
import { sandboxName } from '../pod-store.js';
import type { SimContainers } from './containers.js';
import { validateSimAnnotations } from './script.js';
import type { SimObserver, SimSandbox, SimStore } from './store.js';

export interface SimSandboxesOptions {
  readonly store: SimStore;
  readonly containers: SimContainers;
  readonly events: PodEvents<SimSandbox>;
  readonly stamp: () => bigint;
  readonly ips: SimPodIps;
  readonly runtimeHandlers: readonly string[];
  readonly networkReady: () => boolean;
  readonly observer: SimObserver | undefined;
}

export class SimSandboxes {
  readonly #options: SimSandboxesOptions;

  constructor(options: SimSandboxesOptions) {
    this.#options = options;
  }

  run(config: PodSandboxConfig | undefined, runtimeHandler: string): string {
    const { store, ips, runtimeHandlers, networkReady, stamp, events } = this.#options;
    const metadata = config?.metadata;
    if (config === undefined || metadata === undefined) {
      throw new CriError('Unknown', 'sandbox config must include metadata');
    }
    validateSimAnnotations(config.annotations);
    if (runtimeHandler !== '' && !runtimeHandlers.includes(runtimeHandler)) {
      throw new CriError(
        'Unknown',
        `failed to get sandbox runtime: no runtime for "${runtimeHandler}" is configured`,
      );
    }
    const hostNetwork = config.linux?.securityContext?.namespaceOptions?.network === NamespaceMode.NODE;
    const sandbox: SimSandbox = {
      id: store.newId(),
      name: sandboxName(metadata),
      config,
      runtimeHandler,
      createdAt: stamp(),
      hostNetwork,
      containers: new Set(),
      ready: true,
      ip: '',
      view: undefined,
    };
    store.addSandbox(sandbox);
    if (!hostNetwork) {
      if (!networkReady()) {
        store.removeSandbox(sandbox);
        throw new CriError(
          'Unknown',
          `failed to setup network for sandbox "${sandbox.id}": cni plugin not initialized`,
        );
      }
      sandbox.ip = ips.take();
    }
    this.#options.observer?.sandbox?.(sandbox);
    events.emit(ContainerEventType.CONTAINER_CREATED_EVENT, sandbox.id, sandbox);
    events.emit(ContainerEventType.CONTAINER_STARTED_EVENT, sandbox.id, sandbox);
    return sandbox.id;
  }

  /** A stopped sandbox is no error. */
  stop(id: string): void {
    const sandbox = this.#options.store.sandboxes.get(id);
    if (sandbox === undefined) {
      throw new CriError('NotFound', `an error occurred when try to find sandbox "${id}": not found`);
    }
    this.#stop(sandbox);
  }

  #stop(sandbox: SimSandbox): void {
    for (const container of sandbox.containers) this.#options.containers.kill(container);
    this.#releaseNetwork(sandbox);
    this.#putDown(sandbox);
  }

  remove(id: string): void {
    const { store, containers, events } = this.#options;
    const sandbox = store.sandboxes.get(id);
    if (sandbox === undefined) return;
    this.#stop(sandbox);
    for (const container of [...sandbox.containers]) containers.remove(container.id);
    store.removeSandbox(sandbox);
    events.emit(ContainerEventType.CONTAINER_DELETED_EVENT, sandbox.id, sandbox);
  }

  status(id: string): PodSandboxStatus {
    const sandbox = this.#options.store.sandboxes.get(id);
    if (sandbox === undefined) {
      throw new CriError('NotFound', 'an error occurred when try to find sandbox: not found');
    }
    return sandboxStatus(sandbox);
  }

  /** Its own process ends while its containers keep running, with the network until it is stopped. */
  die(id: string): void {
    const sandbox = this.#options.store.sandboxes.get(id);
    if (sandbox !== undefined) this.#putDown(sandbox);
  }

  /** After a reboot only its metadata is left, not ready. */
  lose(sandbox: SimSandbox): void {
    for (const container of sandbox.containers) this.#options.containers.lose(container);
    sandbox.ready = false;
    sandbox.view = undefined;
    this.#releaseNetwork(sandbox);
    this.#options.observer?.sandbox?.(sandbox);
  }

  /** Loses it with its containers as if they had never been. */
  forget(id: string): void {
    const { store, containers } = this.#options;
    const sandbox = store.sandboxes.get(id);
    if (sandbox === undefined) return;
    this.lose(sandbox);
    for (const container of [...sandbox.containers]) containers.forget(container.id);
    store.removeSandbox(sandbox);
  }

  #putDown(sandbox: SimSandbox): void {
    if (!sandbox.ready) return;
    sandbox.ready = false;
    sandbox.view = undefined;
    this.#options.observer?.sandbox?.(sandbox);
    this.#options.events.emit(ContainerEventType.CONTAINER_STOPPED_EVENT, sandbox.id, sandbox);
  }

  #releaseNetwork(sandbox: SimSandbox): void {
    if (sandbox.ip !== '') this.#options.ips.giveBack(sandbox.ip);
    sandbox.ip = '';
  }
}

/** The addresses of an IPv4 range, in turn: a released one is reused after all others. */
export class SimPodIps {
  readonly #base: number;
  readonly #size: number;
  readonly #taken = new Set<string>();
  #next = 2;

  constructor(cidr: string) {
    const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/.exec(cidr);
    const octets = match?.slice(1, 5).map(Number) ?? [];
    const prefixLength = Number(match?.[5] ?? Number.NaN);
    if (octets.length !== 4 || octets.some((octet) => octet > 255) || !(prefixLength <= 30)) {
      throw new RangeError(`pod CIDR "${cidr}" is not an IPv4 range such as 10.88.0.0/16`);
    }
    this.#base = octets.reduce((sum, octet) => sum * 256 + octet, 0);
    this.#size = 2 ** (32 - prefixLength);
  }

  take(): string {
    // Addresses 0, 1 and the last one are the network, its gateway and the broadcast address.
    const count = this.#size - 3;
    for (let tried = 0; tried < count && this.#taken.size < count; tried++) {
      const ip = address(this.#base + this.#next);
      this.#next = this.#next + 1 < this.#size - 1 ? this.#next + 1 : 2;
      if (this.#taken.has(ip)) continue;
      this.#taken.add(ip);
      return ip;
    }
    throw new CriError('Unknown', 'no IP addresses available in range set');
  }

  giveBack(ip: string): void {
    this.#taken.delete(ip);
  }
}

function address(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}

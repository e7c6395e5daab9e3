/** Device plugins without processes or sockets, on any clock: they can be slow, lie, die and come back. */
import { GrpcError } from '../../grpc/index.js';
import type { DevicePluginClient, OpenDevicePlugin, ServeDeviceRegistration } from './contracts.js';
import {
  AllocateResponse,
  DevicePluginOptions,
  ListAndWatchResponse,
  PreferredAllocationResponse,
  RegisterRequest,
} from './gen/device-plugin.js';

export interface TestDevice {
  readonly id: string;
  readonly health?: string;
  readonly nodes?: readonly number[];
}

type PluginMethod = 'options' | 'preferred' | 'allocate' | 'preStart';

export interface TestPluginOptions {
  readonly resource?: string;
  readonly devices?: readonly TestDevice[];
  readonly preStartRequired?: boolean;
  readonly prefers?: (request: {
    readonly available: readonly string[];
    readonly mustInclude: readonly string[];
    readonly size: number;
  }) => readonly string[];
  /** What passes before a call is answered. Default: a turn of the event loop. */
  readonly turn?: () => Promise<void>;
  readonly answer?: (ids: readonly string[]) => Parameters<typeof AllocateResponse.create>[0];
}

/** The sockets of one machine: plugins listen on them, the agent's own among them. */
export class TestPluginSockets {
  readonly plugins = new Map<string, TestPlugin>();
  /** Why the agent's own socket takes no connection. */
  failure: Error | undefined;
  #register: ((request: RegisterRequest, signal: AbortSignal) => Promise<void>) | undefined;

  readonly serve: ServeDeviceRegistration = async (_path, register) => {
    this.#register = register;
    return {
      failure: () => this.failure,
      close: async () => {
        if (this.#register === register) this.#register = undefined;
      },
    };
  };

  readonly open: OpenDevicePlugin = (socketPath) =>
    new TestPluginConnection(() => this.plugins.get(socketPath));

  /** Rejects as the agent would answer, or if nobody listens. */
  async register(
    endpoint: string,
    resourceName: string,
    version = 'v1beta1',
    options?: { readonly preStartRequired: boolean },
  ): Promise<void> {
    if (this.#register === undefined) throw new GrpcError('Unavailable', 'no such socket');
    const request = RegisterRequest.create({ version, endpoint, resourceName, ...(options && { options }) });
    await this.#register(request, new AbortController().signal);
  }
}

const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const testDirectory = '/var/lib/kubelet/device-plugins';

/** One life of a plugin's process. */
export class TestPlugin {
  readonly resource: string;
  readonly path: string;
  readonly calls: string[] = [];
  /** Calls of these methods are never answered. */
  readonly hanging = new Set<PluginMethod>();
  /** Calls of these methods fail with the text. */
  readonly failing = new Map<PluginMethod, string>();
  readonly #sockets: TestPluginSockets;
  readonly #options: TestPluginOptions;
  readonly #name: string;
  #devices: readonly TestDevice[];
  #version = 0;
  #isAlive = true;
  readonly #waiting = new Set<() => void>();

  /** Listens from now on; `register` tells the agent. */
  constructor(sockets: TestPluginSockets, name: string, options: TestPluginOptions = {}) {
    this.#sockets = sockets;
    this.#name = name;
    this.#options = options;
    this.resource = options.resource ?? 'example.com/resource';
    this.path = `${testDirectory}/${name}`;
    this.#devices = options.devices ?? [{ id: 'Dev-1' }, { id: 'Dev-2' }];
    sockets.plugins.set(this.path, this);
  }

  register(): Promise<void> {
    return this.#sockets.register(this.#name, this.resource);
  }

  report(devices: readonly TestDevice[]): void {
    this.#devices = devices;
    this.#version++;
    this.#wake();
  }

  /** As by SIGKILL: every call ends, and nobody listens any more. */
  kill(): void {
    this.#isAlive = false;
    if (this.#sockets.plugins.get(this.path) === this) this.#sockets.plugins.delete(this.path);
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  async #answered<T>(method: PluginMethod, signal: AbortSignal, answer: () => T): Promise<T> {
    await (this.#options.turn ?? turnOfTheLoop)();
    while (this.hanging.has(method) && this.#isAlive && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    if (signal.aborted) throw new GrpcError('Canceled', 'context canceled');
    if (!this.#isAlive) throw new GrpcError('Unavailable', 'error reading from server: EOF');
    const failure = this.failing.get(method);
    if (failure !== undefined) throw new GrpcError('Unknown', failure);
    return answer();
  }

  async options(signal: AbortSignal): Promise<DevicePluginOptions> {
    const { preStartRequired = false, prefers } = this.#options;
    return this.#answered('options', signal, () =>
      DevicePluginOptions.create({
        preStartRequired,
        getPreferredAllocationAvailable: prefers !== undefined,
      }),
    );
  }

  async *reports(signal: AbortSignal): AsyncGenerator<ListAndWatchResponse> {
    this.calls.push('ListAndWatch');
    for (let sent = -1; ; sent = this.#version) {
      while (this.#isAlive && !signal.aborted && sent === this.#version) {
        await new Promise<void>((resolve) => {
          this.#waiting.add(resolve);
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
      if (signal.aborted || !this.#isAlive) return;
      yield ListAndWatchResponse.create({
        devices: this.#devices.map(({ id, health = 'Healthy', nodes = [] }) => ({
          id,
          health,
          topology: { nodes: nodes.map((node) => ({ id: node })) },
        })),
      });
      if (sent === -1) sent = this.#version;
    }
  }

  preferred(
    available: readonly string[],
    mustInclude: readonly string[],
    size: number,
    signal: AbortSignal,
  ): Promise<PreferredAllocationResponse> {
    this.calls.push(`Preferred ${available.join(',')} must ${mustInclude.join(',')} size ${size}`);
    return this.#answered('preferred', signal, () =>
      PreferredAllocationResponse.create({
        containerResponses: [
          { deviceIDs: [...(this.#options.prefers?.({ available, mustInclude, size }) ?? [])] },
        ],
      }),
    );
  }

  allocate(ids: readonly string[], signal: AbortSignal): Promise<AllocateResponse> {
    this.calls.push(`Allocate ${ids.join(',')}`);
    const mounts = ids.map((id) => ({ containerPath: `/tmp/${id}`, hostPath: `/tmp/${id}` }));
    return this.#answered('allocate', signal, () =>
      AllocateResponse.create(this.#options.answer?.(ids) ?? { containerResponses: [{ mounts }] }),
    );
  }

  preStart(ids: readonly string[], signal: AbortSignal): Promise<void> {
    this.calls.push(`PreStart ${ids.join(',')}`);
    return this.#answered('preStart', signal, () => undefined);
  }
}

class TestPluginConnection implements DevicePluginClient {
  readonly #plugin: () => TestPlugin | undefined;
  /** A connection stays with the process that accepted it. */
  #accepted: TestPlugin | undefined;
  readonly #closed = new AbortController();

  constructor(plugin: () => TestPlugin | undefined) {
    this.#plugin = plugin;
  }

  #connected(): TestPlugin {
    this.#accepted ??= this.#plugin();
    if (this.#accepted === undefined) throw new GrpcError('Unavailable', 'connection refused');
    return this.#accepted;
  }

  async options({ signal }: { readonly signal: AbortSignal }): Promise<DevicePluginOptions> {
    return this.#connected().options(AbortSignal.any([signal, this.#closed.signal]));
  }

  async *listAndWatch(signal: AbortSignal): AsyncGenerator<ListAndWatchResponse> {
    yield* this.#connected().reports(AbortSignal.any([signal, this.#closed.signal]));
  }

  async preferred(
    request: Parameters<DevicePluginClient['preferred']>[0],
    { signal }: { readonly signal: AbortSignal },
  ): Promise<PreferredAllocationResponse> {
    const { availableDeviceIDs, mustIncludeDeviceIDs, allocationSize } = request;
    return this.#connected().preferred(availableDeviceIDs, mustIncludeDeviceIDs, allocationSize, signal);
  }

  async allocate(
    ids: readonly string[],
    { signal }: { readonly signal: AbortSignal },
  ): Promise<AllocateResponse> {
    return this.#connected().allocate(ids, signal);
  }

  async preStart(ids: readonly string[], { signal }: { readonly signal: AbortSignal }): Promise<void> {
    await this.#connected().preStart(ids, signal);
  }

  close(): void {
    this.#closed.abort();
  }
}

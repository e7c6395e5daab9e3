/** The plugins of each resource: connects to them, follows their reports, and knows who is asked for devices. */
import {
  asError,
  type Clock,
  errorText,
  isCancelled,
  sleep,
  TaskGroup,
  withTimeout,
} from '../../async/index.js';
import { asGrpcError, isUnavailable } from '../../grpc/index.js';
import type { DevicePluginClient, OpenDevicePlugin, PluginDevice } from './contracts.js';
import type { DeviceRecorder } from './device-recorder.js';
import type { DevicePluginOptions } from './gen/device-plugin.js';
import { deviceLimits } from './limits.js';
import { judgeDevices } from './plugin-answers.js';
import {
  connected,
  isExpired,
  lost,
  type ResourceState,
  remembered,
  reported,
  unreported,
} from './resource-state.js';

export interface DevicePluginsOptions {
  readonly clock: Clock;
  readonly recorder: DeviceRecorder;
  readonly open: OpenDevicePlugin;
  /** The devices of a resource are others than before. */
  readonly onReport: (resource: string, before: ReadonlyMap<string, PluginDevice>) => void;
  /** Anything else about a resource changed. */
  readonly onChange: (resource: string) => void;
}

/** A plugin that is connected. */
export interface PluginEndpoint {
  readonly socketPath: string;
  readonly options: DevicePluginOptions;
  readonly client: DevicePluginClient;
}

interface DeviceResource {
  state: ResourceState;
  /** By socket path, the newest last. */
  readonly endpoints: Map<string, PluginEndpoint & { readonly stop: AbortController }>;
  /** The last one that was connected; it stays when it has gone. */
  last: Pick<PluginEndpoint, 'socketPath' | 'options'> | undefined;
}

export class DevicePlugins {
  readonly #options: DevicePluginsOptions;
  readonly #resources = new Map<string, DeviceResource>();
  /** Sockets that are being connected to. */
  readonly #connecting = new Set<string>();
  readonly #tasks: TaskGroup;

  constructor(options: DevicePluginsOptions) {
    this.#options = options;
    this.#tasks = new TaskGroup({ onError: (task, error) => options.recorder.broken(task, error) });
  }

  /** Rejects with the text that the plugin is told; then nothing of it is left. */
  async connect(resource: string, socketPath: string, signal: AbortSignal): Promise<void> {
    const { recorder } = this.#options;
    try {
      await this.#connect(resource, socketPath, signal);
    } catch (error) {
      recorder.refused(resource, socketPath, error);
      throw error;
    }
  }

  async #connect(resource: string, socketPath: string, signal: AbortSignal): Promise<void> {
    const { open, recorder, onChange } = this.#options;
    const key = `${resource} ${socketPath}`;
    const known = this.#resources.get(resource);
    if (known?.endpoints.has(socketPath) === true || this.#connecting.has(key)) {
      throw new Error(`device plugin already connected: ${socketPath}`);
    }
    if (known === undefined && this.#resources.size >= deviceLimits.resources) {
      throw new Error(`more than ${deviceLimits.resources} resources are registered`);
    }
    if ((known?.endpoints.size ?? 0) >= deviceLimits.endpointsPerResource) {
      throw new Error(`more than ${deviceLimits.endpointsPerResource} plugins of ${resource} are connected`);
    }
    if (this.#connecting.size >= deviceLimits.registrationsAtOnce) {
      throw new Error(
        `more than ${deviceLimits.registrationsAtOnce} device plugins register at the same time`,
      );
    }
    this.#connecting.add(key);
    const client = open(socketPath);
    try {
      const options = await this.#hearOptions(client, signal);
      const stop = new AbortController();
      const endpoint = { socketPath, options, client, stop };
      const entry = this.#resources.get(resource) ?? {
        state: unreported,
        endpoints: new Map(),
        last: undefined,
      };
      this.#resources.set(resource, entry);
      entry.endpoints.set(socketPath, endpoint);
      entry.last = endpoint;
      entry.state = connected(entry.state);
      recorder.connected(resource, socketPath);
      this.#tasks.start(`the reports of ${resource} at ${socketPath}`, (stopped) =>
        this.#follow(resource, endpoint, stopped),
      );
      onChange(resource);
    } catch (error) {
      client.close();
      throw error;
    } finally {
      this.#connecting.delete(key);
    }
  }

  /** A socket that nobody accepts on yet is tried again until the time is over. */
  async #hearOptions(client: DevicePluginClient, signal: AbortSignal): Promise<DevicePluginOptions> {
    const { clock } = this.#options;
    const { connectMs, connectRetryMs } = deviceLimits;
    const endMs = clock.monotonic() + connectMs;
    for (;;) {
      try {
        return await withTimeout(clock, connectMs, signal, (limit) =>
          client.options({ timeoutMs: connectMs, signal: limit }),
        );
      } catch (error) {
        if (isCancelled(error)) throw error;
        if (!isUnavailable(error)) {
          throw new Error(`failed to get device plugin options: ${asGrpcError(error).message}`, {
            cause: error,
          });
        }
        if (clock.monotonic() + connectRetryMs > endMs) {
          throw new Error('failed to dial device plugin: context deadline exceeded', { cause: error });
        }
      }
      await sleep(clock, connectRetryMs, signal);
    }
  }

  /** The plugin's socket has gone from the directory of plugins. */
  disconnect(resource: string, socketPath: string): void {
    this.#resources.get(resource)?.endpoints.get(socketPath)?.stop.abort();
  }

  async #follow(
    resource: string,
    endpoint: PluginEndpoint & { readonly stop: AbortController },
    stopped: AbortSignal,
  ): Promise<void> {
    const signal = AbortSignal.any([stopped, endpoint.stop.signal]);
    let because = 'it ended its reports';
    try {
      for await (const message of endpoint.client.listAndWatch(signal)) {
        if (signal.aborted) break;
        const judged = judgeDevices(message);
        if (judged.kind === 'refused') {
          because = `its report is not taken: ${judged.problem}`;
          break;
        }
        this.#report(resource, endpoint, judged.devices);
        // A plugin that never rests does not keep the node busy.
        await sleep(this.#options.clock, deviceLimits.reportPauseMs, signal);
      }
    } catch (error) {
      because = endpoint.stop.signal.aborted ? 'its socket was removed' : errorText(error);
    }
    endpoint.client.close();
    if (!stopped.aborted) this.#ended(resource, endpoint, because);
  }

  #report(resource: string, endpoint: PluginEndpoint, devices: ReadonlyMap<string, PluginDevice>): void {
    const entry = this.#resources.get(resource);
    // The plugin's resource was given up, or its socket is another plugin's by now.
    if (entry?.endpoints.get(endpoint.socketPath) !== endpoint) return;
    const before = entry.state.table;
    entry.state = reported(devices);
    this.#options.recorder.reported(resource, endpoint.socketPath, entry.state);
    this.#options.onReport(resource, before);
    this.#options.onChange(resource);
  }

  #ended(resource: string, endpoint: PluginEndpoint, because: string): void {
    const { clock, recorder, onChange } = this.#options;
    const entry = this.#resources.get(resource);
    if (entry === undefined || entry.endpoints.get(endpoint.socketPath) !== endpoint) return;
    entry.endpoints.delete(endpoint.socketPath);
    const isLast = entry.endpoints.size === 0;
    if (isLast) entry.state = lost(entry.state, clock.monotonic());
    recorder.disconnected(resource, endpoint.socketPath, because, isLast);
    onChange(resource);
  }

  /** The resources that an earlier life of the agent knew; their plugins have to come back. */
  remember(resources: Iterable<string>): void {
    const nowMs = this.#options.clock.monotonic();
    for (const resource of resources) {
      if (this.#resources.has(resource) || this.#resources.size >= deviceLimits.resources) continue;
      this.#resources.set(resource, { state: remembered(nowMs), endpoints: new Map(), last: undefined });
    }
  }

  state(resource: string): ResourceState | undefined {
    return this.#resources.get(resource)?.state;
  }

  /** Who is asked for devices: the newest that is connected. */
  primary(resource: string): PluginEndpoint | undefined {
    return [...(this.#resources.get(resource)?.endpoints.values() ?? [])].at(-1);
  }

  /** The last plugin of the resource, gone or not; undefined if it is not known in this life of the agent. */
  last(resource: string): Pick<PluginEndpoint, 'socketPath' | 'options'> | undefined {
    return this.primary(resource) ?? this.#resources.get(resource)?.last;
  }

  /** Resources with their states, in the order of names. */
  states(): readonly (readonly [string, ResourceState])[] {
    return [...this.#resources]
      .map(([resource, { state }]): [string, ResourceState] => [resource, state])
      .sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Forgets resources whose plugins stayed away too long; returns those that were counted. */
  expire(): readonly string[] {
    const nowMs = this.#options.clock.monotonic();
    const expired = [...this.#resources].filter(([, { state }]) => isExpired(state, nowMs));
    for (const [resource] of expired) this.#resources.delete(resource);
    for (const [resource, { state }] of expired) {
      if (state.isKnown) this.#options.recorder.expired(resource);
      this.#options.onChange(resource);
    }
    return expired.filter(([, { state }]) => state.isKnown).map(([resource]) => resource);
  }

  async stop(): Promise<void> {
    const ended = this.#tasks.stop();
    for (const { endpoints } of this.#resources.values()) {
      for (const { client } of endpoints.values()) client.close();
    }
    await ended;
  }
}

/** A call of a plugin that ends at its time, whatever the plugin does; rejects with the text of gRPC. */
export async function callPlugin<T>(
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal,
  call: (options: { readonly timeoutMs: number; readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  try {
    return await withTimeout(clock, timeoutMs, signal, (limit) => call({ timeoutMs, signal: limit }));
  } catch (error) {
    if (signal.aborted) throw asError(error);
    throw asGrpcError(error);
  }
}

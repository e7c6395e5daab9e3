/** Lets device plugins register: on the agent's own socket, and by a socket in the directory of plugins. */
import { join, normalize } from 'node:path/posix';
import { errorText } from '../../async/index.js';
import type { Host } from '../../host/index.js';
import {
  type DeviceRegistrationServer,
  registrationSocketName,
  type ServeDeviceRegistration,
} from './contracts.js';
import type { DevicePlugins } from './device-plugins.js';
import type { RegisterRequest } from './gen/device-plugin.js';
import { deviceLimits } from './limits.js';
import type { DeviceManagerMetrics } from './metrics.js';
import { registrationRefusal, watchedRefusal } from './resource-name.js';

export interface DeviceRegistrationOptions {
  /** Where plugins put their sockets. */
  readonly directory: string;
  readonly host: Host;
  readonly serve: ServeDeviceRegistration;
  readonly plugins: DevicePlugins;
  readonly metrics: DeviceManagerMetrics;
}

/** A plugin by its own account, as the plugin manager gives it. */
interface WatchedPlugin {
  readonly name: string;
  readonly endpoint: string;
  readonly versions: readonly string[];
}

export class DeviceRegistration {
  readonly #options: DeviceRegistrationOptions;
  #server: DeviceRegistrationServer | undefined;
  #failure: unknown;
  readonly #counted = new Set<string>();

  constructor(options: DeviceRegistrationOptions) {
    this.#options = options;
  }

  /** Removes the sockets of an earlier life, so that plugins notice the start, and listens. Rejects if it cannot. */
  async start(): Promise<void> {
    const { directory, host, serve } = this.#options;
    try {
      await host.files.mkdir(directory, { mode: 0o755, recursive: true });
      await removeSockets(host, directory);
      this.#server = await serve(join(directory, registrationSocketName), (request, signal) =>
        this.register(request, signal),
      );
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  /** Rejects with the text that the plugin is told. */
  async register({ version, endpoint, resourceName }: RegisterRequest, signal: AbortSignal): Promise<void> {
    const { plugins, metrics, directory } = this.#options;
    const refusal = registrationRefusal(version, resourceName);
    metrics.registrations.inc({ resource_name: this.#countedName(resourceName) });
    if (refusal !== undefined) throw new Error(refusal);
    const socketPath = join(directory, endpoint);
    if (Buffer.byteLength(socketPath) > deviceLimits.endpointBytes || endpoint.includes('\0')) {
      throw new Error('the endpoint is no path of a socket');
    }
    if (endpoint === '' || !normalize(socketPath).startsWith(`${normalize(directory)}/`)) {
      throw new Error(`the endpoint ${JSON.stringify(endpoint)} is not below ${directory}`);
    }
    await plugins.connect(resourceName, socketPath, signal);
  }

  /** Names that are refused are counted too; metrics are not to grow with them. */
  #countedName(resource: string): string {
    const name = resource.slice(0, deviceLimits.deviceIdBytes);
    if (!this.#counted.has(name) && this.#counted.size >= deviceLimits.resources) return 'other';
    this.#counted.add(name);
    return name;
  }

  /** What is wrong with the socket of registrations; undefined if nothing is. */
  health(): string | undefined {
    const failure = this.#failure ?? this.#server?.failure();
    if (failure === undefined) return undefined;
    return `device registration error: device plugin registration gRPC server failed and no device plugins can register: ${errorText(failure)}`;
  }

  async stop(): Promise<void> {
    await this.#server?.close();
    this.#server = undefined;
  }

  /** For plugins whose sockets lie in the directory of plugins. */
  readonly handler = {
    refusal: ({ name, versions }: WatchedPlugin): string | undefined => watchedRefusal(versions, name),
    register: ({ name, endpoint }: WatchedPlugin, signal: AbortSignal): Promise<void> =>
      this.#options.plugins.connect(name, endpoint, signal),
    deregister: async ({ name, endpoint }: WatchedPlugin): Promise<void> =>
      this.#options.plugins.disconnect(name, endpoint),
  };
}

/** Sockets of the directory itself, links to sockets too; everything else stays. */
async function removeSockets({ files }: Host, directory: string): Promise<void> {
  for (const name of await files.readdir(directory)) {
    const path = join(directory, name);
    const found = await files.stat(path).catch(() => undefined);
    if (found?.kind === 'socket') await files.unlink(path);
  }
}

/** A device plugin in the test's process, whose devices fall ill and recover as the test says. */
import { once } from 'node:events';
import path from 'node:path';
import { type GrpcServer, serveGrpc } from '../../src/grpc/index.js';
import { Registration } from '../../src/plugins/gen/registration.js';
import {
  type AllocateRequest,
  DevicePlugin,
  type ListAndWatchResponse,
} from '../../src/resources/device-manager/gen/device-plugin.js';

export interface TestDevicePluginOptions {
  /** The kubelet's root directory. */
  readonly rootDir: string;
  /** As in `nodelet.test/gpu`. */
  readonly resource: string;
  readonly devices: readonly string[];
}

/** It registers by a socket in the directory of plugins, and gives containers the ids of their devices as `DEVICES`. */
export class TestDevicePlugin {
  readonly #options: TestDevicePluginOptions;
  readonly #changes = new EventTarget();
  readonly #ill = new Set<string>();
  #servers: GrpcServer[] = [];

  constructor(options: TestDevicePluginOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { rootDir, resource } = this.#options;
    const name = resource.replaceAll('/', '-');
    const endpoint = path.join(rootDir, 'plugins', name, 'dp.sock');
    const info = { type: 'DevicePlugin', name: resource, endpoint, supportedVersions: ['v1beta1'] };
    const registration = { getInfo: async () => info, notifyRegistrationStatus: async () => ({}) };
    this.#servers = [
      await serveGrpc([{ methods: DevicePlugin, implementation: this.#service() }], { socketPath: endpoint }),
      await serveGrpc([{ methods: Registration, implementation: registration }], {
        socketPath: path.join(rootDir, 'plugins_registry', `${name}-reg.sock`),
      }),
    ];
  }

  /** Whether the device can be used, as the plugin says from now on. */
  setHealthy(device: string, healthy: boolean): void {
    if (healthy) this.#ill.delete(device);
    else this.#ill.add(device);
    this.#changes.dispatchEvent(new Event('change'));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.splice(0).map((server) => server.close()));
  }

  #report(): ListAndWatchResponse {
    const { devices } = this.#options;
    return { devices: devices.map((id) => ({ id, health: this.#ill.has(id) ? 'Unhealthy' : 'Healthy' })) };
  }

  #service() {
    const report = () => this.#report();
    const changes = this.#changes;
    return {
      getDevicePluginOptions: async () => ({}),
      async *listAndWatch(_request: object, { signal }: { readonly signal: AbortSignal }) {
        for (;;) {
          yield report();
          await once(changes, 'change', { signal });
        }
      },
      getPreferredAllocation: async () => ({ containerResponses: [] }),
      allocate: async ({ containerRequests }: AllocateRequest) => ({
        containerResponses: containerRequests.map(({ devicesIds }) => ({
          envs: { DEVICES: devicesIds.join(',') },
        })),
      }),
      preStartContainer: async () => ({}),
    };
  }
}

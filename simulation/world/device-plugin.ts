/** The device plugin of a simulated machine: a process beside the kubelets that dies, comes back and registers again. */
import { errorText, type VirtualClock } from '../../src/async/index.js';
import type { ServeDeviceRegistration } from '../../src/resources/device-manager/index.js';
import { TestPlugin, TestPluginSockets } from '../../src/resources/device-manager/test-plugins.js';

export const deviceResource = 'sim.example.com/device';

const devicePrefix = '/dev/sim/';
const deviceCount = 4;
const ids = Array.from({ length: deviceCount }, (_, index) => `sim-${index}`);
/** A plugin notices that the kubelet listens anew, or that its connection broke. */
const noticeMs = 200;
const againMs = 5_000;

/** The id of a device by its path. */
export function deviceOf(hostPath: string): string | undefined {
  return hostPath.startsWith(devicePrefix) ? hostPath.slice(devicePrefix.length) : undefined;
}

export class DevicePluginProcess {
  readonly sockets = new TestPluginSockets();
  readonly #clock: VirtualClock;
  readonly #unhealthy = new Set<string>();
  #plugin: TestPlugin | undefined;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
    this.start();
  }

  /** Where kubelets listen; the plugin hears of each that begins to. */
  readonly serve: ServeDeviceRegistration = async (path, register) => {
    const server = await this.sockets.serve(path, register);
    this.noticed();
    return server;
  };

  start(): void {
    if (this.#plugin !== undefined) return;
    this.#plugin = new TestPlugin(this.sockets, 'sim.sock', {
      resource: deviceResource,
      devices: this.#devices(),
      turn: async () => undefined,
      answer: (given) => ({
        containerResponses: [
          {
            devices: given.map((id) => ({
              hostPath: `${devicePrefix}${id}`,
              containerPath: `${devicePrefix}${id}`,
              permissions: 'rw',
            })),
          },
        ],
      }),
    });
    this.noticed();
  }

  kill(): void {
    this.#plugin?.kill();
    this.#plugin = undefined;
  }

  turnHealth(pick: number): void {
    const id = ids[pick % ids.length] ?? '';
    if (!this.#unhealthy.delete(id)) this.#unhealthy.add(id);
    this.#plugin?.report(this.#devices());
  }

  becomeCalm(): void {
    this.#unhealthy.clear();
    this.#plugin?.report(this.#devices());
    this.start();
  }

  /** Registers the plugin soon. */
  noticed(afterMs = noticeMs): void {
    const plugin = this.#plugin;
    this.#clock.setTimer(afterMs, () => {
      if (plugin === undefined || plugin !== this.#plugin) return;
      // It tries again until a kubelet has it.
      plugin.register().catch((error: unknown) => {
        if (!errorText(error).includes('already connected')) this.noticed(againMs);
      });
    });
  }

  #devices(): { readonly id: string; readonly health: string }[] {
    return ids.map((id) => ({ id, health: this.#unhealthy.has(id) ? 'Unhealthy' : 'Healthy' }));
  }
}

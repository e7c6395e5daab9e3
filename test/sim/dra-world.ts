/** A machine with drivers of dynamic resources that outlives its kubelets, and kubelets on it that can die at any step. */
import { expect } from 'vitest';
import { GrpcError } from '../../src/grpc/index.js';
import { SimulatedMachine, simulatedHost } from '../../src/host/index.js';
import type { Pod } from '../../src/kube/index.js';
import { SimulatedKubeApi } from '../../src/kube-api/index.js';
import { resources } from '../../src/kube-client/index.js';
import type { OpenPluginSocket } from '../../src/plugins/index.js';
import { apiDynamicResources } from '../../src/resources/dra/api/index.js';
import { type OpenDriver, openSimulatedDrivers, SimulatedDriver } from '../../src/resources/dra/index.js';
import { Machine } from './machine.js';
import { minute, type Node, second } from './node.js';
import { nodeName } from './node-name.js';
import { apiPod, type PodShape } from './pods.js';
import type { Cut } from './runtime-line.js';
import { rootDir, startVolumeNode, type VolumeNode } from './volume-node.js';

export class DraMachine {
  readonly machine = new Machine();
  readonly files = new SimulatedMachine();
  readonly api = new SimulatedKubeApi({ clock: this.machine.time });
  /** Drivers by the sockets of their services. */
  readonly drivers = new Map<string, SimulatedDriver>();
  /** What must never be. */
  readonly violations: string[] = [];

  /** A driver whose process runs, with its registration socket. */
  async driver(name: string): Promise<SimulatedDriver> {
    const driver = new SimulatedDriver(this.machine.time, name);
    driver.onUnprepared = ({ uid }) => {
      for (const user of this.machine.usersOfDevice(`${name}/test=${uid}`)) {
        this.violations.push(`${uid} was unprepared while ${user} ran with it`);
      }
    };
    this.drivers.set(`${rootDir}/plugins/${name}/dra.sock`, driver);
    await this.#socket(name);
    return driver;
  }

  /** The driver's process starts again: it registers anew. */
  async revive(driver: SimulatedDriver): Promise<void> {
    driver.revive();
    await this.#socket(driver.name);
  }

  async #socket(name: string): Promise<void> {
    const { files } = simulatedHost({ machine: this.files });
    const path = `${rootDir}/plugins_registry/${name}-reg.sock`;
    await files.mkdir(`${rootDir}/plugins_registry`, { recursive: true });
    await files.unlink(path).catch(() => undefined);
    this.files.makeSpecialFile(path, 'socket');
  }

  /** A claim of these drivers that these pods may use. */
  async claim(name: string, drivers: readonly string[], podNames: readonly string[]): Promise<string> {
    const { metadata } = await this.api.create(resources.resourceClaims, {
      metadata: { name, namespace: 'default' },
      status: {
        allocation: {
          devices: {
            results: drivers.map((driver) => ({ request: 'r', driver, pool: 'pool', device: 'd' })),
          },
        },
        reservedFor: podNames.map((pod) => ({ resource: 'pods', name: pod, uid: `uid-of-${pod}` })),
      },
    });
    return metadata.uid ?? '';
  }

  async start(cut?: Cut): Promise<DraNode> {
    const parts: { on?: VolumeNode } = {};
    const line = new DraLine(this.drivers, cut, () => {
      parts.on?.node.line.cut();
      parts.on?.host.inject({ at: () => true, when: 'before', effect: { kind: 'die' } });
    });
    const on = await startVolumeNode({
      machine: this.machine,
      files: this.files,
      kubelet: {
        dra: { open: line.open, api: apiDynamicResources(this.api, nodeName) },
        openPluginSocket: line.openPluginSocket,
      },
    });
    parts.on = on;
    if (line.isCut) on.node.line.cut();
    return new DraNode(this, on, line);
  }

  /** UIDs of claims that a driver still has prepared. */
  prepared(): string[] {
    return [...this.drivers.values()].flatMap(({ name, prepared }) =>
      [...prepared.keys()].map((uid) => `${name} ${uid}`),
    );
  }
}

/** Between one kubelet and the drivers: it counts the calls, and it can be cut as a crash would. */
class DraLine {
  calls = 0;
  readonly #down = new AbortController();

  constructor(
    readonly drivers: ReadonlyMap<string, SimulatedDriver>,
    readonly cutAt: Cut | undefined,
    readonly onCut: () => void,
  ) {}

  get isCut(): boolean {
    return this.#down.signal.aborted;
  }

  cut(): void {
    if (this.isCut) return;
    this.#down.abort();
    this.onCut();
  }

  readonly open: OpenDriver = (endpoint, events) => {
    const connection = openSimulatedDrivers(this.drivers)(endpoint, events);
    return {
      ...connection,
      unary: async (method, request, options) => {
        if (this.isCut) throw gone();
        const isLast = ++this.calls === this.cutAt?.call;
        if (isLast && this.cutAt?.withEffect !== true) {
          this.cut();
          throw gone();
        }
        const work = connection.unary(method, request, options);
        if (isLast) this.cut();
        const answer = await work;
        if (this.isCut) throw gone();
        return answer;
      },
    };
  };

  readonly openPluginSocket: OpenPluginSocket = (socketPath) => {
    const found = (): { readonly name: string; readonly endpoint: string } => {
      if (this.isCut) throw gone();
      for (const [endpoint, { name, isListening }] of this.drivers) {
        if (isListening && socketPath.endsWith(`/${name}-reg.sock`)) return { name, endpoint };
      }
      throw new GrpcError('Unavailable', `${socketPath} refuses`);
    };
    return {
      info: async () => ({ type: 'DRAPlugin', ...found(), supportedVersions: ['v1.DRAPlugin'] }),
      notify: async () => void found(),
      close: () => {},
    };
  };
}

function gone(): GrpcError {
  return new GrpcError('Unavailable', 'the kubelet is gone');
}

/** A kubelet on such a machine. */
export class DraNode {
  constructor(
    readonly world: DraMachine,
    readonly on: VolumeNode,
    readonly line: DraLine,
  ) {}

  get node(): Node {
    return this.on.node;
  }

  get hasDied(): boolean {
    return this.line.isCut;
  }

  /** Ends the kubelet as `kill -9` does. */
  async crash(): Promise<void> {
    this.line.cut();
    await this.on.crash();
  }

  async end(name: string, limitMs = 10 * minute): Promise<void> {
    this.node.delete(name, 1);
    await this.node.untilStopped(name, limitMs);
    this.node.drop(name);
  }

  /** Holds that drivers have nothing prepared any more, and that nobody lost what it used. */
  async untilNothingIsPrepared(limitMs = 10 * minute): Promise<void> {
    for (let waitedMs = 0; this.world.prepared().length > 0 && waitedMs < limitMs; waitedMs += 5 * second) {
      await this.node.advance(5 * second);
    }
    expect(this.world.prepared(), this.node.describe()).toEqual([]);
    expect(this.world.violations).toEqual([]);
  }
}

/** A pod whose container uses all of these claims. */
export function podWithClaims(name: string, claims: readonly string[], shape: PodShape = {}): Pod {
  return apiPod(name, {
    graceSeconds: 1,
    containers: [
      { name: 'app', image: 'app:1', resources: { claims: claims.map((claim) => ({ name: claim })) } },
    ],
    ...shape,
    spec: {
      ...shape.spec,
      resourceClaims: claims.map((claim) => ({ name: claim, resourceClaimName: claim })),
    },
  });
}

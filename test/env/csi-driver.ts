/**
 * A CSI driver of one machine: its volumes are plain directories, or file systems and devices in image files. It serves
 * real sockets, notes every call, and misbehaves on demand.
 */
import path from 'node:path';
import { type GrpcServer, serveGrpc } from '../../src/grpc/index.js';
import { Registration, type RegistrationStatus } from '../../src/plugins/gen/registration.js';
import { Identity, Node } from '../../src/volumes/csi/gen/csi.js';
import {
  type CsiCall,
  CsiCalls,
  type CsiFault,
  type CsiJournal,
  type CsiMethod,
} from './csi-driver/calls.js';
import { directoryNodeService, directoryOf } from './csi-driver/directory-node.js';
import { Controller } from './csi-driver/gen/controller.js';
import { identityService } from './csi-driver/identity-service.js';
import { loopControllerService } from './csi-driver/loop-controller.js';
import { loopNodeService } from './csi-driver/loop-node.js';
import { type NodeCapabilityName, type NodeIdentity, nodeIdentityCalls } from './csi-driver/node-identity.js';
import { type FileSystemType, LoopVolumes } from './csi-driver/volumes.js';

export type { CsiCall, CsiFault, CsiMethod } from './csi-driver/calls.js';

export interface TestCsiDriverOptions {
  /** The kubelet's root directory. */
  readonly rootDir: string;
  /** Where the volumes' content is. */
  readonly dataDir: string;
  /**
   * `directories`: every volume is there as soon as it is named. `loop`: volumes are made by the Controller service or by
   * `create`, are real file systems or devices, and can be expanded. Default: directories.
   */
  readonly storage?: 'directories' | 'loop';
  /** Whether a volume of `loop` must be attached by the Controller service before it is staged. Default: no. */
  readonly attaches?: boolean;
  /** What a volume of `loop` gets for which none is asked. Default: ext4. */
  readonly fsType?: FileSystemType;
  readonly name?: string;
  readonly nodeId?: string;
  readonly maxVolumes?: number;
  readonly topology?: Readonly<Record<string, string>>;
  readonly capabilities?: readonly NodeCapabilityName[];
  readonly versions?: readonly string[];
  /** Below plugins_registry. Default: `<name>-reg.sock`. */
  readonly registrationSocket?: string;
  /** Where calls are noted and faults come from, for a driver in a process of its own. Default: only in memory. */
  readonly journal?: CsiJournal;
}

export const defaultDriverName = 'test.csi.example.com';

/** Where the driver serves its volumes. */
export function csiEndpoint(rootDir: string, name: string): string {
  return path.join(rootDir, 'plugins', name, 'csi.sock');
}

const defaultCapabilities = {
  directories: ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS'],
  loop: ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS', 'EXPAND_VOLUME'],
} as const;

export class TestCsiDriver {
  readonly name: string;
  readonly told: RegistrationStatus[] = [];
  /** What it says about its node; a test may change it. */
  readonly identity: NodeIdentity;
  /** The volumes of a driver on loop devices. */
  readonly volumes: LoopVolumes;
  readonly #options: TestCsiDriverOptions;
  readonly #calls: CsiCalls;
  #service: GrpcServer | undefined;
  #registration: GrpcServer | undefined;

  constructor(options: TestCsiDriverOptions) {
    this.#options = options;
    this.name = options.name ?? defaultDriverName;
    this.identity = {
      nodeId: options.nodeId ?? 'node-1',
      maxVolumes: options.maxVolumes ?? 0,
      topology: options.topology ?? {},
      capabilities: options.capabilities ?? defaultCapabilities[options.storage ?? 'directories'],
      volumeHealth: new Map(),
      storageHealth: [],
    };
    this.volumes = new LoopVolumes(options.dataDir);
    this.#calls = new CsiCalls(options.journal);
  }

  get calls(): CsiCall[] {
    return this.#calls.calls;
  }

  get nodeId(): string {
    return this.identity.nodeId;
  }

  set nodeId(nodeId: string) {
    this.identity.nodeId = nodeId;
  }

  get endpoint(): string {
    return csiEndpoint(this.#options.rootDir, this.name);
  }

  /** Serves both sockets. */
  async start(): Promise<void> {
    await this.serve();
    await this.register();
  }

  async serve(): Promise<void> {
    const isLoop = this.#options.storage === 'loop';
    const services = [
      { methods: Identity, implementation: identityService(this.name, isLoop) },
      { methods: Node, implementation: this.#calls.observed(this.#node()) },
    ];
    const controller = { methods: Controller, implementation: this.#calls.observed(this.#controller()) };
    this.#service = await serveGrpc(isLoop ? [...services, controller] : services, {
      socketPath: this.endpoint,
    });
  }

  async register(): Promise<void> {
    const { rootDir, registrationSocket = `${this.name}-reg.sock`, versions = ['1.0.0'] } = this.#options;
    const implementation = {
      getInfo: async () => ({
        type: 'CSIPlugin',
        name: this.name,
        endpoint: this.endpoint,
        supportedVersions: [...versions],
      }),
      notifyRegistrationStatus: async (status: RegistrationStatus) => {
        this.told.push(status);
        this.#calls.told(status.pluginRegistered, status.error);
        return {};
      },
    };
    this.#registration = await serveGrpc([{ methods: Registration, implementation }], {
      socketPath: path.join(rootDir, 'plugins_registry', registrationSocket),
    });
  }

  /** Both sockets go, as when the driver's pod ends. */
  async stop(): Promise<void> {
    await this.deregister();
    await this.#service?.close();
    this.#service = undefined;
  }

  async deregister(): Promise<void> {
    await this.#registration?.close();
    this.#registration = undefined;
  }

  fail(fault: CsiFault): void {
    this.#calls.fail(fault);
  }

  mend(): void {
    this.#calls.mend();
  }

  /** The calls of these methods in order; without names all but questions for capabilities. */
  log(...methods: readonly CsiMethod[]): string[] {
    return callNames(this.calls, methods);
  }

  requests<T extends object>(method: CsiMethod): T[] {
    // The server decoded them as the method's own request.
    return this.calls.filter((call) => call.method === method).map(({ request }) => request as T);
  }

  /** Where a volume's content is, in a driver on directories. */
  content(volumeId: string): Promise<string> {
    return directoryOf(this.#options.dataDir, volumeId);
  }

  /** Makes an empty volume in a driver on loop devices, as its Controller service does. */
  async create(volumeId: string, capacityBytes: number): Promise<void> {
    await this.volumes.create({ id: volumeId, capacityBytes, parameters: {} });
  }

  /** Grows the volume but not what is in it, as its Controller service does. */
  async grow(volumeId: string, capacityBytes: number): Promise<void> {
    await this.volumes.grow(this.volumes.get(volumeId), capacityBytes);
  }

  #node(): object {
    const { dataDir, storage, attaches = false, fsType = 'ext4' } = this.#options;
    const works =
      storage === 'loop'
        ? loopNodeService({
            volumes: this.volumes,
            attaches,
            fsType,
            nodeId: () => this.nodeId,
            stages: () => this.identity.capabilities.includes('STAGE_UNSTAGE_VOLUME'),
          })
        : directoryNodeService(dataDir);
    return { ...nodeIdentityCalls(this.identity), ...works };
  }

  #controller(): object {
    const { attaches = false } = this.#options;
    return loopControllerService({ volumes: this.volumes, attaches, identity: this.identity });
  }
}

export function callNames(calls: readonly CsiCall[], methods: readonly CsiMethod[]): string[] {
  return calls
    .filter(({ method }) =>
      methods.length === 0 ? method !== 'nodeGetCapabilities' : methods.includes(method),
    )
    .map(({ method, code }) => (code === 'OK' ? method : `${method} ${code}`));
}

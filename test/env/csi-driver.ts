/**
 * A CSI driver of one machine: volumes are directories, staged and published by bind mounts. It serves real sockets, notes
 * every call, and misbehaves on demand.
 */
import { mkdir, rmdir, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { type GrpcCodeName, GrpcError, type GrpcServer, serveGrpc } from '../../src/grpc/index.js';
import { linuxHost, mountAt } from '../../src/host/index.js';
import { Registration, type RegistrationStatus } from '../../src/plugins/gen/registration.js';
import {
  Identity,
  Node,
  type NodeGetVolumeStatsRequest,
  type NodePublishVolumeRequest,
  NodeServiceCapability_RPC_Type,
  type NodeStageVolumeRequest,
  type NodeUnpublishVolumeRequest,
  type NodeUnstageVolumeRequest,
  VolumeUsage_Unit,
} from '../../src/volumes/csi/gen/csi.js';

export type CsiMethod = keyof typeof Node;

export interface CsiFault {
  readonly method: CsiMethod;
  /** How many calls it hits. Default: all from now on. */
  readonly times?: number;
  /** What the call fails with; without a code it hangs until the caller gives up. */
  readonly code?: GrpcCodeName;
  /** Whether the work is done all the same. */
  readonly doesWork?: boolean;
}

export interface CsiCall {
  readonly method: CsiMethod;
  readonly request: object;
  /** The outcome: `OK`, or the code. Undefined while it is under way. */
  code: string | undefined;
}

export interface TestCsiDriverOptions {
  /** The kubelet's root directory. */
  readonly rootDir: string;
  /** Where the volumes' content is. */
  readonly dataDir: string;
  readonly name?: string;
  readonly nodeId?: string;
  readonly maxVolumes?: number;
  readonly topology?: Readonly<Record<string, string>>;
  readonly capabilities?: readonly (keyof typeof NodeServiceCapability_RPC_Type)[];
  readonly versions?: readonly string[];
  /** Below plugins_registry. Default: `<name>-reg.sock`. */
  readonly registrationSocket?: string;
}

export class TestCsiDriver {
  readonly calls: CsiCall[] = [];
  readonly told: RegistrationStatus[] = [];
  readonly #faults: { fault: CsiFault; left: number }[] = [];
  readonly #host = linuxHost();
  readonly #options: Required<TestCsiDriverOptions>;
  #service: GrpcServer | undefined;
  #registration: GrpcServer | undefined;
  nodeId: string;

  constructor(options: TestCsiDriverOptions) {
    const { name = 'test.csi.example.com' } = options;
    this.#options = {
      name,
      nodeId: 'node-1',
      maxVolumes: 0,
      topology: {},
      capabilities: ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS'],
      versions: ['1.0.0'],
      registrationSocket: `${name}-reg.sock`,
      ...options,
    };
    this.nodeId = this.#options.nodeId;
  }

  get name(): string {
    return this.#options.name;
  }

  get endpoint(): string {
    return path.join(this.#options.rootDir, 'plugins', this.name, 'csi.sock');
  }

  /** Serves both sockets. */
  async start(): Promise<void> {
    await this.serve();
    await this.register();
  }

  async serve(): Promise<void> {
    const services = [
      { methods: Identity, implementation: this.#identity() },
      { methods: Node, implementation: this.#node() },
    ];
    this.#service = await serveGrpc(services, { socketPath: this.endpoint });
  }

  async register(): Promise<void> {
    const { rootDir, registrationSocket } = this.#options;
    const implementation = {
      getInfo: async () => ({
        type: 'CSIPlugin',
        name: this.name,
        endpoint: this.endpoint,
        supportedVersions: [...this.#options.versions],
      }),
      notifyRegistrationStatus: async (status: RegistrationStatus) => {
        this.told.push(status);
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
    this.#faults.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY });
  }

  mend(): void {
    this.#faults.length = 0;
  }

  /** The calls of these methods in order; without names all but questions for capabilities. */
  log(...methods: readonly CsiMethod[]): string[] {
    return this.calls
      .filter(({ method }) =>
        methods.length === 0 ? method !== 'nodeGetCapabilities' : methods.includes(method),
      )
      .map(({ method, code }) => (code === 'OK' ? method : `${method} ${code}`));
  }

  requests<T extends object>(method: CsiMethod): T[] {
    // The server decoded them as the method's own request.
    return this.calls.filter((call) => call.method === method).map(({ request }) => request as T);
  }

  /** Where a volume's content is. */
  async content(volumeId: string): Promise<string> {
    const dir = path.join(this.#options.dataDir, volumeId);
    await mkdir(dir, { recursive: true });
    return dir;
  }

  #identity(): object {
    return {
      getPluginInfo: async () => ({ name: this.name, vendorVersion: '1' }),
      getPluginCapabilities: async () => ({ capabilities: [] }),
      probe: async () => ({ ready: { value: true } }),
    };
  }

  #node(): object {
    const { maxVolumes, topology, capabilities } = this.#options;
    const works: { [M in CsiMethod]?: (request: never) => Promise<object> } = {
      nodeGetInfo: async () => ({
        nodeId: this.nodeId,
        maxVolumesPerNode: maxVolumes,
        accessibleTopology: { segments: { ...topology } },
      }),
      nodeGetCapabilities: async () => ({
        capabilities: capabilities.map((name) => ({
          type: { case: 'rpc', value: { type: NodeServiceCapability_RPC_Type[name] } },
        })),
      }),
      nodeStageVolume: async ({ volumeId, stagingTargetPath }: NodeStageVolumeRequest) => {
        await this.#bind(await this.content(volumeId), stagingTargetPath, []);
        return {};
      },
      nodeUnstageVolume: async ({ stagingTargetPath }: NodeUnstageVolumeRequest) => {
        await this.#unbind(stagingTargetPath);
        return {};
      },
      nodePublishVolume: async ({
        volumeId,
        stagingTargetPath,
        targetPath,
        readonly,
      }: NodePublishVolumeRequest) => {
        const source = stagingTargetPath === '' ? await this.content(volumeId) : stagingTargetPath;
        await mkdir(targetPath, { recursive: true });
        await this.#bind(source, targetPath, readonly ? ['ro'] : []);
        return {};
      },
      nodeUnpublishVolume: async ({ targetPath }: NodeUnpublishVolumeRequest) => {
        await this.#unbind(targetPath);
        await rmdir(targetPath).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'ENOENT') throw error;
        });
        return {};
      },
      nodeGetVolumeStats: async ({ volumePath }: NodeGetVolumeStatsRequest) => {
        const { bsize, blocks, bavail, files, ffree } = await statfs(volumePath);
        return {
          usage: [
            {
              unit: VolumeUsage_Unit.BYTES,
              total: blocks * bsize,
              available: bavail * bsize,
              used: (blocks - bavail) * bsize,
            },
            { unit: VolumeUsage_Unit.INODES, total: files, available: ffree, used: files - ffree },
          ],
        };
      },
    };
    return Object.fromEntries(
      Object.entries(works).map(([name, work]) => [
        name,
        (request: object, { signal }: { signal?: AbortSignal }) =>
          // The entries are those of `works`, each called with its own request by the server.
          this.#answer(name as CsiMethod, request, signal, work as (request: object) => Promise<object>),
      ]),
    );
  }

  async #answer(
    method: CsiMethod,
    request: object,
    signal: AbortSignal | undefined,
    work: (request: object) => Promise<object>,
  ): Promise<object> {
    const call: CsiCall = { method, request, code: undefined };
    this.calls.push(call);
    const hit = this.#faults.find(({ fault, left }) => fault.method === method && left > 0);
    try {
      if (hit === undefined) {
        const response = await work(request);
        call.code = 'OK';
        return response;
      }
      hit.left--;
      if (hit.fault.doesWork) await work(request);
      if (hit.fault.code === undefined) {
        await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
        throw new GrpcError('Canceled', 'the caller gave up');
      }
      throw new GrpcError(hit.fault.code, 'injected');
    } catch (error) {
      call.code = error instanceof GrpcError ? error.codeName : 'Internal';
      if (error instanceof GrpcError) throw error;
      throw new GrpcError('Internal', String(error), { cause: error });
    }
  }

  async #bind(source: string, target: string, options: readonly string[]): Promise<void> {
    if ((await mountAt(this.#host, target)) !== undefined) return;
    await this.#host.mounts.mount({ source, target, options: ['bind', ...options] });
  }

  async #unbind(target: string): Promise<void> {
    if (
      await stat(target).then(
        () => true,
        () => false,
      )
    )
      await this.#host.mounts.unmount(target);
  }
}

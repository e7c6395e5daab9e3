/**
 * The process of a CSI driver on a simulated machine: its sockets, its calls, and faults on demand. What it has done to
 * volumes outlives it.
 */
import type { VirtualClock } from '../../src/async/index.js';
import { type GrpcCodeName, GrpcError, type MethodInfo } from '../../src/grpc/index.js';
import { type SimulatedMachine, simulatedHost } from '../../src/host/index.js';
import {
  Node,
  type NodeExpandVolumeRequest,
  type NodePublishVolumeRequest,
  NodeServiceCapability_RPC_Type,
  type NodeStageVolumeRequest,
  type NodeUnpublishVolumeRequest,
  type NodeUnstageVolumeRequest,
  type StorageHealth,
  type VolumeHealthStatus,
  VolumeUsage_Unit,
} from '../../src/volumes/csi/gen/csi.js';
import { CsiDriverVolumes } from './csi-driver-volumes.js';

export type CsiMethod = keyof typeof Node;
export type CsiCapability = keyof typeof NodeServiceCapability_RPC_Type;

/** What goes wrong at a call. */
export type CsiFaultEffect =
  | { readonly kind: 'error'; readonly code: GrpcCodeName }
  /** No answer comes, ever. */
  | { readonly kind: 'hang' }
  /** The connection breaks. */
  | { readonly kind: 'lost' }
  /** The driver's process dies, and is started again after a while. */
  | { readonly kind: 'killed'; readonly downMs: number };

export interface SimulatedCsiFault {
  readonly method: CsiMethod;
  /** Before or after the driver has done what the call asks. */
  readonly when: 'before' | 'after';
  readonly effect: CsiFaultEffect;
  /** How many calls it hits. Default: one. */
  readonly times?: number;
}

export interface SeenCsiCall {
  readonly atMs: number;
  readonly method: CsiMethod;
  readonly request: Readonly<Record<string, unknown>>;
  /** `OK`, or the code; undefined while it is under way. */
  code: string | undefined;
}

export interface SimulatedCsiDriverOptions {
  readonly clock: VirtualClock;
  readonly machine: SimulatedMachine;
  readonly rootDir: string;
  readonly name?: string;
  /** Default: staging, and telling one writer from many. */
  readonly capabilities?: readonly CsiCapability[];
  /** The containers that use a path. */
  readonly usersOf?: (path: string) => readonly string[];
}

/** How a call reaches the driver. */
export interface CsiCallLimits {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const calledVolume = (request: Readonly<Record<string, unknown>>): string => String(request.volumeId ?? '');

export class SimulatedCsiDriver {
  readonly name: string;
  readonly endpoint: string;
  readonly socketPath: string;
  readonly calls: SeenCsiCall[] = [];
  /** What the driver was told about its registration. */
  readonly told: { readonly pluginRegistered: boolean; readonly error: string }[] = [];
  readonly volumes: CsiDriverVolumes;
  /** What volumes were expanded to. */
  readonly sizes = new Map<string, number>();
  capabilities: readonly CsiCapability[];
  nodeInfo: { nodeId: string; maxVolumesPerNode: number; segments: Record<string, string> };
  versions: readonly string[] = ['1.0.0'];
  /** Takes the place of the stage, to answer with harm. */
  answerStage: (() => object) | undefined;
  /** Looks at the machine when a volume is to be published. */
  beforePublish: (() => Promise<void>) | undefined;
  /** What the driver does to the target once it has unpublished a volume. */
  afterUnpublish: (() => Promise<void>) | undefined;
  /** What it says of volumes, by their ids, and of its storage. */
  readonly health = new Map<string, readonly VolumeHealthStatus[]>();
  storageHealth: readonly StorageHealth[] = [];
  /** How many calls faults have hit. */
  hits = 0;
  readonly #options: SimulatedCsiDriverOptions;
  readonly #host: ReturnType<typeof simulatedHost>;
  #faults: { readonly fault: SimulatedCsiFault; left: number }[] = [];
  /** Aborted when the process dies. */
  #life = new AbortController();
  #underWay: SeenCsiCall[] = [];

  constructor(options: SimulatedCsiDriverOptions) {
    const { name = 'sim.csi.example.com', rootDir, machine, capabilities } = options;
    this.#options = options;
    this.name = name;
    this.endpoint = `${rootDir}/plugins/${name}/csi.sock`;
    this.socketPath = `${rootDir}/plugins_registry/${name}-reg.sock`;
    this.capabilities = capabilities ?? ['STAGE_UNSTAGE_VOLUME', 'SINGLE_NODE_MULTI_WRITER'];
    this.nodeInfo = { nodeId: 'sim-node', maxVolumesPerNode: 0, segments: {} };
    this.#host = simulatedHost({ machine, rememberedCalls: 0 });
    this.volumes = new CsiDriverVolumes(this.#host, options.usersOf ?? (() => []));
    this.#life.abort();
  }

  get isUp(): boolean {
    return !this.#life.signal.aborted;
  }

  /** Starts the process, with new sockets. */
  async start(): Promise<void> {
    if (this.isUp) return;
    const { files } = this.#host;
    await files.mkdir(this.socketPath.replace(/\/[^/]+$/, ''), { recursive: true });
    await files.unlink(this.socketPath).catch(() => {});
    this.#life = new AbortController();
    this.#options.machine.makeSpecialFile(this.socketPath, 'socket');
  }

  /** Ends the process as `kill -9` does: its sockets stay, and refuse. */
  kill(): void {
    this.#life.abort();
  }

  /** Ends the process, and its sockets go. */
  async stop(): Promise<void> {
    this.kill();
    await this.#host.files.unlink(this.socketPath).catch(() => {});
  }

  fail(fault: SimulatedCsiFault): void {
    this.#faults.push({ fault, left: fault.times ?? 1 });
  }

  mend(): void {
    this.#faults = [];
  }

  /** The calls that change something, in order; failed ones with their code. */
  log(): string[] {
    return this.calls
      .filter(({ method }) => !method.startsWith('nodeGet'))
      .map(({ method, code }) => (code === 'OK' ? method : `${method} ${code}`));
  }

  requests<T extends object>(method: CsiMethod): T[] {
    // Each was made for that method.
    return this.calls.filter((call) => call.method === method).map(({ request }) => request as T);
  }

  /** One call, as a client on the machine makes it. */
  async answer(
    { path }: Pick<MethodInfo<object, object>, 'path'>,
    request: object,
    { timeoutMs, signal }: CsiCallLimits,
  ): Promise<object> {
    const method = methodOf(path);
    if (!this.isUp) throw refused();
    const call: SeenCsiCall = {
      atMs: this.#options.clock.now(),
      method,
      request: { ...request },
      code: undefined,
    };
    this.calls.push(call);
    this.#checkOverlap(call);
    this.#underWay.push(call);
    try {
      const answer = await this.#limited(this.#perform(call), timeoutMs, signal);
      call.code = 'OK';
      return answer;
    } catch (error) {
      call.code = error instanceof GrpcError ? error.codeName : 'Internal';
      throw error instanceof GrpcError ? error : new GrpcError('Internal', String(error), { cause: error });
    } finally {
      this.#underWay = this.#underWay.filter((other) => other !== call);
    }
  }

  async #perform(call: SeenCsiCall): Promise<object> {
    const hit = this.#faults.find(({ fault, left }) => fault.method === call.method && left > 0);
    if (hit === undefined) return this.#work(call);
    hit.left--;
    this.hits++;
    if (hit.fault.when === 'after') await this.#work(call);
    const { effect } = hit.fault;
    switch (effect.kind) {
      case 'error':
        throw new GrpcError(effect.code, 'injected');
      case 'hang':
        return new Promise(() => {});
      case 'lost':
        throw new GrpcError('Unavailable', 'error reading from server: EOF');
      case 'killed':
        this.kill();
        this.#options.clock.setTimer(effect.downMs, () => void this.start());
        throw refused();
    }
  }

  /** Ends a call with its caller's patience, and with the driver. */
  #limited<T>(work: Promise<T>, timeoutMs: number | undefined, signal: AbortSignal | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { clock } = this.#options;
      const timer =
        timeoutMs === undefined
          ? undefined
          : clock.setTimer(timeoutMs, () =>
              end(new GrpcError('DeadlineExceeded', 'context deadline exceeded')),
            );
      const cancelled = (): void => end(new GrpcError('Canceled', 'context canceled'));
      const died = (): void => end(refused());
      const life = this.#life.signal;
      const done = (): void => {
        timer?.cancel();
        signal?.removeEventListener('abort', cancelled);
        life.removeEventListener('abort', died);
      };
      const end = (error: unknown): void => {
        done();
        reject(error);
      };
      signal?.addEventListener('abort', cancelled, { once: true });
      life.addEventListener('abort', died, { once: true });
      work.then((answer) => {
        done();
        resolve(answer);
      }, end);
    });
  }

  async #work({ method, request }: SeenCsiCall): Promise<object> {
    // Each request was made for its method.
    switch (method) {
      case 'nodeGetInfo': {
        const { segments, ...rest } = this.nodeInfo;
        return { ...rest, accessibleTopology: { segments: { ...segments } } };
      }
      case 'nodeGetCapabilities':
        return {
          capabilities: this.capabilities.map((name) => ({
            type: { case: 'rpc', value: { type: NodeServiceCapability_RPC_Type[name] } },
          })),
        };
      case 'nodeStageVolume':
        if (this.answerStage !== undefined) return this.answerStage();
        return this.volumes.stage(request as unknown as NodeStageVolumeRequest);
      case 'nodePublishVolume':
        await this.beforePublish?.();
        return this.volumes.publish(request as unknown as NodePublishVolumeRequest);
      case 'nodeUnpublishVolume': {
        const answer = await this.volumes.unpublish(request as unknown as NodeUnpublishVolumeRequest);
        await this.afterUnpublish?.();
        return answer;
      }
      case 'nodeUnstageVolume':
        return this.volumes.unstage(request as unknown as NodeUnstageVolumeRequest);
      case 'nodeGetVolumeStats':
        return { usage: [{ unit: VolumeUsage_Unit.BYTES, total: 100, available: 40, used: 60 }] };
      case 'nodeGetVolumeHealth': {
        const volumeId = calledVolume(request);
        return { volumeHealth: { volumeId, healthStatuses: [...(this.health.get(volumeId) ?? [])] } };
      }
      case 'nodeGetStorageHealth':
        return { backendHealth: [...this.storageHealth] };
      case 'nodeExpandVolume': {
        const { volumeId, capacityRange } = request as unknown as NodeExpandVolumeRequest;
        this.sizes.set(volumeId, capacityRange?.requiredBytes ?? 0);
        // Which nobody may rely on.
        return { capacityBytes: 1 };
      }
      default:
        throw new GrpcError('Unimplemented', method);
    }
  }

  /** A driver serves one call for a volume at a time; only calls for different targets may overlap. */
  #checkOverlap(call: SeenCsiCall): void {
    if (call.method.startsWith('nodeGet')) return;
    for (const other of this.#underWay) {
      if (other.method.startsWith('nodeGet')) continue;
      if (calledVolume(other.request) !== calledVolume(call.request)) continue;
      const isBoth = [call, other].every(({ method }) => /Publish|Unpublish/.test(method));
      if (isBoth && other.request.targetPath !== call.request.targetPath) continue;
      this.volumes.violations.push(
        `${call.method} of ${calledVolume(call.request)} comes while ${other.method} is under way`,
      );
    }
  }
}

function refused(): GrpcError {
  return new GrpcError('Unavailable', 'connection error: connect: connection refused');
}

function methodOf(path: string): CsiMethod {
  const found = Object.entries(Node).find(([, info]) => info.path === path);
  if (found === undefined) throw new Error(`the node service has no ${path}`);
  // Object.entries widens the keys to string; they are exactly the names of methods.
  return found[0] as CsiMethod;
}

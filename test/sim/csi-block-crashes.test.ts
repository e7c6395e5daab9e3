/** A kubelet with a block volume of a driver that dies at any change or call: the next one leaves nothing of it. */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/async/index.js';
import { GrpcError } from '../../src/grpc/index.js';
import { SimulatedMachine, simulatedHost } from '../../src/host/index.js';
import type { PersistentVolume, Pod } from '../../src/kube/index.js';
import { Registry } from '../../src/metrics/index.js';
import { Timeline } from '../../src/timeline/index.js';
import { policyWithoutObject } from '../../src/volumes/csi/driver-policy.js';
import { Node, NodeServiceCapability_RPC_Type } from '../../src/volumes/csi/gen/csi.js';
import {
  type CallCsi,
  CsiDrivers,
  CsiRegistration,
  createCsiMetrics,
  csiVolumes,
  VolumeManager,
} from '../../src/volumes/index.js';

const rootDir = '/var/lib/kubelet';
const blockRoot = `${rootDir}/plugins/kubernetes.io/csi/volumeDevices`;
const second = 1000;

const volume: PersistentVolume = {
  metadata: { name: 'pv' },
  spec: {
    volumeMode: 'Block',
    accessModes: ['ReadWriteOnce'],
    csi: { driver: 'd.test', volumeHandle: 'vol' },
  },
};

const pod: Pod = {
  metadata: { uid: 'u1', name: 'web', namespace: 'ns' },
  spec: {
    containers: [{ name: 'c', image: 'i', volumeDevices: [{ name: 'data', devicePath: '/dev/x' }] }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
  },
};

type Death =
  | { readonly kind: 'change'; readonly number: number; readonly when: 'before' | 'after' }
  | { readonly kind: 'call'; readonly number: number; readonly withEffect: boolean };

/** The machine with its driver, whose disk pods get. They outlive kubelets. */
class World {
  readonly clock = new VirtualClock();
  readonly machine = new SimulatedMachine();
  readonly staged = new Set<string>();
  readonly published = new Set<string>();
  /** Where the link of the pod led to when the volume was mapped. */
  mappedTo: string | undefined;
  readonly #outside = simulatedHost({ machine: this.machine });

  /** `publishes`: the device itself at the target, or a link to it. */
  constructor(readonly publishes: 'device' | 'link' = 'device') {}

  async lookAtLink(): Promise<void> {
    this.mappedTo = await this.#outside.files.readlink(
      `${rootDir}/pods/u1/volumeDevices/kubernetes.io~csi/pv`,
    );
  }

  async prepare(): Promise<void> {
    for (const dir of ['/dev', rootDir]) await this.#outside.files.mkdir(dir, { recursive: true });
    this.machine.makeSpecialFile('/dev/sdb', 'block-device');
  }

  async work(path: string, request: Record<string, unknown>): Promise<object> {
    const [staging, target] = [String(request.stagingTargetPath), String(request.targetPath)];
    const { files, mounts } = this.#outside;
    switch (path) {
      case Node.nodeGetInfo.path:
        return { nodeId: 'n' };
      case Node.nodeGetCapabilities.path:
        return {
          capabilities: [
            {
              type: {
                case: 'rpc',
                value: { type: NodeServiceCapability_RPC_Type.STAGE_UNSTAGE_VOLUME },
              },
            },
          ],
        };
      case Node.nodeStageVolume.path:
        this.staged.add(staging);
        return {};
      case Node.nodeUnstageVolume.path:
        if (this.published.size > 0) throw new GrpcError('FailedPrecondition', 'it is published');
        this.staged.delete(staging);
        return {};
      case Node.nodePublishVolume.path:
        if (!this.staged.has(staging)) throw new GrpcError('FailedPrecondition', 'it is not staged');
        if (this.published.has(target)) return {};
        if (this.publishes === 'link') await files.symlink('/dev/sdb', target);
        else {
          await files.writeFile(target, '');
          await mounts.mount({ source: '/dev/sdb', target, options: ['bind'] });
        }
        this.published.add(target);
        return {};
      case Node.nodeUnpublishVolume.path:
        if (this.published.delete(target) && this.publishes === 'device') await mounts.unmount(target);
        await files.unlink(target).catch(() => undefined);
        return {};
      default:
        throw new GrpcError('Unimplemented', path);
    }
  }

  get loops(): string[] {
    return [...this.machine.loops.values()].map((position) => this.machine.pathOf(position));
  }

  async expectNothingLeft(): Promise<void> {
    const { files } = this.#outside;
    const mounts = this.machine.mounts.map((mount) => this.machine.describe(mount).target);
    expect(this.loops).toEqual([]);
    expect(mounts.filter((target) => target.startsWith(`${blockRoot}/`))).toEqual([]);
    expect([[...this.published], [...this.staged]]).toEqual([[], []]);
    for (const dir of [blockRoot, `${blockRoot}/staging`, `${blockRoot}/publish`]) {
      const names = await files.readdir(dir).catch(() => []);
      expect(names.filter((name) => !['staging', 'publish'].includes(name))).toEqual([]);
    }
    const links = await files.readdir(`${rootDir}/pods/u1/volumeDevices/kubernetes.io~csi`).catch(() => []);
    expect(links).toEqual([]);
  }
}

/** One kubelet's volume manager, until it dies. */
class Life {
  readonly host;
  readonly pods = new Set<string>();
  calls = 0;
  #isCut = false;
  readonly #stopped = new AbortController();
  readonly #manager: VolumeManager;
  readonly #registration: CsiRegistration;

  constructor(
    readonly world: World,
    readonly death?: Death,
  ) {
    const { clock, machine } = world;
    this.host = simulatedHost({ machine });
    if (death?.kind === 'change') {
      this.host.inject({ at: death.number, when: death.when, effect: { kind: 'die' } });
    }
    const drivers = new CsiDrivers();
    const client = { clock, drivers, call: this.#call, metrics: createCsiMetrics(new Registry()) };
    this.#registration = new CsiRegistration(client);
    const csi = csiVolumes({
      host: this.host,
      clock,
      rootDir,
      nodeName: 'n',
      client,
      policies: {
        synced: async () => {},
        get: () => ({ ...policyWithoutObject, exists: true, attachRequired: false }),
      },
      controllerAttaches: true,
    });
    this.#manager = new VolumeManager({
      clock,
      timeline: new Timeline(),
      host: this.host,
      rootDir,
      plugins: [csi],
      pods: {
        allSourcesReady: () => true,
        isConfigured: (uid) => this.pods.has(uid),
        isRuntimeGone: (uid) => !this.pods.has(uid),
      },
      node: () => ({ name: 'n', labels: {} }),
      claims: {
        resolve: async () => ({ persistentVolume: volume, readOnly: false, extraGroup: undefined }),
      },
      supportsRecursiveReadOnly: () => false,
      isSelinuxEnabled: false,
    });
  }

  get isDead(): boolean {
    return this.host.dead || this.#isCut;
  }

  readonly #call: CallCsi = async (_, method, request) => {
    if (this.isDead) throw new GrpcError('Unavailable', 'the kubelet is gone');
    const isLast = ++this.calls === (this.death?.kind === 'call' ? this.death.number : 0);
    const withEffect = this.death?.kind === 'call' && this.death.withEffect;
    // The driver takes a request for what it is, whatever its type.
    const given = method.request.create(request) as unknown as Record<string, unknown>;
    const answer = isLast && !withEffect ? {} : await this.world.work(method.path, given);
    if (isLast) {
      this.#isCut = true;
      this.host.inject({ at: () => true, when: 'before', effect: { kind: 'die' } });
      throw new GrpcError('Unavailable', 'the kubelet is gone');
    }
    return method.response.create(answer as never);
  };

  async start(): Promise<void> {
    await this.#manager.start().catch(() => undefined);
    const claim = { name: 'd.test', endpoint: '/csi.sock', versions: ['1.0.0'] };
    await this.#registration.register(claim, new AbortController().signal).catch(() => undefined);
  }

  /** A pod gets the volume, uses it and ends. */
  async runPod(): Promise<boolean> {
    this.pods.add('u1');
    let isMapped = false;
    const abort = new AbortController();
    const waiting = this.#manager.waitForMounts(pod, abort.signal).then(
      () => {
        isMapped = true;
      },
      () => undefined,
    );
    await this.world.clock.advance(10 * second);
    abort.abort();
    await waiting;
    if (isMapped) await this.world.lookAtLink();
    this.pods.clear();
    const ending = this.#manager.waitForUnmounts(pod, this.#stopped.signal).catch(() => undefined);
    await this.world.clock.advance(30 * second);
    this.#stopped.abort();
    await ending;
    return isMapped;
  }

  async rest(): Promise<void> {
    this.#manager.podsChanged();
    await this.world.clock.advance(120 * second);
  }

  async stop(): Promise<void> {
    await this.#manager.stop();
  }
}

async function newWorld(publishes?: World['publishes']): Promise<World> {
  const world = new World(publishes);
  await world.prepare();
  return world;
}

describe('a kubelet with a block volume of a driver', { timeout: 120_000 }, () => {
  it('leaves nothing of it, wherever it dies', async () => {
    const world = await newWorld();
    const whole = new Life(world);
    await whole.start();
    expect(await whole.runPod()).toBe(true);
    await whole.stop();
    await world.expectNothingLeft();
    const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
    const deaths = [
      ...numbers(whole.host.calls.length).flatMap((number) =>
        (['before', 'after'] as const).map((when): Death => ({ kind: 'change', number, when })),
      ),
      ...numbers(whole.calls).flatMap((number) =>
        [false, true].map((withEffect): Death => ({ kind: 'call', number, withEffect })),
      ),
    ];
    expect(deaths.length).toBeGreaterThan(40);
    for (const death of deaths) {
      const after = await newWorld();
      try {
        const first = new Life(after, death);
        await first.start();
        await first.runPod();
        expect(first.isDead).toBe(true);
        await first.stop();
        const next = new Life(after);
        await next.start();
        await next.rest();
        await next.stop();
        await after.expectNothingLeft();
      } catch (cause) {
        throw new Error(`it died at ${JSON.stringify(death)}: ${String(cause)}`, { cause });
      }
    }
  });

  it.each([
    ['device', `${blockRoot}/publish/pv/u1`],
    ['link', '/dev/sdb'],
  ] as const)('links what leads to the %s that the driver publishes', async (publishes, expected) => {
    const world = await newWorld(publishes);
    const life = new Life(world);
    await life.start();
    expect(await life.runPod()).toBe(true);
    await life.stop();
    expect(world.mappedTo).toBe(expected);
    await world.expectNothingLeft();
  });

  it('maps it again after such a death, with one pin', async () => {
    for (let number = 1; number <= 20; number++) {
      const world = await newWorld();
      const first = new Life(world, { kind: 'change', number, when: 'after' });
      await first.start();
      await first.runPod();
      await first.stop();
      const next = new Life(world);
      await next.start();
      expect(await next.runPod(), `after change ${number}`).toBe(true);
      await next.rest();
      await next.stop();
      await world.expectNothingLeft();
    }
  });
});

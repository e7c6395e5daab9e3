/** What the volume plugins make on a machine: one suite for the simulated machine and for a real one. */
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import { type Clock, systemClock } from '../../src/async/index.js';
import type { Host } from '../../src/host/index.js';
import { applyPodDefaults, type Pod, type PodSpec, type Volume } from '../../src/kube/index.js';
import { StandaloneObjects } from '../../src/pods/objects/standalone/index.js';
import type { ServiceAccountTokens, VolumePlugin, VolumeSpec } from '../../src/volumes/contracts.js';
import { volumePlugins } from '../../src/volumes/plugins/index.js';
import type { HostUnderTest } from './host-contract.js';
import { describeDirectoryVolumes } from './volume-contract-directories.js';
import { describeMountedVolumes } from './volume-contract-mounts.js';
import { describeObjectVolumes } from './volume-contract-objects.js';
import { describeProjectedVolumes } from './volume-contract-projected.js';

export const signal: AbortSignal = new AbortController().signal;

/** A pod as the agent has it: with the defaults of the API. */
export function podOf(volumes: Volume[], spec: Partial<PodSpec> = {}, uid = 'pod-uid'): Pod {
  const decoded: Pod = {
    metadata: { name: 'web', namespace: 'shop', uid, labels: { key1: 'value1' } },
    spec: { containers: [{ name: 'app', image: 'app:1' }], volumes: structuredClone(volumes), ...spec },
  };
  return applyPodDefaults(decoded);
}

export function inline(pod: Pod): VolumeSpec {
  const [volume] = pod.spec.volumes ?? [];
  if (volume === undefined) throw new Error('the pod has no volume');
  return { kind: 'inline', volume };
}

/** One test's own node on the machine. */
export class VolumeBench {
  readonly objects = new StandaloneObjects({ clock: systemClock });
  readonly warnings: string[] = [];
  token = 'token-1';
  readonly #plugins: readonly VolumePlugin[];
  #passedMs = 0;

  constructor(
    readonly host: Host,
    readonly rootDir: string,
  ) {
    const tokens: ServiceAccountTokens = {
      token: async () => this.token,
      issued: async () => ({ token: this.token, expiresAtMs: 0 }),
      forget: () => {},
    };
    const clock: Clock = {
      now: () => systemClock.now(),
      monotonic: () => systemClock.monotonic() + this.#passedMs,
      setTimer: (delayMs, fire) => systemClock.setTimer(delayMs, fire),
    };
    this.#plugins = volumePlugins({
      host,
      clock,
      rootDir,
      objects: this.objects,
      nodeAllocatable: () => ({ cpu: '4', memory: '256Mi', 'ephemeral-storage': '10Gi' }),
      tokens,
      allowsModes: true,
      allowsUsers: true,
      warn: (_pod, reason, message) => this.warnings.push(`${reason} ${message}`),
    });
  }

  plugin(spec: VolumeSpec): VolumePlugin {
    const matching = this.#plugins.filter((plugin) => plugin.accepts(spec));
    if (matching.length !== 1 || matching[0] === undefined) {
      throw new Error(`plugins that match: ${matching.map(({ name }) => name)}`);
    }
    return matching[0];
  }

  /** Sets up the first volume of the pod, and gives its path; a remount is that of a sync a minute later. */
  async setUp(pod: Pod, spec = inline(pod), isRemount = false): Promise<string> {
    this.objects.registerPod(pod);
    if (isRemount) this.#passedMs += 60_000;
    const plugin = this.plugin(spec);
    await plugin.devices?.mountDevice(spec, signal);
    await plugin.setUp({ pod, spec, isRemount, signal });
    return plugin.hostPath(spec, pod.metadata.uid) ?? '';
  }

  async resize(pod: Pod, sizeBytes: bigint, spec = inline(pod)): Promise<void> {
    await this.plugin(spec).resize?.({ spec, podUid: pod.metadata.uid, sizeBytes, signal });
  }

  /** As after a restart: by name and pod alone. */
  async tearDown(pod: Pod, spec = inline(pod)): Promise<void> {
    const plugin = this.plugin(spec);
    await plugin.tearDown({ podUid: pod.metadata.uid, innerName: plugin.innerName(spec) });
  }

  async mode(path: string): Promise<string> {
    return (await this.host.files.stat(path)).mode.toString(8);
  }

  /** `mode user:group` */
  async owner(path: string): Promise<string> {
    const { mode, uid, gid } = await this.host.files.stat(path);
    return `${mode.toString(8)} ${uid}:${gid}`;
  }

  async text(path: string): Promise<string> {
    return Buffer.from(await this.host.files.readFile(path)).toString('utf8');
  }

  async names(path: string): Promise<string[]> {
    return [...(await this.host.files.readdir(path))].filter((name) => !name.startsWith('..')).sort();
  }

  async exists(path: string): Promise<boolean> {
    return this.host.files.lstat(path).then(
      () => true,
      () => false,
    );
  }

  async mountsBelow(path = this.rootDir): Promise<string[]> {
    const mounts = await this.host.mounts.list();
    return mounts.filter(({ target }) => target.startsWith(`${path}/`)).map(({ target }) => target);
  }
}

export interface VolumeContract {
  readonly bench: VolumeBench;
  /** A path outside the root directory. */
  readonly at: (name: string) => string;
}

/** Under the umask 022, as root. */
export function describeVolumeContract(name: string, create: () => Promise<HostUnderTest>): void {
  describe(`volume contract: ${name}`, () => {
    let underTest: HostUnderTest;
    let bench: VolumeBench;
    let directory: string;
    let count = 0;
    const contract: VolumeContract = {
      get bench() {
        return bench;
      },
      at: (entry) => `${directory}/${entry}`,
    };

    beforeAll(async () => {
      underTest = await create();
    });
    beforeEach(async () => {
      directory = `${underTest.directory}/case-${count++}`;
      await underTest.host.files.mkdir(`${directory}/root`, { recursive: true });
      bench = new VolumeBench(underTest.host, `${directory}/root`);
    });
    afterEach(async () => {
      for (const target of (await bench.mountsBelow(directory)).toReversed()) {
        await underTest.host.mounts.unmount(target);
      }
    });
    afterAll(async () => {
      await underTest?.dispose();
    });

    describeDirectoryVolumes(contract);
    describeObjectVolumes(contract);
    describeProjectedVolumes(contract);
    describeMountedVolumes(contract);
  });
}

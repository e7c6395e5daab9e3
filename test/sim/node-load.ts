/** How full a simulated machine is: what pods use while the runtime has something of them, set by the test. */
import type { EvictionObservation, EvictionStats } from '../../src/resources/eviction/index.js';
import type { FsStats, PodStatsSummary } from '../../src/resources/stats/index.js';
import type { Machine, SeenContainer } from './machine.js';
import { nodeName } from './node-name.js';

export const mi = 1024 ** 2;
export const gi = 1024 ** 3;

export interface PodLoad {
  memory?: number;
  disk?: number;
  processes?: number;
  /** Bytes of volumes by their names. */
  volumes?: Record<string, number>;
}

/** What of a machine is looked at. */
export interface LoadedMachine extends Pick<Machine, 'time' | 'images'> {
  running(): readonly Pick<SeenContainer, 'podName'>[];
  seenContainers(podName?: string): readonly Pick<SeenContainer, 'podName' | 'podUid'>[];
}

/** What one look showed, for those who judge what was made of it. */
export interface Look {
  readonly atMs: number;
  readonly memoryAvailable: number;
  readonly diskAvailable: number;
  readonly pods: ReadonlyMap<string, PodLoad>;
}

export class NodeLoad {
  readonly memoryBytes = 8 * gi;
  readonly diskBytes = 100 * gi;
  readonly maxProcesses = 1_000;
  /** By the name of the pod. */
  readonly pods = new Map<string, PodLoad>();
  systemMemory = gi;
  systemDisk = 10 * gi;
  systemProcesses = 100;
  /** What each image on the node takes of the disk. */
  imageBytes = 0;
  readonly looks: Look[] = [];
  readonly #machine: LoadedMachine;

  constructor(machine: LoadedMachine) {
    this.#machine = machine;
  }

  /** Memory and processes go with the containers. */
  #running(): [string, PodLoad][] {
    const names = new Set(this.#machine.running().map(({ podName }) => podName));
    return [...this.pods].filter(([name]) => names.has(name));
  }

  /** Files stay until the containers are removed. */
  #present(): [string, PodLoad][] {
    const names = new Set(this.#machine.seenContainers().map(({ podName }) => podName));
    return [...this.pods].filter(([name]) => names.has(name));
  }

  get memoryAvailable(): number {
    const used = this.#running().reduce((sum, [, { memory = 0 }]) => sum + memory, this.systemMemory);
    return this.memoryBytes - used;
  }

  get diskAvailable(): number {
    const images = this.#machine.images.list(undefined).length * this.imageBytes;
    const used = this.#present().reduce((sum, [, load]) => sum + diskOf(load), this.systemDisk + images);
    return Math.max(this.diskBytes - used, 0);
  }

  get processes(): number {
    return this.#running().reduce((sum, [, { processes = 0 }]) => sum + processes, this.systemProcesses);
  }

  readonly stats: EvictionStats = {
    fileSystems: async () => {
      const fs = this.#fs();
      return { rootDevice: 1n, imageDevice: 1n, containerDevice: undefined, imageFs: fs, containerFs: fs };
    },
    observe: async () => this.#observe(),
  };

  #observe(): EvictionObservation {
    const time = this.#time();
    const running = this.#running();
    this.looks.push({
      atMs: this.#machine.time.now(),
      memoryAvailable: this.memoryAvailable,
      diskAvailable: this.diskAvailable,
      pods: new Map(running.map(([name, load]) => [name, { ...load }])),
    });
    const fs = this.#fs();
    return {
      figures: {
        node: {
          nodeName,
          startTime: time,
          memory: { time, workingSetBytes: this.memoryBytes - this.memoryAvailable },
          fs,
          runtime: { imageFs: fs, containerFs: fs },
          rlimit: { time, maxpid: this.maxProcesses, curproc: this.processes },
        },
        memoryLimitBytes: this.memoryBytes,
        podsMemoryLimitBytes: undefined,
        hugePagesBytes: 0,
      },
      pods: async () => running.map(([name, load]) => this.#podStats(name, load, time)),
    };
  }

  #podStats(name: string, load: PodLoad, time: string): PodStatsSummary {
    const [seen] = this.#machine.seenContainers(name);
    const { memory = 0, disk = 0, processes = 1, volumes = {} } = load;
    return {
      podRef: { name, namespace: 'default', uid: seen?.podUid ?? '' },
      startTime: time,
      containers: [
        {
          name: 'app',
          startTime: time,
          memory: { time, workingSetBytes: memory },
          rootfs: { time, usedBytes: disk, inodesUsed: 1 },
          logs: { time, usedBytes: 0, inodesUsed: 1 },
        },
      ],
      memory: { time, workingSetBytes: memory },
      volume: Object.entries(volumes).map(([volume, usedBytes]) => ({ name: volume, time, usedBytes })),
      'ephemeral-storage': { time, usedBytes: diskOf(load) },
      process_stats: { process_count: processes },
    };
  }

  #fs(): FsStats {
    const availableBytes = this.diskAvailable;
    return {
      time: this.#time(),
      availableBytes,
      capacityBytes: this.diskBytes,
      inodes: 1_000_000,
      inodesFree: 900_000,
    };
  }

  #time(): string {
    return new Date(this.#machine.time.now()).toISOString();
  }
}

function diskOf({ disk = 0, volumes = {} }: PodLoad): number {
  return Object.values(volumes).reduce((sum, bytes) => sum + bytes, disk);
}

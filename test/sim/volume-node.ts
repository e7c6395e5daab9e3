/** A simulated node whose files and mounts are simulated, too, so that a test can look at them and end the kubelet at any call. */
import type { Device, Init, Mount } from '../../src/cri/index.js';
import {
  type HostCall,
  type HostFault,
  mountPointsUnder,
  SimulatedMachine,
  simulatedHost,
} from '../../src/host/index.js';
import type { Pod } from '../../src/kube/index.js';
import { StandaloneObjects } from '../../src/pods/index.js';
import { filelessPodConfigs } from '../../src/runtime-manager/config/index.js';
import type { PodConfigs } from '../../src/runtime-manager/index.js';
import { Machine } from './machine.js';
import { type Node, type NodeOptions, startNode } from './node.js';

/** A directory that is there on the simulated machine only. */
export const rootDir = '/nonexistent/kubelet';

export interface VolumeNodeOptions extends NodeOptions {
  /** What is left of an earlier kubelet's files and mounts. */
  readonly files?: SimulatedMachine;
  readonly objects?: StandaloneObjects;
  /** Default: one that can keep volumes in memory out of swap. */
  readonly kernelRelease?: string;
  /** Ends the kubelet at the n-th change that it makes after its start. */
  readonly death?: { readonly change: number; readonly when: HostFault['when'] };
}

/** What was there when a container was about to be created: each host path with its names. */
export type SeenMounts = ReadonlyMap<string, readonly string[]>;

export interface VolumeNode {
  readonly node: Node;
  readonly host: ReturnType<typeof simulatedHost>;
  readonly objects: StandaloneObjects;
  /** By container. */
  readonly created: Map<string, SeenMounts>;
  /** What the runtime was told of the mounts, by container. */
  readonly told: Map<string, readonly Init<Mount>[]>;
  /** What the runtime was told of devices, by container. */
  readonly devices: Map<string, readonly Init<Device>[]>;
  /** Ends the kubelet as `kill -9` does. */
  crash(): Promise<void>;
}

/** An object store for the machine's clock. */
export function objectsOf(machine: Machine): StandaloneObjects {
  return new StandaloneObjects({ clock: machine.time });
}

export async function startVolumeNode(options: VolumeNodeOptions = {}): Promise<VolumeNode> {
  const machine = options.machine ?? new Machine();
  const objects = options.objects ?? objectsOf(machine);
  const files = options.files ?? new SimulatedMachine();
  const processId = files.startProcess() + 1;
  const { kernelRelease } = options;
  const host = simulatedHost({ machine: files, ...(kernelRelease === undefined ? {} : { kernelRelease }) });
  const created = new Map<string, SeenMounts>();
  const told = new Map<string, readonly Init<Mount>[]>();
  const devices = new Map<string, readonly Init<Device>[]>();
  const node = await startNode({
    ...options,
    machine,
    kubelet: {
      ...options.kubelet,
      rootDir,
      podDirectories: true,
      machine: host,
      // One of its own where a test has plugins.
      ...(options.kubelet?.credentialProviders === undefined ? { keyring: { lookup: async () => [] } } : {}),
      objects,
      claims: objects,
      podConfigs: (volumes): PodConfigs => ({
        ...filelessPodConfigs,
        async container(request) {
          const { pod, container } = request;
          const surroundings = {
            subPath: ({ subPath = '' }: { subPath?: string }) => subPath,
            imageOf: (name: string) => request.imageVolumes?.get(name)?.ref,
            runtimeHandler: request.runtimeHandler ?? '',
          };
          const mounts = await volumes.mounts(pod, container, surroundings);
          told.set(`${pod.metadata.name}/${container.name}`, mounts);
          devices.set(`${pod.metadata.name}/${container.name}`, await volumes.devices(pod, container));
          created.set(
            `${pod.metadata.name}/${container.name}`,
            await look(
              host.machine,
              mounts.flatMap(({ hostPath }) => (hostPath === undefined ? [] : [hostPath])),
            ),
          );
          const built = await filelessPodConfigs.container(request);
          return {
            ...built,
            config: { ...built.config, mounts: [...(built.config.mounts ?? []), ...mounts] },
          };
        },
      }),
      // Logs would be on the real machine's files, which take real time.
      config: { podLogsDir: '', ...options.kubelet?.config },
    },
  });
  // Some of the start is on files of the real machine, which take real time.
  while (node.clock.pendingTimers === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  if (options.death !== undefined) {
    const { change, when } = options.death;
    const number = host.calls.length + change;
    const at = (call: HostCall): boolean => call.changing && call.number === number;
    // The end of the process is the end of all it does, not only of what it does to files.
    host.inject({ at, when, effect: { kind: 'run', action: () => node.line.cut() } });
    host.inject({ at, when, effect: { kind: 'die' } });
  }
  const crash = async (): Promise<void> => {
    await node.crash();
    // The machine closes whatever the process still had open.
    files.endProcess(processId);
  };
  return { node, host, objects, created, told, devices, crash };
}

async function look(files: SimulatedMachine, paths: readonly string[]): Promise<SeenMounts> {
  const { files: observed } = simulatedHost({ machine: files });
  const seen = new Map<string, readonly string[]>();
  for (const path of paths)
    seen.set(path, (await observed.stat(path)).kind === 'directory' ? await observed.readdir(path) : []);
  return seen;
}

/** A look at the machine from outside of any kubelet. */
export class Outside {
  readonly #host: ReturnType<typeof simulatedHost>;

  constructor(machine: SimulatedMachine) {
    this.#host = simulatedHost({ machine });
  }

  /** What is mounted below the pods' directories. */
  async mounts(): Promise<string[]> {
    return (await mountPointsUnder(this.#host, `${rootDir}/pods`)).map(({ target }) => target).sort();
  }

  async names(path: string): Promise<readonly string[]> {
    return this.#host.files.readdir(path).catch(() => []);
  }

  async text(path: string): Promise<string | undefined> {
    return this.#host.files.readFile(path).then(
      (bytes) => new TextDecoder().decode(bytes),
      () => undefined,
    );
  }

  makeDirectory(path: string): Promise<void> {
    return this.#host.files.mkdir(path, { recursive: true });
  }

  write(path: string, text: string): Promise<void> {
    return this.#host.files.writeFile(path, text);
  }

  remove(path: string): Promise<void> {
    return this.#host.files.unlink(path);
  }

  pods(): Promise<readonly string[]> {
    return this.names(`${rootDir}/pods`);
  }
}

export function volumePath(pod: Pod, plugin: string, name: string): string {
  return `${rootDir}/pods/${pod.metadata.uid}/volumes/kubernetes.io~${plugin}/${name}`;
}

export const configMap = (name: string, data: Record<string, string>, extra: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
  ...extra,
});

export const secret = (name: string, data: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'default' },
  data: Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  ),
});

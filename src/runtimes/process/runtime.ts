/**
 * The process runtime: a `CriRuntime` whose containers are host processes, for machines without a
 * container runtime, also without root and on macOS.
 *
 * - A container is a process in its own session, with the pod's command, arguments, environment
 *   and working directory, and its user if the agent is root. It sees the host's file system, network
 *   and processes: there is no isolation.
 * - Mounts are links below a private root, `$NODELET_ROOT/<mount path>`. A command or working
 *   directory below a mount resolves there; every other path is the host's.
 * - An image is a name. Without a command in the pod, its last part must be a host command.
 * - Stopping sends the stop signal to the process group, and SIGKILL after the grace period. When a
 *   container's first process exits, everything it started is killed.
 * - A pod's ports are the machine's ports; terminals come from the host's `script`.
 * - Limits, capabilities and profiles are not enforced; supplemental groups are not set.
 * - A supervisor process for each container writes its log and its exit. It does not depend on the
 *   agent: containers keep running however the agent ends, and the next agent adopts them.
 */
import { CriError, type CriRuntime, criMethods as cri, unimplementedCriRuntime } from '../../cri/index.js';
import { listChunks } from '../list-chunks.js';
import { RuntimeStreamRequests } from '../stream-requests.js';
import { processContainerStatus } from './containers.js';
import { execSync, requireRunning } from './exec.js';
import { closeMachine, openMachine, type ProcessMachine, type ProcessRuntimeOptions } from './machine.js';

const unimplemented = unimplementedCriRuntime();

export class ProcessRuntime implements CriRuntime {
  readonly #machine: ProcessMachine;

  private constructor(machine: ProcessMachine) {
    this.#machine = machine;
    const { calls, clock, stamp, store, directory, images, events, containers, sandboxes, stats } = machine;
    const streams = new RuntimeStreamRequests({
      streaming: machine.streaming,
      checkContainer: (id) =>
        requireRunning(containers.find(id, `failed to find container "${id}" in store: not found`)),
      checkSandbox: (id) => sandboxes.requireReady(id),
    });

    // The runtime itself.
    this.version = calls.unary(cri.version, () => ({
      version: '0.1.0',
      runtimeName: 'nodelet-process',
      runtimeVersion: '1.0.0',
      runtimeApiVersion: 'v1',
    }));
    this.status = calls.unary(cri.status, () => ({
      status: {
        conditions: ['RuntimeReady', 'NetworkReady'].map((type) => ({
          type,
          status: true,
          reason: '',
          message: '',
        })),
      },
      info: {},
      runtimeHandlers: [{ name: '', features: { recursiveReadOnlyMounts: false, userNamespaces: false } }],
      features: { supplementalGroupsPolicy: false, userNamespacesHostNetwork: false, mountOptions: false },
    }));
    // Containers have no cgroup limits, so there is no cgroup driver.
    this.runtimeConfig = calls.unary(cri.runtimeConfig, () => ({ linux: undefined }));
    this.updateRuntimeConfig = calls.unary(cri.updateRuntimeConfig, () => ({}));

    // pod sandboxes
    this.runPodSandbox = calls.unary(cri.runPodSandbox, async ({ config, runtimeHandler }) => ({
      podSandboxId: await sandboxes.run(config, runtimeHandler),
    }));
    this.stopPodSandbox = calls.unary(cri.stopPodSandbox, async ({ podSandboxId }, signal) => {
      await sandboxes.stop(podSandboxId, signal);
      return {};
    });
    this.removePodSandbox = calls.unary(cri.removePodSandbox, async ({ podSandboxId }, signal) => {
      await sandboxes.remove(podSandboxId, signal);
      return {};
    });
    this.podSandboxStatus = calls.unary(cri.podSandboxStatus, ({ podSandboxId }) => ({
      status: sandboxes.status(podSandboxId),
      info: {},
      containersStatuses: [],
      timestamp: 0n,
    }));
    this.listPodSandbox = calls.unary(cri.listPodSandbox, ({ filter }) => ({
      items: store.listSandboxes(filter),
    }));
    this.streamPodSandboxes = calls.stream(cri.streamPodSandboxes, ({ filter }) =>
      listChunks(store.listSandboxes(filter), (podSandboxes) => ({ podSandboxes })),
    );
    this.updatePodSandboxResources = calls.unary(cri.updatePodSandboxResources, ({ podSandboxId }) => {
      sandboxes.status(podSandboxId);
      return {};
    });

    // containers
    this.createContainer = calls.unary(cri.createContainer, async ({ podSandboxId, config }) => ({
      containerId: await containers.create(podSandboxId, config),
    }));
    this.startContainer = calls.unary(cri.startContainer, async ({ containerId }, signal) => {
      await containers.start(containerId, signal);
      return {};
    });
    this.stopContainer = calls.unary(cri.stopContainer, async (request, signal) => {
      await containers.stop(request, signal);
      return {};
    });
    this.removeContainer = calls.unary(cri.removeContainer, async ({ containerId }, signal) => {
      await containers.remove(containerId, signal);
      return {};
    });
    this.listContainers = calls.unary(cri.listContainers, ({ filter }) => ({
      containers: store.listContainers(filter),
    }));
    this.streamContainers = calls.stream(cri.streamContainers, ({ filter }) =>
      listChunks(store.listContainers(filter), (containers) => ({ containers })),
    );
    this.containerStatus = calls.unary(cri.containerStatus, ({ containerId }) => ({
      status: processContainerStatus(containers.find(containerId)),
      info: {},
    }));
    this.updateContainerResources = calls.unary(
      cri.updateContainerResources,
      async ({ containerId, linux }) => {
        await containers.update(containerId, linux);
        return {};
      },
    );
    this.reopenContainerLog = calls.unary(cri.reopenContainerLog, async ({ containerId }, signal) => {
      await containers.reopenLog(containerId, signal);
      return {};
    });
    this.getContainerEvents = calls.stream(cri.getContainerEvents, (_, signal) => events.follow(signal));

    // commands and streams
    this.execSync = calls.unary(cri.execSync, (request, signal) => {
      const absent = `failed to exec in container: failed to find container "${request.containerId}" in store: not found`;
      return execSync(clock, containers.find(request.containerId, absent), request, signal);
    });
    this.exec = calls.unary(cri.exec, (request) => streams.exec(request));
    this.attach = calls.unary(cri.attach, (request) => streams.attach(request));
    this.portForward = calls.unary(cri.portForward, (request) => streams.portForward(request));

    // statistics
    this.containerStats = calls.unary(cri.containerStats, async ({ containerId }) => {
      const container = containers.find(containerId, 'failed to find container: not found');
      return { stats: (await stats.ofContainers([container]))[0] };
    });
    this.listContainerStats = calls.unary(cri.listContainerStats, async ({ filter }) => ({
      stats: await stats.ofContainers([...store.selectContainers(filter)]),
    }));
    this.streamContainerStats = calls.stream(cri.streamContainerStats, async ({ filter }) =>
      listChunks(await stats.ofContainers([...store.selectContainers(filter)]), (containerStats) => ({
        containerStats,
      })),
    );
    this.podSandboxStats = calls.unary(cri.podSandboxStats, async ({ podSandboxId }) => {
      const sandbox = store.sandboxes.get(podSandboxId);
      if (sandbox === undefined) {
        throw new CriError(
          'NotFound',
          `an error occurred when trying to find sandbox ${podSandboxId}: not found`,
        );
      }
      return { stats: (await stats.ofSandboxes([sandbox]))[0] };
    });
    this.listPodSandboxStats = calls.unary(cri.listPodSandboxStats, async ({ filter }) => ({
      stats: await stats.ofSandboxes(store.selectSandboxes(filter)),
    }));
    this.streamPodSandboxStats = calls.stream(cri.streamPodSandboxStats, async ({ filter }) =>
      listChunks(await stats.ofSandboxes(store.selectSandboxes(filter)), (podSandboxStats) => ({
        podSandboxStats,
      })),
    );
    this.listMetricDescriptors = calls.unary(cri.listMetricDescriptors, () => ({ descriptors: [] }));
    this.listPodSandboxMetrics = calls.unary(cri.listPodSandboxMetrics, () => ({ podMetrics: [] }));
    this.streamPodSandboxMetrics = calls.stream(cri.streamPodSandboxMetrics, () => [
      { podSandboxMetrics: [] },
    ]);

    // images
    this.listImages = calls.unary(cri.listImages, ({ filter }) => ({ images: images.list(filter) }));
    this.streamImages = calls.stream(cri.streamImages, ({ filter }) =>
      listChunks(images.list(filter), (images) => ({ images })),
    );
    this.imageStatus = calls.unary(cri.imageStatus, ({ image }) => ({
      image: images.find(image?.image ?? ''),
      info: {},
    }));
    this.pullImage = calls.unary(cri.pullImage, ({ image }) => ({
      imageRef: images.pull(image?.image ?? ''),
    }));
    this.removeImage = calls.unary(cri.removeImage, ({ image }) => {
      images.remove(image?.image ?? '');
      return {};
    });
    this.imageFsInfo = calls.unary(cri.imageFsInfo, () => ({
      imageFilesystems: [
        {
          timestamp: stamp(),
          fsId: { mountpoint: directory.path },
          usedBytes: { value: images.list(undefined).length },
          inodesUsed: { value: 0 },
        },
      ],
      containerFilesystems: [],
    }));
  }

  /** Restores what an earlier agent left in the state directory. */
  static async open(options: ProcessRuntimeOptions): Promise<ProcessRuntime> {
    return new ProcessRuntime(await openMachine(options));
  }

  /** Ends open calls; containers keep running and the next runtime on the directory finds them. */
  close(): Promise<void> {
    return closeMachine(this.#machine);
  }

  readonly version: CriRuntime['version'];
  readonly status: CriRuntime['status'];
  readonly runtimeConfig: CriRuntime['runtimeConfig'];
  readonly updateRuntimeConfig: CriRuntime['updateRuntimeConfig'];
  readonly runPodSandbox: CriRuntime['runPodSandbox'];
  readonly stopPodSandbox: CriRuntime['stopPodSandbox'];
  readonly removePodSandbox: CriRuntime['removePodSandbox'];
  readonly podSandboxStatus: CriRuntime['podSandboxStatus'];
  readonly listPodSandbox: CriRuntime['listPodSandbox'];
  readonly streamPodSandboxes: CriRuntime['streamPodSandboxes'];
  readonly updatePodSandboxResources: CriRuntime['updatePodSandboxResources'];
  readonly createContainer: CriRuntime['createContainer'];
  readonly startContainer: CriRuntime['startContainer'];
  readonly stopContainer: CriRuntime['stopContainer'];
  readonly removeContainer: CriRuntime['removeContainer'];
  readonly listContainers: CriRuntime['listContainers'];
  readonly streamContainers: CriRuntime['streamContainers'];
  readonly containerStatus: CriRuntime['containerStatus'];
  readonly updateContainerResources: CriRuntime['updateContainerResources'];
  readonly reopenContainerLog: CriRuntime['reopenContainerLog'];
  readonly checkpointContainer = unimplemented.checkpointContainer;
  readonly checkpointPod = unimplemented.checkpointPod;
  readonly restorePod = unimplemented.restorePod;
  readonly getContainerEvents: CriRuntime['getContainerEvents'];
  readonly execSync: CriRuntime['execSync'];
  readonly exec: CriRuntime['exec'];
  readonly attach: CriRuntime['attach'];
  readonly portForward: CriRuntime['portForward'];
  readonly containerStats: CriRuntime['containerStats'];
  readonly listContainerStats: CriRuntime['listContainerStats'];
  readonly streamContainerStats: CriRuntime['streamContainerStats'];
  readonly podSandboxStats: CriRuntime['podSandboxStats'];
  readonly listPodSandboxStats: CriRuntime['listPodSandboxStats'];
  readonly streamPodSandboxStats: CriRuntime['streamPodSandboxStats'];
  readonly listMetricDescriptors: CriRuntime['listMetricDescriptors'];
  readonly listPodSandboxMetrics: CriRuntime['listPodSandboxMetrics'];
  readonly streamPodSandboxMetrics: CriRuntime['streamPodSandboxMetrics'];
  readonly listImages: CriRuntime['listImages'];
  readonly streamImages: CriRuntime['streamImages'];
  readonly imageStatus: CriRuntime['imageStatus'];
  readonly pullImage: CriRuntime['pullImage'];
  readonly removeImage: CriRuntime['removeImage'];
  readonly imageFsInfo: CriRuntime['imageFsInfo'];
}

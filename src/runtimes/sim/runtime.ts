/**
 * The simulated runtime: a `CriRuntime` in memory on any clock, for thousands of pods and for fault
 * injection.
 */
import {
  CgroupDriver,
  CriError,
  type CriRuntime,
  criMethods as cri,
  unimplementedCriRuntime,
} from '../../cri/index.js';
import { listChunks } from '../list-chunks.js';
import { simContainerStatus } from './containers.js';
import { execSync } from './exec.js';
import { SimMachine } from './machine.js';
import { simContainerStats, simSandboxStats } from './stats.js';
import type { SimContainer, SimSandbox } from './store.js';

const unimplemented = unimplementedCriRuntime();

export class SimRuntime extends SimMachine implements CriRuntime {
  // the runtime itself
  readonly version = this.front.unary(cri.version, () => ({
    version: '0.1.0',
    runtimeName: 'sim',
    runtimeVersion: '1.0.0',
    runtimeApiVersion: 'v1',
  }));

  readonly status = this.front.unary(cri.status, () => ({
    status: {
      conditions: [...this.conditions].map(([type, condition]) => ({ type, ...condition })),
    },
    info: {},
    runtimeHandlers: ['', ...(this.options.runtimeHandlers ?? [])].map((name) => ({
      name,
      features: { recursiveReadOnlyMounts: true, userNamespaces: true },
    })),
    features: { supplementalGroupsPolicy: true, userNamespacesHostNetwork: false, mountOptions: true },
  }));

  readonly runtimeConfig = this.front.unary(cri.runtimeConfig, () => ({
    linux: {
      cgroupDriver: this.options.cgroupDriver === 'systemd' ? CgroupDriver.SYSTEMD : CgroupDriver.CGROUPFS,
    },
  }));

  readonly updateRuntimeConfig = this.front.unary(cri.updateRuntimeConfig, () => ({}));

  // pod sandboxes
  readonly runPodSandbox = this.front.unary(cri.runPodSandbox, ({ config, runtimeHandler }) => ({
    podSandboxId: this.sandboxes.run(config, runtimeHandler),
  }));

  readonly stopPodSandbox = this.front.unary(cri.stopPodSandbox, ({ podSandboxId }) => {
    this.sandboxes.stop(podSandboxId);
    return {};
  });

  readonly removePodSandbox = this.front.unary(cri.removePodSandbox, ({ podSandboxId }) => {
    this.sandboxes.remove(podSandboxId);
    return {};
  });

  readonly podSandboxStatus = this.front.unary(cri.podSandboxStatus, ({ podSandboxId }) => ({
    status: this.sandboxes.status(podSandboxId),
    info: {},
    containersStatuses: [],
    timestamp: 0n,
  }));

  readonly listPodSandbox = this.front.unary(cri.listPodSandbox, ({ filter }) => ({
    items: this.store.listSandboxes(filter),
  }));

  readonly streamPodSandboxes = this.front.stream(cri.streamPodSandboxes, ({ filter }) =>
    listChunks(this.store.listSandboxes(filter), (podSandboxes) => ({ podSandboxes })),
  );

  readonly updatePodSandboxResources = this.front.unary(cri.updatePodSandboxResources, ({ podSandboxId }) => {
    this.sandboxes.status(podSandboxId);
    return {};
  });

  // containers
  readonly createContainer = this.front.unary(cri.createContainer, ({ podSandboxId, config }) => ({
    containerId: this.containers.create(podSandboxId, config),
  }));

  readonly startContainer = this.front.waiting(cri.startContainer, async ({ containerId }, signal) => {
    await this.containers.start(containerId, signal);
    return {};
  });

  readonly stopContainer = this.front.waiting(cri.stopContainer, async (request, signal) => {
    await this.containers.stop(request, signal);
    return {};
  });

  readonly removeContainer = this.front.unary(cri.removeContainer, ({ containerId }) => {
    this.containers.remove(containerId);
    return {};
  });

  readonly listContainers = this.front.unary(cri.listContainers, ({ filter }) => ({
    containers: this.store.listContainers(filter),
  }));

  readonly streamContainers = this.front.stream(cri.streamContainers, ({ filter }) =>
    listChunks(this.store.listContainers(filter), (containers) => ({ containers })),
  );

  readonly containerStatus = this.front.unary(cri.containerStatus, ({ containerId }) => ({
    status: simContainerStatus(this.containers.find(containerId)),
    info: {},
  }));

  readonly updateContainerResources = this.front.unary(
    cri.updateContainerResources,
    ({ containerId, linux }) => {
      this.containers.update(containerId, linux);
      return {};
    },
  );

  readonly reopenContainerLog = this.front.unary(cri.reopenContainerLog, ({ containerId }) => {
    this.containers.reopenLog(containerId);
    return {};
  });

  readonly checkpointContainer = unimplemented.checkpointContainer;
  readonly checkpointPod = unimplemented.checkpointPod;
  readonly restorePod = unimplemented.restorePod;

  readonly getContainerEvents = this.front.stream(cri.getContainerEvents, (_, signal) => {
    if (this.options.containerEvents === false) {
      throw new CriError('Unimplemented', 'unknown method GetContainerEvents');
    }
    return this.events.follow(signal);
  });

  // commands and streams
  readonly execSync = this.front.waiting(cri.execSync, async (request, signal) =>
    execSync(
      this.clock,
      this.containers.find(
        request.containerId,
        `failed to exec in container: failed to find container "${request.containerId}" in store: not found`,
      ),
      request,
      this.options.exec,
      signal,
    ),
  );

  readonly exec = this.front.waiting(cri.exec, (request) => this.streams.exec(request));
  readonly attach = this.front.waiting(cri.attach, (request) => this.streams.attach(request));
  readonly portForward = this.front.waiting(cri.portForward, (request) => this.streams.portForward(request));

  // statistics
  readonly containerStats = this.front.unary(cri.containerStats, ({ containerId }) => ({
    stats: simContainerStats(
      this.containers.find(containerId, 'failed to find container: not found'),
      this.stamp(),
    ),
  }));

  readonly listContainerStats = this.front.unary(cri.listContainerStats, ({ filter }) => ({
    stats: this.#stats(this.store.selectContainers(filter), simContainerStats),
  }));

  readonly streamContainerStats = this.front.stream(cri.streamContainerStats, ({ filter }) =>
    listChunks(this.#stats(this.store.selectContainers(filter), simContainerStats), (containerStats) => ({
      containerStats,
    })),
  );

  readonly podSandboxStats = this.front.unary(cri.podSandboxStats, ({ podSandboxId }) => {
    const sandbox = this.store.sandboxes.get(podSandboxId);
    if (sandbox === undefined) {
      throw new CriError(
        'NotFound',
        `an error occurred when trying to find sandbox ${podSandboxId}: not found`,
      );
    }
    return { stats: simSandboxStats(sandbox, this.stamp()) };
  });

  readonly listPodSandboxStats = this.front.unary(cri.listPodSandboxStats, ({ filter }) => ({
    stats: this.#stats(this.store.selectSandboxes(filter), simSandboxStats),
  }));

  readonly streamPodSandboxStats = this.front.stream(cri.streamPodSandboxStats, ({ filter }) =>
    listChunks(this.#stats(this.store.selectSandboxes(filter), simSandboxStats), (podSandboxStats) => ({
      podSandboxStats,
    })),
  );

  readonly listMetricDescriptors = this.front.unary(cri.listMetricDescriptors, () => ({ descriptors: [] }));
  readonly listPodSandboxMetrics = this.front.unary(cri.listPodSandboxMetrics, () => ({ podMetrics: [] }));
  readonly streamPodSandboxMetrics = this.front.stream(cri.streamPodSandboxMetrics, () => [
    { podSandboxMetrics: [] },
  ]);

  // images
  readonly listImages = this.front.unary(cri.listImages, ({ filter }) => ({
    images: this.images.list(filter),
  }));

  readonly streamImages = this.front.stream(cri.streamImages, ({ filter }) =>
    listChunks(this.images.list(filter), (images) => ({ images })),
  );

  readonly imageStatus = this.front.unary(cri.imageStatus, ({ image }) => ({
    image: this.images.find(image?.image ?? ''),
    info: {},
  }));

  readonly pullImage = this.front.waiting(cri.pullImage, async ({ image, sandboxConfig }, signal) => ({
    imageRef: await this.images.pull(image, sandboxConfig, signal),
  }));

  readonly removeImage = this.front.unary(cri.removeImage, ({ image }) => {
    this.images.remove(image?.image ?? '');
    return {};
  });

  readonly imageFsInfo = this.front.unary(cri.imageFsInfo, () => ({
    imageFilesystems: [this.images.fsUsage()],
    containerFilesystems: [],
  }));

  #stats<From extends SimContainer | SimSandbox, Stats>(
    from: Iterable<From>,
    describe: (one: From, atNs: bigint) => Stats,
  ): Stats[] {
    const atNs = this.stamp();
    return Array.from(from, (one) => describe(one, atNs));
  }
}

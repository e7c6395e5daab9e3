/** Builds the configs of sandboxes and containers with the files of a real node. */
import { errorText } from '../../async/index.js';
import type {
  ContainerConfig,
  CriRuntime,
  Init,
  LinuxContainerResources,
  Mount,
  PodSandboxConfig,
} from '../../cri/index.js';
import { type AnyContainer, formatPod, isHostNetwork, type Pod } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import type {
  ContainerConfigRequest,
  ContainerVolumes,
  ImageUser,
  PodBounds,
  PodConfigs,
} from '../contracts.js';
import { imageUserOf } from '../start/image-user.js';
import { type UserNamespaceMapping, usersUnsupported } from '../userns/index.js';
import { addedMounts, expandableEnvironment, withAdditions } from './additions.js';
import { containerConfig } from './container.js';
import { composeDns } from './dns.js';
import { type EnvSources, fetchEnvironmentInputs } from './env-inputs.js';
import { computeEnvironment } from './environment.js';
import { podHostname } from './hostname.js';
import { hostNetworkHostsFile, podHostsFile } from './hosts-file.js';
import { machineNodeFiles, type NodeFiles } from './node-files.js';
import { containerDirectory, containerLogDirectory, podHostsPath, podLogDirectory } from './paths.js';
import {
  boundedSandboxResources,
  containerResources,
  overheadResources,
  sandboxResources,
} from './resources.js';
import { sandboxConfig } from './sandbox.js';
import { verifyRunAsNonRoot } from './security.js';
import type { RuntimeSettings } from './settings.js';
import { expandedSubPath } from './subpath-expr.js';
import { rejectUnsupportedContainer, rejectUnsupportedPod } from './unsupported.js';

export interface PodConfigsOptions {
  /** Read at every use, since a node's addresses and allocatable resources change. */
  readonly settings: () => RuntimeSettings;
  readonly timeline: Timeline;
  readonly volumes: ContainerVolumes;
  /** The user that an image names; takes the image as written in the spec. */
  readonly imageUser: (image: string) => Promise<ImageUser>;
  readonly env: EnvSources;
  /** A pod's cgroup in the cgroup driver's notation. Absent: the runtime chooses. */
  readonly cgroupParent?: (pod: Pod) => string;
  /** Groups that a pod's persistent volumes require. Absent: none. */
  readonly volumeGroups?: (pod: Pod) => readonly number[];
  /** Whether a container, or any of the pod if none is given, has exclusive CPUs. Absent: none does. */
  readonly hasExclusiveCpus?: (pod: Pod, container?: AnyContainer) => boolean;
  /** Whether ResourceClaims of pods are prepared on this node. Default: no, and pods that use any are refused. */
  readonly preparesClaims?: boolean;
  /** Default: the files of this machine. */
  readonly files?: NodeFiles;
  /** A pod's own id mapping, if it has one. Absent: no pod can. */
  readonly users?: (pod: Pod) => Promise<UserNamespaceMapping | undefined>;
}

const etcHosts = '/etc/hosts';

export class FilePodConfigs implements PodConfigs {
  readonly #options: PodConfigsOptions;
  readonly #files: NodeFiles;

  constructor(options: PodConfigsOptions) {
    this.#options = options;
    this.#files = options.files ?? machineNodeFiles();
  }

  async sandbox(pod: Pod, attempt: number): Promise<Init<PodSandboxConfig>> {
    const { cgroupParent, volumeGroups, hasExclusiveCpus } = this.#options;
    const settings = this.#options.settings();
    rejectUnsupportedPod(pod, this.#options);
    const users = await this.#users(pod);
    const dns = composeDns(pod, await this.#files.readResolver(settings.resolvConf), settings);
    for (const { reason, message, nodeMessage } of dns.warnings) {
      if (nodeMessage !== undefined) {
        this.#options.timeline.nodeEvent(settings.nodeName, 'Warning', reason, nodeMessage);
      }
      this.#options.timeline.event(podRef(pod), 'Warning', reason, message);
    }
    const config = sandboxConfig({
      pod,
      attempt,
      dns: dns.config,
      settings,
      cgroupParent: cgroupParent?.(pod) ?? '',
      volumeGroups: volumeGroups?.(pod) ?? [],
      hasExclusiveCpus: hasExclusiveCpus?.(pod) ?? false,
      users,
    });
    this.#makeLogDirectory(podLogDirectory(settings.podLogsDir, pod), `pod "${formatPod(pod)}"`);
    this.#options.timeline.record({
      kind: 'decision',
      what: 'sandbox.config',
      message: `config of the sandbox for attempt ${attempt}`,
      because: 'the pod needs a sandbox or a container in it',
      pod: podRef(pod),
      level: 'debug',
      data: { hostNetwork: isHostNetwork(pod), nameservers: dns.config.servers.join(' ') },
    });
    return config;
  }

  /** Steps that may fail come first, so that a failure leaves no new file behind. */
  async container(request: ContainerConfigRequest): Promise<{
    config: Init<ContainerConfig>;
    cleanup: () => Promise<void>;
  }> {
    const { pod, container, podIps, additions } = request;
    const { volumeGroups, hasExclusiveCpus } = this.#options;
    const settings = this.#options.settings();
    rejectUnsupportedPod(pod, this.#options);
    rejectUnsupportedContainer(pod, container, this.#options);
    const users = await this.#users(pod);
    const inputs = await fetchEnvironmentInputs(pod, container, {
      files: this.#files,
      ...this.#options.env,
    });
    const environment = computeEnvironment({ pod, container, podIps, settings, inputs });
    const expandable = expandableEnvironment(environment, additions);
    const volumeMounts = await this.#options.volumes.mounts(pod, container, {
      subPath: (mount) => expandedSubPath(mount, expandable),
      imageOf: (volumeName) => request.imageVolumes?.get(volumeName)?.ref,
      runtimeHandler: request.runtimeHandler ?? '',
    });
    const volumeDevices = await this.#options.volumes.devices(pod, container);
    const imageUser = request.image.user ?? (await this.#options.imageUser(container.image ?? ''));
    verifyRunAsNonRoot(pod, container, imageUser);
    const config = containerConfig({
      pod,
      container,
      restartCount: request.restartCount,
      image: request.image,
      environment,
      expandable,
      imageUser,
      volumeGroups: volumeGroups?.(pod) ?? [],
      hasExclusiveCpus: hasExclusiveCpus?.(pod, container) ?? false,
      targetContainerId: request.targetContainerId,
      users,
      settings,
    });
    this.#makeLogDirectory(
      containerLogDirectory(settings.podLogsDir, pod, container.name),
      `container ${container.name}`,
    );
    const mounts = [
      ...addedMounts(additions),
      ...volumeMounts,
      ...(await this.#mountHostsFile(pod, container, podIps, settings)),
      ...this.#mountTerminationLog(pod, container, settings),
    ].map((mount) => withUsers(mount, users));
    this.#options.timeline.record({
      kind: 'decision',
      what: 'container.config',
      message: `config of container ${container.name} for attempt ${request.restartCount}`,
      because: 'the container is about to be created',
      pod: podRef(pod),
      container: container.name,
      level: 'debug',
      data: { variables: environment.size, mounts: mounts.length, volumeMounts: volumeMounts.length },
    });
    // Every file made here lives as long as its pod, so there is nothing to clean up.
    const own = volumeDevices.length === 0 ? config : { ...config, devices: [...volumeDevices] };
    return { config: { ...withAdditions(own, additions), mounts }, cleanup: async () => {} };
  }

  containerResources(pod: Pod, container: AnyContainer): Init<LinuxContainerResources> {
    const { settings, hasExclusiveCpus } = this.#options;
    return containerResources(pod, container, settings(), hasExclusiveCpus?.(pod, container) ?? false);
  }

  podResources(pod: Pod, bounds?: PodBounds): ReturnType<PodConfigs['podResources']> {
    const { hasExclusiveCpus } = this.#options;
    const settings = this.#options.settings();
    return {
      resources:
        bounds === undefined
          ? sandboxResources(pod, settings, hasExclusiveCpus?.(pod) ?? false)
          : boundedSandboxResources(pod, bounds, settings),
      overhead: overheadResources(pod, settings),
    };
  }

  async #users(pod: Pod): Promise<UserNamespaceMapping | undefined> {
    if (pod.spec.hostUsers !== false) return undefined;
    const { users } = this.#options;
    if (users === undefined) throw new Error(usersUnsupported);
    return await users(pod);
  }

  /** Containers that mount their own file keep it; without an address there is nothing to write yet. */
  #makeLogDirectory(path: string, owner: string): void {
    try {
      this.#files.makeLogDirectory(path);
    } catch (cause) {
      throw new Error(`create log directory ${path} for ${owner} failed: ${errorText(cause)}`, { cause });
    }
  }

  async #mountHostsFile(
    pod: Pod,
    container: AnyContainer,
    podIps: readonly string[],
    settings: RuntimeSettings,
  ): Promise<Init<Mount>[]> {
    const onHostNetwork = isHostNetwork(pod);
    if (podIps.length === 0 && !onHostNetwork) return [];
    if (container.volumeMounts?.some(({ mountPath }) => mountPath === etcHosts) === true) return [];
    const aliases = pod.spec.hostAliases ?? [];
    const content = onHostNetwork
      ? hostNetworkHostsFile(await this.#files.readNodeFile(settings.hostsFile), aliases)
      : podHostsFile(podIps, podHostname(pod, settings.clusterDomain), aliases);
    const hostPath = podHostsPath(settings.rootDir, pod);
    this.#files.writeHostsFile(hostPath, content);
    return [
      { containerPath: etcHosts, hostPath, readonly: false, selinuxRelabel: settings.isSelinuxEnabled },
    ];
  }

  /** A container can do without its termination message, so a failure here is only reported. */
  #mountTerminationLog(pod: Pod, container: AnyContainer, settings: RuntimeSettings): Init<Mount>[] {
    const { terminationMessagePath: containerPath = '' } = container;
    if (containerPath === '') return [];
    try {
      const hostPath = this.#files.createTerminationLog(
        containerDirectory(settings.rootDir, pod, container.name),
      );
      return [{ containerPath, hostPath, readonly: false, selinuxRelabel: settings.isSelinuxEnabled }];
    } catch (error) {
      this.#options.timeline.record({
        kind: 'problem',
        what: 'container.termination-log',
        message: `no file for the termination message of container ${container.name}; it starts without one`,
        because: 'the file could not be created',
        pod: podRef(pod),
        container: container.name,
        level: 'warn',
        error,
      });
      return [];
    }
  }
}

/** In a pod with its own user namespace, mounts are id-mapped so that owners look the same inside. */
function withUsers(mount: Init<Mount>, users: UserNamespaceMapping | undefined): Init<Mount> {
  if (users === undefined) return mount;
  return { ...mount, uidMappings: [...users.uidMappings], gidMappings: [...users.gidMappings] };
}

/** Asks the runtime which user an image names. */
export function imageUserFromRuntime(
  runtime: Pick<CriRuntime, 'imageStatus'>,
): (image: string) => Promise<ImageUser> {
  return async (image) => {
    const { image: found } = await runtime.imageStatus({ image: { image } });
    return imageUserOf(found);
  };
}

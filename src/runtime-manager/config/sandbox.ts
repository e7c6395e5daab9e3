/** The CRI config of a pod's sandbox. */
import type { Init, LinuxPodSandboxConfig, PodSandboxConfig } from '../../cri/index.js';
import {
  isHostNetwork,
  normalizeSysctl,
  type Pod,
  podContainers,
  type SysctlNamespace,
  sysctlNamespace,
} from '../../kube/index.js';
import type { UserNamespaceMapping } from '../userns/index.js';
import { runtimeDefaultProfile } from './confinement.js';
import { kernelHostname, podHostname } from './hostname.js';
import { sandboxAnnotations, sandboxLabels } from './labels.js';
import { podNamespaces } from './namespaces.js';
import { podLogDirectory } from './paths.js';
import { portMappings } from './ports.js';
import type { ResolvConf } from './resolv-conf.js';
import { overheadResources, sandboxResources } from './resources.js';
import { selinuxOptions } from './security.js';
import type { RuntimeSettings } from './settings.js';
import { sandboxGroups, supplementalGroupsPolicy } from './supplemental-groups.js';

export interface SandboxConfigRequest {
  readonly pod: Pod;
  readonly attempt: number;
  readonly dns: ResolvConf;
  readonly settings: RuntimeSettings;
  /** The pod's cgroup in the cgroup driver's notation; empty: the runtime chooses. */
  readonly cgroupParent: string;
  /** Groups that the pod's persistent volumes require. */
  readonly volumeGroups: readonly number[];
  /** Whether a container of this pod has exclusive CPUs, so that no quota may throttle them. */
  readonly hasExclusiveCpus: boolean;
  /** The pod's own id mapping; absent for a pod in the host's user namespace. */
  readonly users?: UserNamespaceMapping | undefined;
}

export function sandboxConfig(request: SandboxConfigRequest): Init<PodSandboxConfig> {
  const { pod, attempt, dns, settings } = request;
  const { name, namespace, uid } = pod.metadata;
  return {
    metadata: { name, namespace, uid, attempt },
    hostname: isHostNetwork(pod)
      ? ''
      : kernelHostname(podHostname(pod, settings.clusterDomain), pod.spec.setHostnameAsFQDN === true),
    logDirectory: podLogDirectory(settings.podLogsDir, pod),
    dnsConfig: { servers: dns.servers, searches: dns.searches, options: dns.options },
    portMappings: portMappings(pod),
    labels: sandboxLabels(pod),
    annotations: sandboxAnnotations(pod),
    linux: linuxConfig(request),
  };
}

function linuxConfig(request: SandboxConfigRequest): Init<LinuxPodSandboxConfig> {
  const { pod, settings } = request;
  const context = pod.spec.securityContext ?? {};
  return {
    cgroupParent: request.cgroupParent,
    sysctls: sandboxSysctls(pod, settings.defaultPodSysctls),
    resources: sandboxResources(pod, settings, request.hasExclusiveCpus),
    overhead: overheadResources(pod, settings),
    securityContext: {
      privileged: [...podContainers(pod)].some(
        ({ container }) => container.securityContext?.privileged === true,
      ),
      seccomp: runtimeDefaultProfile,
      ...(context.runAsUser === undefined ? {} : { runAsUser: { value: context.runAsUser } }),
      ...(context.runAsGroup === undefined ? {} : { runAsGroup: { value: context.runAsGroup } }),
      ...(context.seLinuxOptions === undefined
        ? {}
        : { selinuxOptions: selinuxOptions(context.seLinuxOptions) }),
      supplementalGroups: sandboxGroups(pod, request.volumeGroups),
      supplementalGroupsPolicy: supplementalGroupsPolicy(pod),
      namespaceOptions: podNamespaces(pod, request.users),
    },
  };
}

/** The node's defaults that are about namespaces of the pod's own, and over them what the pod sets. */
function sandboxSysctls(pod: Pod, defaults: Readonly<Record<string, string>>): Record<string, string> {
  const own = (pod.spec.securityContext?.sysctls ?? []).map(
    ({ name, value }) => [normalizeSysctl(name), value] as const,
  );
  const given = Object.entries(defaults)
    .map(([name, value]) => [normalizeSysctl(name), value] as const)
    .filter(([name]) => hasOwnNamespace(pod, sysctlNamespace(name)));
  return Object.fromEntries([...given, ...own]);
}

function hasOwnNamespace(pod: Pod, namespace: SysctlNamespace | undefined): boolean {
  switch (namespace) {
    case undefined:
      return false;
    case 'ipc':
      return pod.spec.hostIPC !== true;
    case 'net':
    case 'uts':
      return !isHostNetwork(pod);
    case 'user':
      return pod.spec.hostUsers === false;
  }
}

/** The command line: the flags that have no place in the configuration file, and the ones derived from its fields. */
import type { FlagSpec } from '../flags/index.js';
import { configFields } from './fields.js';
import { type FlagKind, flagTypes } from './flag-types.js';
import type { ConfigPath } from './types.js';

/** Values of the flags that are not part of KubeletConfiguration. */
export interface KubeletFlags {
  config: string;
  configDir: string;
  kubeconfig: string;
  bootstrapKubeconfig: string;
  hostnameOverride: string;
  nodeIp: string;
  certDir: string;
  cloudProvider: string;
  rootDir: string;
  nodeLabels: Record<string, string>;
  seccompDefault: boolean;
  runtimeCgroups: string;
  imageCredentialProviderConfig: string;
  imageCredentialProviderBinDir: string;
  lockFile: string;
  exitOnLockContention: boolean;
  housekeepingIntervalMs: number;
  minimumContainerTtlDurationMs: number;
  maximumDeadContainersPerContainer: number;
  maximumDeadContainers: number;
  experimentalMounterPath: string;
  experimentalAllocatableIgnoreEviction: boolean;
  /** Ignore unknown configuration fields with a warning, as the reference does. */
  lenientConfig: boolean;
  /** Where links to the logs of all containers are made; empty for none. */
  containerLogsDir: string;
  /** Where ConfigMaps, Secrets and volumes with their claims of a node without an API server are; empty for none. */
  objectManifestPath: string;
  /** Set by `--version=vX.Y.Z`: the version to report instead of the built-in one. */
  reportedVersion: string;
}

export type FlagTarget =
  | { readonly to: 'config'; readonly path: ConfigPath }
  | { readonly to: 'kubelet'; readonly key: keyof KubeletFlags }
  /** Accepted for old command lines; nothing reads it. */
  | { readonly to: 'nowhere' }
  | { readonly to: 'help' }
  | { readonly to: 'version' };

export interface KubeletFlag extends FlagSpec {
  readonly name: string;
  readonly target: FlagTarget;
  /** What to do instead, for flags that only old command lines should have. */
  readonly deprecated?: string;
}

export const defaultKubeletFlags: Readonly<KubeletFlags> = {
  config: '',
  configDir: '',
  kubeconfig: '',
  bootstrapKubeconfig: '',
  hostnameOverride: '',
  nodeIp: '',
  certDir: '/var/lib/kubelet/pki',
  cloudProvider: '',
  rootDir: '/var/lib/kubelet',
  nodeLabels: {},
  seccompDefault: false,
  runtimeCgroups: '',
  imageCredentialProviderConfig: '',
  imageCredentialProviderBinDir: '',
  lockFile: '',
  exitOnLockContention: false,
  housekeepingIntervalMs: 10_000,
  minimumContainerTtlDurationMs: 0,
  maximumDeadContainersPerContainer: 1,
  maximumDeadContainers: -1,
  experimentalMounterPath: '',
  experimentalAllocatableIgnoreEviction: false,
  lenientConfig: false,
  containerLogsDir: '/var/log/containers',
  objectManifestPath: '',
  reportedVersion: '',
};

const evictionInstead = 'use evictionHard or evictionSoft in the configuration file instead';
const cadvisorLeftover = 'it has no effect';

function kubeletFlag(
  name: string,
  kind: FlagKind,
  key: keyof KubeletFlags,
  about: string,
  deprecated?: string,
): KubeletFlag {
  return {
    name,
    type: flagTypes[kind],
    target: { to: 'kubelet', key },
    about,
    ...(deprecated && { deprecated }),
  };
}

const kubeletFlagSpecs: readonly KubeletFlag[] = [
  kubeletFlag('config', 'string', 'config', 'Configuration file (KubeletConfiguration, YAML or JSON)'),
  kubeletFlag('config-dir', 'string', 'configDir', 'Folder of *.conf files merged over the configuration'),
  kubeletFlag(
    'kubeconfig',
    'string',
    'kubeconfig',
    'How to reach the API server; without it pods come from files or a URL only',
  ),
  kubeletFlag(
    'bootstrap-kubeconfig',
    'string',
    'bootstrapKubeconfig',
    'Credentials used to request the first client certificate',
  ),
  kubeletFlag(
    'hostname-override',
    'string',
    'hostnameOverride',
    'Name of the node, instead of the host name',
  ),
  kubeletFlag('node-ip', 'string', 'nodeIp', 'IP address of the node, or an IPv4,IPv6 pair'),
  kubeletFlag('node-labels', 'labels', 'nodeLabels', 'Labels of a new node, as key=value'),
  kubeletFlag('root-dir', 'string', 'rootDir', 'Folder for state such as volume mounts'),
  kubeletFlag('cert-dir', 'string', 'certDir', 'Folder of certificates'),
  kubeletFlag('cloud-provider', 'string', 'cloudProvider', 'external, or empty for none'),
  kubeletFlag(
    'lenient-config',
    'bool',
    'lenientConfig',
    'Warn about unknown configuration fields instead of refusing them',
  ),
  kubeletFlag(
    'container-logs-dir',
    'string',
    'containerLogsDir',
    'Folder for links to the logs of all containers; empty for none',
  ),
  kubeletFlag(
    'object-manifest-path',
    'string',
    'objectManifestPath',
    'Folder of ConfigMaps, Secrets, PersistentVolumes and their claims for static pods without an API server',
  ),
  kubeletFlag(
    'seccomp-default',
    'bool',
    'seccompDefault',
    'RuntimeDefault seccomp profile for pods that set none',
  ),
  kubeletFlag('runtime-cgroups', 'string', 'runtimeCgroups', 'Cgroup of the container runtime'),
  kubeletFlag(
    'image-credential-provider-config',
    'string',
    'imageCredentialProviderConfig',
    'Configuration of the credential plugins, a file or a folder',
  ),
  kubeletFlag(
    'image-credential-provider-bin-dir',
    'string',
    'imageCredentialProviderBinDir',
    'Folder of the credential plugins',
  ),
  kubeletFlag('lock-file', 'string', 'lockFile', 'File that is locked while running'),
  kubeletFlag(
    'exit-on-lock-contention',
    'bool',
    'exitOnLockContention',
    'Exit when another process wants the lock file',
  ),
  kubeletFlag(
    'housekeeping-interval',
    'duration',
    'housekeepingIntervalMs',
    'Period of collecting container statistics',
  ),
  {
    name: 'version',
    type: flagTypes.version,
    target: { to: 'version' },
    about: 'Print the version and exit; =raw prints all of it, =vX.Y.Z changes what is reported',
  },
  {
    name: 'help',
    shorthand: 'h',
    type: flagTypes.bool,
    target: { to: 'help' },
    about: 'Print this help and exit',
  },
  kubeletFlag(
    'minimum-container-ttl-duration',
    'duration',
    'minimumContainerTtlDurationMs',
    'Minimum age of a dead container before it may be removed',
    evictionInstead,
  ),
  kubeletFlag(
    'maximum-dead-containers-per-container',
    'int32',
    'maximumDeadContainersPerContainer',
    'Dead instances kept per container',
    evictionInstead,
  ),
  kubeletFlag(
    'maximum-dead-containers',
    'int32',
    'maximumDeadContainers',
    'Dead containers kept on the node, negative = no limit',
    evictionInstead,
  ),
  kubeletFlag(
    'experimental-mounter-path',
    'string',
    'experimentalMounterPath',
    'Mount command',
    'use a CSI driver instead',
  ),
  kubeletFlag(
    'experimental-allocatable-ignore-eviction',
    'bool',
    'experimentalAllocatableIgnoreEviction',
    'Leave hard thresholds out of node allocatable',
    'it will be removed',
  ),
];

const leftoverFlagKinds: readonly (readonly [string, FlagKind])[] = [
  ['application-metrics-count-limit', 'int32'],
  ['boot-id-file', 'string'],
  ['container-hints', 'string'],
  ['containerd', 'string'],
  ['containerd-namespace', 'string'],
  ['enable-load-reader', 'bool'],
  ['event-storage-age-limit', 'string'],
  ['event-storage-event-limit', 'string'],
  ['global-housekeeping-interval', 'duration'],
  ['log-cadvisor-usage', 'bool'],
  ['machine-id-file', 'string'],
  ['storage-driver-buffer-duration', 'duration'],
  ['storage-driver-db', 'string'],
  ['storage-driver-host', 'string'],
  ['storage-driver-password', 'string'],
  ['storage-driver-secure', 'bool'],
  ['storage-driver-table', 'string'],
  ['storage-driver-user', 'string'],
];

const leftoverFlagSpecs: readonly KubeletFlag[] = leftoverFlagKinds.map(([name, kind]) => ({
  name,
  type: flagTypes[kind],
  target: { to: 'nowhere' },
  about: 'Accepted, no effect',
  deprecated: cadvisorLeftover,
}));

const configFlagSpecs: readonly KubeletFlag[] = configFields.flatMap((field) => {
  if (field.flag === undefined) return [];
  const spec: KubeletFlag = {
    name: field.flag,
    type: flagTypes[field.flagForm ?? field.kind],
    target: { to: 'config', path: field.path },
    about: field.about,
    ...(field.shorthand !== undefined && { shorthand: field.shorthand }),
    ...(field.flagStays !== true && { deprecated: `set ${field.path} in the configuration file instead` }),
  };
  return [spec];
});

export const flagSpecs: readonly KubeletFlag[] = [
  ...kubeletFlagSpecs,
  ...configFlagSpecs,
  ...leftoverFlagSpecs,
];

/** The same flags as the flag engine takes them. */
export const flagsByName: Readonly<Record<string, KubeletFlag>> = Object.fromEntries(
  flagSpecs.map((flag) => [flag.name, flag]),
);

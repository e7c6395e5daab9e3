/** The table of the kubelet's flags: those of the command line alone, and those that set configuration fields. */
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
  /** Unknown configuration fields are ignored with a warning, as in the reference. */
  lenientConfig: boolean;
  /** The directory for links to container logs; empty for none. */
  containerLogsDir: string;
  /** The directory of ConfigMaps, Secrets, PersistentVolumes and claims without an API server; empty for none. */
  objectManifestPath: string;
  /** Where device plugins register; empty: they cannot. */
  devicePluginDir: string;
  /** How long a pod waits for a device plugin that has not registered yet; 0: it is refused at once. */
  devicePluginWaitMs: number;
  /** The directory in which what comes in is recorded; empty: nothing is. */
  recordDir: string;
  /** What the records of all starts may take together, as a quantity of bytes. */
  recordLimit: string;
  /** The version to report instead of the built-in one, from `--version=vX.Y.Z`. */
  reportedVersion: string;
}

export type FlagTarget =
  | { readonly to: 'config'; readonly path: ConfigPath }
  | { readonly to: 'kubelet'; readonly key: keyof KubeletFlags }
  | { readonly to: 'help' }
  | { readonly to: 'version' };

export interface KubeletFlag extends FlagSpec {
  readonly name: string;
  readonly target: FlagTarget;
  /** For deprecated flags: what to do instead. */
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
  devicePluginDir: '/var/lib/kubelet/device-plugins',
  devicePluginWaitMs: 120_000,
  recordDir: '',
  recordLimit: '256Mi',
  reportedVersion: '',
};

const evictionInstead = 'use evictionHard or evictionSoft in the configuration file instead';

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
  kubeletFlag(
    'config-dir',
    'string',
    'configDir',
    'Directory of *.conf files that are merged over the configuration',
  ),
  kubeletFlag(
    'kubeconfig',
    'string',
    'kubeconfig',
    'Credentials for the API server; without it pods come only from files or a URL',
  ),
  kubeletFlag(
    'bootstrap-kubeconfig',
    'string',
    'bootstrapKubeconfig',
    'Credentials for requesting the first client certificate',
  ),
  kubeletFlag(
    'hostname-override',
    'string',
    'hostnameOverride',
    'Name of the node, instead of the host name',
  ),
  kubeletFlag('node-ip', 'string', 'nodeIp', 'IP address of the node, or an IPv4,IPv6 pair'),
  kubeletFlag('node-labels', 'labels', 'nodeLabels', 'Labels for a new Node object, as key=value'),
  kubeletFlag('root-dir', 'string', 'rootDir', 'Directory for state such as volume mounts'),
  kubeletFlag('cert-dir', 'string', 'certDir', 'Directory of certificates'),
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
    'Directory for links to the logs of all containers; empty for none',
  ),
  kubeletFlag(
    'object-manifest-path',
    'string',
    'objectManifestPath',
    'Directory of ConfigMaps, Secrets, PersistentVolumes and claims for static pods without an API server',
  ),
  kubeletFlag(
    'device-plugin-dir',
    'string',
    'devicePluginDir',
    'Directory where device plugins register; empty if they must not',
  ),
  kubeletFlag(
    'device-plugin-wait',
    'duration',
    'devicePluginWaitMs',
    'How long a pod waits for a device plugin that has not registered yet; 0 refuses it at once',
  ),
  kubeletFlag(
    'record',
    'string',
    'recordDir',
    'Directory in which what comes in is recorded, without secrets, for nodelet replay; empty for none',
  ),
  kubeletFlag(
    'record-limit',
    'quantity',
    'recordLimit',
    'What the records of all starts may take together; the oldest go first',
  ),
  kubeletFlag(
    'seccomp-default',
    'bool',
    'seccompDefault',
    'Use the RuntimeDefault seccomp profile for pods without one',
  ),
  kubeletFlag('runtime-cgroups', 'string', 'runtimeCgroups', 'Cgroup of the container runtime'),
  kubeletFlag(
    'image-credential-provider-config',
    'string',
    'imageCredentialProviderConfig',
    'Configuration of the credential plugins, a file or a directory',
  ),
  kubeletFlag(
    'image-credential-provider-bin-dir',
    'string',
    'imageCredentialProviderBinDir',
    'Directory of the credential plugins',
  ),
  kubeletFlag('lock-file', 'string', 'lockFile', 'File that the kubelet locks while it runs'),
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
    about: 'Print the version and exit; =raw prints all of it, =vX.Y.Z changes the reported version',
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
    'Minimum age of a dead container before it can be removed',
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
    'Do not subtract hard eviction thresholds from node allocatable',
    'it will be removed',
  ),
];

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

export const flagSpecs: readonly KubeletFlag[] = [...kubeletFlagSpecs, ...configFlagSpecs];

/** The same flags as the flag engine takes them. */
export const flagsByName: Readonly<Record<string, KubeletFlag>> = Object.fromEntries(
  flagSpecs.map((flag) => [flag.name, flag]),
);

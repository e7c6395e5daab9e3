/** What of the configuration and the command line becomes the node's registration and status: pure translations. */
import type {
  AddressSettings,
  ReadinessFacts,
  RegistrationSettings,
  StatusFacts,
  StatusSettings,
} from '../../node/index.js';
import type { PressureCondition } from '../../resources/eviction/index.js';
import { runtimeBoundFeatures } from '../cluster/declared-features.js';
import type { NodeFlags, NodeOptions, NodeSettings, RuntimeView } from '../cluster/node-options.js';

export function statusSettings(
  { nodeName, config, gates }: Pick<NodeSettings, 'nodeName' | 'config' | 'gates'>,
  {
    flags,
    kubeletVersion,
    declaredFeatures,
  }: Pick<NodeOptions, 'flags' | 'kubeletVersion' | 'declaredFeatures'>,
  nodeIps: AddressSettings['nodeIps'],
  inUserNamespace: boolean,
): StatusSettings {
  return {
    addresses: { nodeName, nodeIps, externalCloud: flags.externalCloud },
    capacity: {
      systemReserved: config.systemReserved,
      kubeReserved: config.kubeReserved,
      evictionHard: config.evictionHard,
      ignoreEviction: flags.ignoreEvictionReservation ?? false,
      maxPods: config.maxPods,
      podsPerCore: config.podsPerCore,
      localStorageCapacityIsolation: config.localStorageCapacityIsolation,
    },
    kubeletVersion,
    port: config.port,
    maxImages: config.nodeStatusMaxImages,
    declaredFeatures: gates.enabled('NodeDeclaredFeatures') ? (declaredFeatures ?? []) : undefined,
    declaredWithRuntime: runtimeBoundFeatures(gates),
    runningInUserNamespace: gates.enabled('KubeletInUserNamespace') ? inUserNamespace : undefined,
  };
}

export function registrationSettings(
  { nodeName, config }: Pick<NodeSettings, 'nodeName' | 'config'>,
  flags: NodeFlags,
  architecture: string,
): RegistrationSettings {
  return {
    nodeName,
    architecture,
    nodeLabels: flags.nodeLabels,
    taints: config.registerWithTaints,
    externalCloud: flags.externalCloud,
    controllerAttachDetach: config.enableControllerAttachDetach,
    providerId: config.providerID,
  };
}

/** What the node tells of its runtime. */
export function runtimeStatus(
  { handlers, features }: Pick<RuntimeView, 'handlers' | 'features'>,
  version: Pick<StatusFacts['runtime'], 'name' | 'version'>,
): StatusFacts['runtime'] {
  return {
    ...version,
    handlers: handlers.map(({ name, features: ofHandler }) => ({
      name,
      recursiveReadOnlyMounts: ofHandler?.recursiveReadOnlyMounts ?? false,
      userNamespaces: ofHandler?.userNamespaces ?? false,
    })),
    features,
  };
}

/** The pressure that eviction found, as the node reports it. */
export function pressureFacts(conditions: readonly PressureCondition[]): StatusFacts['pressure'] {
  return {
    memory: conditions.includes('MemoryPressure'),
    disk: conditions.includes('DiskPressure'),
    pid: conditions.includes('PIDPressure'),
  };
}

export function readiness({
  runtime,
  storageError,
  shutdownError,
  isCpuQuotaAvailable = true,
}: Pick<NodeOptions, 'runtime' | 'storageError' | 'shutdownError' | 'isCpuQuotaAvailable'>): ReadinessFacts {
  return {
    runtimeErrors: runtime.errors(),
    networkError: runtime.networkError,
    storageError: storageError?.(),
    shutdownError: shutdownError?.(),
    softRequirementFailed: !isCpuQuotaAvailable,
  };
}

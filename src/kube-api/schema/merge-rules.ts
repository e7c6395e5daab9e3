/** How lists and mappings of the API's types are merged: facts that the names and types of fields do not tell. */

/** Lists that are not named here are replaced whole, by apply and by strategic merge patches. */
interface ListFacts {
  /** Apply knows the members by these. */
  readonly keys?: readonly string[];
  /** Apply knows the members by their values. */
  readonly isSet?: true;
  /** Strategic merge patches know the members by this, or, when true, by their values. */
  readonly merge?: string | true;
}

const byName: ListFacts = { keys: ['name'], merge: 'name' };
const byType: ListFacts = { keys: ['type'], merge: 'type' };
const set: ListFacts = { isSet: true };
const mergedSet: ListFacts = { isSet: true, merge: true };

const ofContainers = (type: string): Record<string, ListFacts> => ({
  [`${type}.env`]: byName,
  [`${type}.ports`]: { keys: ['containerPort', 'protocol'], merge: 'containerPort' },
  [`${type}.volumeDevices`]: { keys: ['devicePath'], merge: 'devicePath' },
  [`${type}.volumeMounts`]: { keys: ['mountPath'], merge: 'mountPath' },
});

const lists: Readonly<Record<string, ListFacts>> = {
  'ObjectMeta.finalizers': mergedSet,
  'ObjectMeta.ownerReferences': { keys: ['uid'], merge: 'uid' },
  'PodSpec.containers': byName,
  'PodSpec.ephemeralContainers': byName,
  'PodSpec.evictionResponders': byName,
  'PodSpec.hostAliases': { keys: ['ip'], merge: 'ip' },
  'PodSpec.imagePullSecrets': byName,
  'PodSpec.initContainers': byName,
  'PodSpec.resourceClaims': byName,
  'PodSpec.schedulingGates': byName,
  'PodSpec.topologySpreadConstraints': { keys: ['topologyKey', 'whenUnsatisfiable'], merge: 'topologyKey' },
  'PodSpec.volumes': byName,
  ...ofContainers('Container'),
  ...ofContainers('EphemeralContainer'),
  'ResourceRequirements.claims': { keys: ['name'] },
  'ContainerRestartRuleOnExitCodes.values': set,
  'VolumeMount.bindMountOptions': set,
  'PodStatus.conditions': byType,
  'PodStatus.hostIPs': { merge: 'ip' },
  'PodStatus.nodeAllocatableResourceClaimStatuses': {
    keys: ['resourceClaimName'],
    merge: 'resourceClaimName',
  },
  'PodStatus.podIPs': { keys: ['ip'], merge: 'ip' },
  'PodStatus.resourceClaimStatuses': byName,
  'PodStatus.volumeHealth': { keys: ['name'] },
  'ContainerStatus.allocatedResourcesStatus': byName,
  'ContainerStatus.volumeMounts': { keys: ['mountPath'], merge: 'mountPath' },
  'ResourceStatus.resources': { keys: ['resourceID'] },
  'NodeAllocatableResourceClaimStatus.containers': set,
  'NodeAllocatableResourceClaimStatus.mapping': byName,
  'NodeAllocatableResourceClaimStatus.overhead': byName,
  'PodVolumeHealth.healthConditions': { keys: ['status', 'reason'], merge: 'status' },
  'NamespaceStatus.conditions': byType,
  'NodeSpec.podCIDRs': mergedSet,
  'NodePodPreemptionPolicy.disableResizePreemption': set,
  'NodeStatus.addresses': byType,
  'NodeStatus.conditions': byType,
  'ServiceAccount.secrets': byName,
  'ServiceSpec.ports': { keys: ['port', 'protocol'], merge: 'port' },
  'ServiceStatus.conditions': byType,
  'PersistentVolumeClaimStatus.conditions': byType,
  'VolumeHealthStatus.healthConditions': { keys: ['status', 'reason'], merge: 'status' },
  'DeploymentStatus.conditions': byType,
  'ReplicaSetStatus.conditions': byType,
  'StatefulSetStatus.conditions': byType,
  'DaemonSetStatus.conditions': byType,
  'PodFailurePolicyOnExitCodesRequirement.values': set,
  'JobSchedulingConfiguration.resourceClaims': byName,
  'JobStatus.conditions': { merge: 'type' },
  'UncountedTerminatedPods.failed': set,
  'UncountedTerminatedPods.succeeded': set,
  'Endpoint.addresses': set,
  'CSINodeSpec.drivers': byName,
  'CSINodeStatus.storageHealth': byName,
  'CSIDriverSpec.volumeLifecycleModes': set,
};

export function listFacts(type: string, field: string): ListFacts | undefined {
  return lists[`${type}.${field}`];
}

/** Whoever applies one field of these owns the whole. */
const wholeTypes: ReadonlySet<string> = new Set([
  'ConfigMapKeySelector',
  'DiscoveryEndpointPort',
  'EndpointAddress',
  'EndpointPort',
  'EvictionResponder',
  'FileKeySelector',
  'LabelSelector',
  'LocalObjectReference',
  'NodeSelector',
  'NodeSelectorTerm',
  'ObjectFieldSelector',
  'ObjectReference',
  'OwnerReference',
  'ResourceFieldSelector',
  'SecretKeySelector',
  'SecretReference',
  'TopologySelectorTerm',
  'TypedLocalObjectReference',
]);

const wholeMappings: ReadonlySet<string> = new Set([
  'PodSpec.nodeSelector',
  'Scheduling.nodeSelector',
  'ServiceSpec.selector',
]);
const fieldwise: ReadonlySet<string> = new Set(['PersistentVolumeSpec.claimRef']);

export function isWholeType(type: string): boolean {
  return wholeTypes.has(type);
}

/** Undefined: as the type of the field says. */
export function wholeField(type: string, field: string): boolean | undefined {
  const name = `${type}.${field}`;
  if (wholeMappings.has(name)) return true;
  return fieldwise.has(name) ? false : undefined;
}

/** Keys of list members that may be left out. */
const keyDefaults: Readonly<Record<string, unknown>> = {
  'ContainerPort.protocol': 'TCP',
  'ServicePort.protocol': 'TCP',
};

export function keyDefault(type: string, field: string): unknown {
  return keyDefaults[`${type}.${field}`];
}

/** Mappings that every object of their type has, empty or not, beside the metadata, spec and status of a kind. */
const alwaysPresent: ReadonlySet<string> = new Set([
  'Container.resources',
  'ContainerStatus.lastState',
  'ContainerStatus.state',
  'CronJobSpec.jobTemplate',
  'DaemonSetSpec.template',
  'DaemonSetSpec.updateStrategy',
  'DeploymentSpec.strategy',
  'DeploymentSpec.template',
  'Endpoint.conditions',
  'EphemeralContainer.resources',
  'Event.involvedObject',
  'Event.source',
  'JobSpec.template',
  'JobTemplateSpec.metadata',
  'JobTemplateSpec.spec',
  'NodeDaemonEndpoints.kubeletEndpoint',
  'NodeStatus.daemonEndpoints',
  'NodeStatus.nodeInfo',
  'PersistentVolumeClaimSpec.resources',
  'PersistentVolumeClaimTemplate.metadata',
  'PersistentVolumeClaimTemplate.spec',
  'PodTemplateSpec.metadata',
  'PodTemplateSpec.spec',
  'PreferredSchedulingTerm.preference',
  'ReplicaSetSpec.template',
  'ServiceStatus.loadBalancer',
  'StatefulSetSpec.template',
  'StatefulSetSpec.updateStrategy',
  'VolumeAttachmentSpec.source',
  'WeightedPodAffinityTerm.podAffinityTerm',
]);

const partsOfKinds: ReadonlySet<string> = new Set(['metadata', 'spec', 'status']);

export function isAlwaysPresent(type: string, field: string, isKind: boolean): boolean {
  return (isKind && partsOfKinds.has(field)) || alwaysPresent.has(`${type}.${field}`);
}

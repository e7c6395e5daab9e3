import { describe, expect, it } from 'vitest';
import { type FeatureGate, featureGateDependencies, featureGateSpecs } from './feature-gate-table.js';
import { resolveFeatureGates } from './feature-gates.js';

describe('resolveFeatureGates', () => {
  const states: [rule: string, requested: Record<string, boolean>, gate: FeatureGate, enabled: boolean][] = [
    ['a beta gate has its default', {}, 'EnvFiles', true],
    ['an alpha gate has its default', {}, 'PodsAPI', false],
    ['a setting overrides the default', { PodsAPI: true }, 'PodsAPI', true],
    ['a locked gate can be set to its default', { NodeSwap: true }, 'NodeSwap', true],
    ['AllAlpha turns alpha gates on', { AllAlpha: true }, 'PodsAPI', true],
    ['AllAlpha does not change a gate that is set', { AllAlpha: true, PodsAPI: false }, 'PodsAPI', false],
    ['AllBeta turns beta gates off', { AllBeta: false }, 'EnvFiles', false],
    ['AllBeta does not change a gate that is set', { AllBeta: false, EnvFiles: true }, 'EnvFiles', true],
    ['AllAlpha does not change beta gates', { AllAlpha: true }, 'SELinuxMount', false],
    ['a gate of another component is known', { WatchListClient: false }, 'WatchListClient', false],
  ];
  it.each(states)('%s', (_, requested, gate, enabled) => {
    expect(resolveFeatureGates(requested).gates.enabled(gate)).toBe(enabled);
  });

  const refused: [requested: Record<string, boolean>, message: string][] = [
    [{ Foo: true }, 'unrecognized feature gate: Foo'],
    [{ NodeSwap: false }, 'cannot set feature gate NodeSwap to false, feature is locked to true'],
    [
      { GitRepoVolumeDriver: true },
      'cannot set feature gate GitRepoVolumeDriver to true, feature is locked to false',
    ],
    [
      { ResourceHealthStatus: false },
      'ResourceHealthStatusMessage is enabled, but depends on features that are disabled: [ResourceHealthStatus]',
    ],
    [
      { GracefulNodeShutdown: false },
      '[GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are disabled: [GracefulNodeShutdown], WindowsGracefulNodeShutdown is enabled, but depends on features that are disabled: [GracefulNodeShutdown]]',
    ],
    [
      { ClusterTrustBundleProjection: true },
      'ClusterTrustBundleProjection is enabled, but depends on features that are disabled: [ClusterTrustBundle]',
    ],
  ];
  it.each(refused)('refuses %j', (requested, message) => {
    expect(() => resolveFeatureGates(requested)).toThrow(message);
  });

  it('warns only about GA and deprecated gates', () => {
    const { warnings } = resolveFeatureGates({ NodeSwap: true, KMSv1: true, EnvFiles: true, PodsAPI: true });
    expect(warnings.map((text) => text.split(' ')[2])).toEqual(['NodeSwap', 'KMSv1']);
  });

  it('lists all gates sorted by name', () => {
    const all = resolveFeatureGates({}).gates.all();
    expect(all).toHaveLength(featureGateSpecs.size);
    expect(all[0]).toEqual({ name: 'APIResponseCompression', stage: 'BETA', enabled: true });
  });
});

describe('the gate table', () => {
  const rows: [stage: string, isDefault: boolean, locked: boolean, names: string][] = [
    [
      'GA',
      true,
      true,
      'DynamicResourceAllocation ImageMaximumGCAge ImageVolume InPlacePodVerticalScaling KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesGet MutableCSINodeAllocatableCount NodeLogQuery NodeSwap PodLifecycleSleepAction RecoverVolumeExpansionFailure RecursiveReadOnlyMounts SELinuxChangePolicy SELinuxMountReadWriteOncePod SupplementalGroupsPolicy TopologyManagerPolicyOptions UserNamespacesSupport',
    ],
    ['GA', true, false, 'CustomCPUCFSQuotaPeriod'],
    [
      'BETA',
      true,
      false,
      'CPUManagerPolicyBetaOptions ContainerCheckpoint ContainerRestartRules DRAExtendedResource EnvFiles ExtendWebSocketsToKubelet GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority HostnameOverride InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScalingInitContainers KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders NodeDeclaredFeatures PLEGOnDemandRelist PodLevelResources PodReadyToStartContainersCondition PreventStaticPodAPIReferences ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile ResourceHealthStatus ResourceHealthStatusMessage RestartAllContainersOnContainerExits RotateKubeletServerCertificate TopologyManagerPolicyBetaOptions ComponentFlagz ComponentStatusz',
    ],
    [
      'BETA',
      false,
      false,
      'ClusterTrustBundleProjection LocalStorageCapacityIsolationFSQuotaMonitoring PodCertificateRequest SELinuxMount',
    ],
    [
      'ALPHA',
      false,
      false,
      'CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ContainerStopSignals EventedPLEG ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory KubeletAllocatedPodsEndpoint KubeletInUserNamespace MemoryQoS PodAndContainerStatsFromCRI PodLevelResourceManagers PodLogsQuerySplitStreams PodsAPI QOSReserved ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi TaintTolerationComparisonOperators TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport',
    ],
    ['DEPRECATED', true, true, 'DisableNodeKubeProxyVersion'],
    ['DEPRECATED', true, false, 'DisableCPUQuotaWithExclusiveCPUs KubeletPodResourcesListUseActivePods'],
    ['DEPRECATED', false, true, 'GitRepoVolumeDriver'],
    [
      'DEPRECATED',
      false,
      false,
      'AllowDNSOnlyNodeCSR ChangeContainerStatusOnKubeletRestart KubeletRegistrationGetOnExistsOnly',
    ],
  ];
  it.each(rows)('%s, default %s, locked %s', (stage, isDefault, locked, names) => {
    for (const name of names.split(' ')) {
      expect([name, featureGateSpecs.get(name)]).toEqual([name, { stage, default: isDefault, locked }]);
    }
  });

  it('depends only on gates that exist', () => {
    for (const [gate, needed] of featureGateDependencies) {
      for (const name of [gate, ...needed]) expect(featureGateSpecs.has(name)).toBe(true);
    }
  });
});

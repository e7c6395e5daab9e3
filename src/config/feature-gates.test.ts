import { describe, expect, it } from 'vitest';
import { type FeatureGate, featureGateDependencies, featureGateSpecs } from './feature-gate-table.js';
import { resolveFeatureGates } from './feature-gates.js';

/** Alpha gates need a beta gate that is off by default. */
const allAlpha = { AllAlpha: true, GenericWorkload: true };

describe('resolveFeatureGates', () => {
  const states: [rule: string, requested: Record<string, boolean>, gate: FeatureGate, enabled: boolean][] = [
    ['a beta gate has its default', {}, 'EnvFiles', true],
    ['an alpha gate has its default', {}, 'EmptyDirVolumeMode', false],
    ['a setting overrides the default', { EmptyDirVolumeMode: true }, 'EmptyDirVolumeMode', true],
    ['a locked gate can be set to its default', { NodeSwap: true }, 'NodeSwap', true],
    ['AllAlpha turns alpha gates on', allAlpha, 'EmptyDirVolumeMode', true],
    [
      'AllAlpha does not change a gate that is set',
      { ...allAlpha, EmptyDirVolumeMode: false },
      'EmptyDirVolumeMode',
      false,
    ],
    ['AllBeta turns beta gates off', { AllBeta: false }, 'EnvFiles', false],
    ['AllBeta does not change a gate that is set', { AllBeta: false, EnvFiles: true }, 'EnvFiles', true],
    ['AllAlpha does not change beta gates', allAlpha, 'PodLevelResourceManagers', false],
    ['a GA gate that is not locked can be switched off', { SELinuxMount: false }, 'SELinuxMount', false],
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
      { ClusterTrustBundle: false },
      'ClusterTrustBundleProjection is enabled, but depends on features that are disabled: [ClusterTrustBundle]',
    ],
    [{ SidecarContainers: true }, 'unrecognized feature gate: SidecarContainers'],
    [{ PreventStaticPodAPIReferences: true }, 'unrecognized feature gate: PreventStaticPodAPIReferences'],
    [
      { DisableCPUQuotaWithExclusiveCPUs: false },
      'cannot set feature gate DisableCPUQuotaWithExclusiveCPUs to false, feature is locked to true',
    ],
    [
      { PodLevelResources: false, InPlacePodLevelResourcesVerticalScaling: false },
      '[PodLevelResourcesFixDefaulting is enabled, but depends on features that are disabled: [PodLevelResources], PodLevelResourcesFixKubeletQOSClass is enabled, but depends on features that are disabled: [PodLevelResources]]',
    ],
  ];
  it.each(refused)('refuses %j', (requested, message) => {
    expect(() => resolveFeatureGates(requested)).toThrow(message);
  });

  it('warns only about GA and deprecated gates', () => {
    const { warnings } = resolveFeatureGates({
      NodeSwap: true,
      KMSv1: true,
      EnvFiles: true,
      QOSReserved: true,
    });
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
      'CPUManagerPolicyOptions TopologyManagerPolicyOptions DRADeviceTaintRules DRADeviceTaints DRAExtendedResource DRAPrioritizedList DRAResourceClaimDeviceStatus DynamicResourceAllocation ExecProbeTimeout HPAConfigurableTolerance HostnameOverride ImageMaximumGCAge ImageVolume InPlacePodVerticalScaling InPlacePodVerticalScalingInitContainers KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing MutableCSINodeAllocatableCount NodeDeclaredFeatures NodeLogQuery NodeSwap PLEGOnDemandRelist PodObservedGenerationTracking PodReadyToStartContainersCondition ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts RelaxedEnvironmentVariableValidation RelaxedServiceNameValidation SELinuxChangePolicy SELinuxMountReadWriteOncePod SupplementalGroupsPolicy SystemdWatchdog UserNamespacesSupport WatchCacheInitializationPostStartHook',
    ],
    [
      'GA',
      true,
      false,
      'ClusterTrustBundle ClusterTrustBundleProjection CustomCPUCFSQuotaPeriod PodCertificateRequest SELinuxMount StorageVersionMigrator',
    ],
    [
      'BETA',
      true,
      false,
      'CPUManagerPolicyBetaOptions ComponentFlagz ComponentStatusz ContainerCheckpoint ContainerRestartRules ContextualLogging EnvFiles ExtendWebSocketsToKubelet GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority HPAScaleToZero HugepageAwareEviction InPlacePodLevelResourcesVerticalScaling KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages KubeletInUserNamespace KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders LoggingBetaOptions MaxUnavailableStatefulSet MemoryQoS NativeHistograms NodeControllerLeaseCircuitBreaker PodLevelResources PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass PodsAPI ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile ResourceHealthStatus ResourceHealthStatusMessage RestartAllContainersOnContainerExits RotateKubeletServerCertificate TopologyManagerPolicyBetaOptions VolumeLimitScaling WatchListCompression WindowsGracefulNodeShutdown',
    ],
    [
      'BETA',
      false,
      false,
      'DRAWorkloadResourceClaims GenericWorkload LocalStorageCapacityIsolationFSQuotaMonitoring PodAndContainerStatsFromCRI PodLevelResourceManagers',
    ],
    [
      'ALPHA',
      false,
      false,
      'AtomicWriteVolumeUserFields CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth CompositePodGroup ContainerStopSignals DRANodeAllocatableResources DRAOptionalNodeOperations DefaultPodSysctls EmptyDirVolumeMode EventedPLEG EvictionRequestAPI GRPCContainerProbeTLS H2CContainerProbe ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory InPlacePodVerticalScalingMemoryBackedVolumes InPlacePodVerticalScalingSchedulerPreemption KubeletAllocatedPodsEndpoint LoggingAlphaOptions NodeLifecycleConditions PodLogsQuerySplitStreams QOSReserved ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi TaintTolerationComparisonOperators TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeBindMountOptions WindowsCPUAndMemoryAffinity',
    ],
    ['DEPRECATED', true, true, 'DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion'],
    ['DEPRECATED', true, false, 'KubeProxyIPVS KubeletPodResourcesListUseActivePods'],
    ['DEPRECATED', false, true, 'DeclarativeValidationTakeover GitRepoVolumeDriver'],
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

/** Makes the kubelet of a hollow node: the one that every node has, with simulated surroundings. */
import { baselineConfiguration, type KubeletConfiguration } from '../../config/index.js';
import { createClusterKubelet } from '../../kubelet/cluster/create-cluster-kubelet.js';
import type { Kubelet } from '../../kubelet/index.js';
import type { DescribedMachine } from '../../node/index.js';
import { filelessPodConfigs } from '../../runtime-manager/config/index.js';
import { criEvents } from '../../runtime-manager/pleg/index.js';
import type { SimRuntime } from '../../runtimes/sim/index.js';
import { Timeline } from '../../timeline/index.js';
import { type LineSwitch, NodeLine } from '../api/node-line.js';
import type { HollowNodeSpec, HollowSurroundings } from './contracts.js';
import { hollowHooks } from './hooks.js';
import { hollowProbeNetwork } from './probe-network.js';
import { hollowLabels } from './profile.js';
import { hollowVolumes } from './volumes.js';

export interface HollowMachine {
  readonly runtime: SimRuntime;
  readonly line: LineSwitch;
  /** Of its kubelet API; undefined where it has none. */
  readonly port: number | undefined;
  readonly machine: DescribedMachine;
  /** Called when the cluster was told that the node is ready. */
  readonly onReady: () => void;
}

/** What a node without files, cgroups and images that take room does differently. */
const hollowConfiguration: Partial<KubeletConfiguration> = {
  resolvConf: '',
  // Objects are read when a pod needs them, which on a hollow node is never.
  configMapAndSecretChangeDetectionStrategy: 'Get',
  imageGCHighThresholdPercent: 100,
  serializeImagePulls: false,
  cgroupsPerQOS: false,
  enforceNodeAllocatable: [],
  volumeStatsAggPeriod: 0,
};

export function hollowKubelet(
  { name, profile }: HollowNodeSpec,
  { clock, random, gates, config, apis, shared, kubeletVersion, network, nodeIp }: HollowSurroundings,
  { runtime, line, port, machine, onReady }: HollowMachine,
): Promise<Kubelet> {
  const timeline = new Timeline({ clock });
  return createClusterKubelet(
    {
      nodeName: name,
      runtime,
      // Its calls are in this process, and end with their signals.
      runtimeEndsCalls: true,
      rootDir: `/nonexistent/nodelet-hollow/${name}`,
      config: {
        ...hollowConfiguration,
        ...config,
        maxPods: profile.pods,
        registerWithTaints: [...profile.taints],
        port: port ?? baselineConfiguration(gates).port,
      },
      gates,
      clock,
      timeline,
      random,
      nodeIps: [nodeIp],
      hostIps: [nodeIp],
      describedMachine: machine,
      podDirectories: false,
      podConfigs: filelessPodConfigs,
      volumes: hollowVolumes,
      probeNetwork: hollowProbeNetwork(runtime),
      hooks: hollowHooks(runtime, { cri: runtime, clock, timeline }),
      eventSources: [criEvents],
    },
    {
      apis: {
        main: new NodeLine(apis.main, line, shared),
        heartbeat: new NodeLine(apis.heartbeat, line, undefined),
        events: new NodeLine(apis.events, line, undefined),
        // The connections are those of all nodes: one node's trouble is no reason to end them.
        resetConnections: () => {},
      },
      kubeletVersion,
      flags: { nodeLabels: { ...hollowLabels, ...profile.labels }, nodeIp, externalCloud: false },
      network,
      processStartMs: clock.now(),
      onReady,
    },
  );
}

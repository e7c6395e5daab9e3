/**
 * nodelet as a library: a kubelet on any container runtime.
 *
 *     import { createKubelet, SimRuntime } from 'nodelet';
 *     const kubelet = await createKubelet({ nodeName: 'n1', runtime: new SimRuntime({ … }), rootDir: '/tmp/n1' });
 *     void kubelet.start();
 *
 * Or the whole program, as `nodelet agent` runs it:
 *
 *     import { createAgent, readConfiguration } from 'nodelet';
 *     const configuration = await readConfiguration({ argv: ['--config', 'kubelet.yaml'] });
 *     if (configuration.kind === 'run') await createAgent({ configuration }).run(stop.signal);
 */
export {
  type Agent,
  type AgentOptions,
  type ConfigurationSource,
  createAgent,
  type LogSink,
  readConfiguration,
  StartFailure,
} from './agent/index.js';
export { type Clock, systemClock, type Timer, VirtualClock } from './async/index.js';
export { ConfigurationError, type LoadedConfiguration, type LoadOutcome } from './config/index.js';
export { type CriClient, CriError, type CriRuntime, connectCri, serveCri } from './cri/index.js';
export {
  createHollowNodes,
  type HollowKubeletApi,
  type HollowNodeRequest,
  type HollowNodeStatus,
  type HollowNodes,
  type HollowNodesOptions,
  type HollowOutcome,
  type NodeProfile,
} from './hollow/index.js';
export type * from './kube/types/index.js';
export { SimulatedKubeApi } from './kube-api/index.js';
export {
  connectKubeApi,
  type KubeApi,
  type KubeConnection,
  loadKubeconfig,
  resources,
} from './kube-client/index.js';
export {
  type ClusterApis,
  type ClusterOptions,
  createClusterKubelet,
} from './kubelet/cluster/create-cluster-kubelet.js';
export {
  type AdmissionAttempt,
  type AdmissionHandler,
  type AdmissionRule,
  createKubelet,
  type Kubelet,
  type KubeletOptions,
  type MirrorPods,
  type PodCgroups,
  type PodObjects,
  type PodVolumes,
} from './kubelet/index.js';
export { Registry } from './metrics/index.js';
export type { DescribedMachine } from './node/index.js';
export type { PodSource, Snapshot, SourceContext, SourceName } from './pods/index.js';
export type { ProbeNetwork } from './probes/index.js';
export { filelessPodConfigs } from './runtime-manager/config/index.js';
export {
  containerdEvents,
  criEvents,
  type RuntimeEvent,
  type RuntimeEventSource,
} from './runtime-manager/pleg/index.js';
export { ProcessRuntime, type ProcessRuntimeOptions } from './runtimes/process/index.js';
export { SimRuntime } from './runtimes/sim/index.js';
export { logReader, Timeline, type TimelineEntry } from './timeline/index.js';

/**
 * The node's agent as a library: it reads its configuration, connects to the runtime and the cluster, listens, and tells
 * systemd that it is ready. The program that runs it owns arguments, signals and exit codes.
 */
export { type Agent, type AgentOptions, createAgent, type RunningKubelet } from './agent.js';
export type { ClusterSettings, OpenCluster } from './cluster.js';
export { ignoreOutputErrors, type LogSink } from './log-writer.js';
export { chooseNodeName } from './node-name.js';
export { type ConfigurationSource, readConfiguration } from './read-configuration.js';
export { StartFailure } from './start-failure.js';
export { keepOnDisk } from './timeline-on-disk.js';
export { kubernetesVersion, version } from './version.js';

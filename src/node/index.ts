/** The node of a cluster: its registration, status, lease and certificates. */
export * from './addresses/addresses.js';
export * from './addresses/local-ip.js';
export * from './addresses/network.js';
export * from './addresses/node-ip.js';
export {
  type BootstrapOptions,
  bootstrapClientCertificate,
  clientAccessProblem,
} from './certificates/bootstrap.js';
export * from './certificates/client.js';
export * from './certificates/client-access.js';
export { kubeconfigText } from './certificates/kubeconfig-file.js';
export * from './certificates/manager.js';
export { type CertificatePair, type CertificateTemplate, certificatePair } from './certificates/pair.js';
export * from './certificates/request.js';
export * from './certificates/rotation.js';
export * from './certificates/serving.js';
export * from './certificates/serving-choice.js';
export * from './certificates/store.js';
export { applyKernelTunables } from './kernel-tunables/apply.js';
export * from './lease/lease.js';
export * from './lease/renewer.js';
export {
  type DescribedMachine,
  describedInfo,
  describedPlatform,
} from './machine/described.js';
export * from './machine/facts.js';
export * from './machine/read.js';
export * from './metrics.js';
export { openKernelLog } from './oom-watcher/kernel-log.js';
export { OomCounts } from './oom-watcher/oom-counts.js';
export * from './oom-watcher/oom-watcher.js';
export { type OomVictim, oomVictim } from './oom-watcher/victims.js';
export * from './packet-rules/command.js';
export * from './packet-rules/packet-rules.js';
export * from './registration/initial-node.js';
export * from './registration/reconcile.js';
export * from './registration/register.js';
export * from './shutdown/index.js';
export * from './status/capacity.js';
export * from './status/conditions.js';
export * from './status/facts.js';
export * from './status/images.js';
export * from './status/pod-cidr.js';
export * from './status/report.js';
export * from './status/reporter.js';
export * from './status/reservation.js';
export { isExtendedResource, isHugePageResource } from './status/resource-names.js';
export * from './status/runtime-facts.js';
export { applySetters } from './status/setters.js';
export * from './status/sources.js';

/** The kinds whose objects go with their namespace and with their owners, unless the API tells of others. */
import { type Resource, resources } from '../kube-client/index.js';

/** Those that make others come first, so that nothing is made anew while a namespace is emptied. */
export const defaultKinds: readonly Resource[] = [
  resources.cronJobs,
  resources.deployments,
  resources.daemonSets,
  resources.statefulSets,
  resources.jobs,
  resources.replicaSets,
  resources.controllerRevisions,
  resources.pods,
  resources.services,
  resources.endpointSlices,
  resources.persistentVolumeClaims,
  resources.configMaps,
  resources.secrets,
  resources.serviceAccounts,
  resources.leases,
  resources.events,
  resources.namespaces,
  resources.nodes,
  resources.persistentVolumes,
  resources.storageClasses,
];

/** The table of the kinds that this API serves, in the order of discovery. */
import { resources } from '../../kube-client/resources.js';
import { namespaceKind } from './namespace.js';
import { podKind } from './pods/pod.js';
import { priorityClassKind } from './priority-class.js';
import { type ServedKind, served } from './served-kind.js';
import { cronJobKind } from './workloads/cron-job.js';
import { jobKind } from './workloads/job.js';
import { daemonSetKind, deploymentKind, replicaSetKind } from './workloads/replicated.js';
import { statefulSetKind } from './workloads/stateful-set.js';

const all = ['all'] as const;

export const servedKinds: readonly ServedKind[] = [
  podKind,
  namespaceKind,
  served({
    resource: resources.nodes,
    singular: 'node',
    shortNames: ['no'],
    subresources: ['status'],
    takesStatusOnCreate: true,
  }),
  served({
    resource: resources.configMaps,
    singular: 'configmap',
    shortNames: ['cm'],
    subresources: [],
  }),
  served({ resource: resources.secrets, singular: 'secret', subresources: [] }),
  served({ resource: resources.events, singular: 'event', shortNames: ['ev'], subresources: [] }),
  served({
    resource: resources.serviceAccounts,
    singular: 'serviceaccount',
    shortNames: ['sa'],
    subresources: [],
  }),
  served({
    resource: resources.services,
    singular: 'service',
    shortNames: ['svc'],
    categories: all,
    subresources: ['status'],
  }),
  served({
    resource: resources.persistentVolumes,
    singular: 'persistentvolume',
    shortNames: ['pv'],
    subresources: ['status'],
  }),
  served({
    resource: resources.persistentVolumeClaims,
    singular: 'persistentvolumeclaim',
    shortNames: ['pvc'],
    subresources: ['status'],
  }),
  deploymentKind,
  replicaSetKind,
  statefulSetKind,
  daemonSetKind,
  served({ resource: resources.controllerRevisions, singular: 'controllerrevision', subresources: [] }),
  jobKind,
  cronJobKind,
  served({ resource: resources.endpointSlices, singular: 'endpointslice', subresources: [] }),
  served({ resource: resources.leases, singular: 'lease', subresources: [] }),
  served({ resource: resources.runtimeClasses, singular: 'runtimeclass', subresources: [] }),
  priorityClassKind,
  served({
    resource: resources.storageClasses,
    singular: 'storageclass',
    shortNames: ['sc'],
    subresources: [],
  }),
  served({ resource: resources.csiNodes, singular: 'csinode', subresources: [] }),
  served({ resource: resources.csiDrivers, singular: 'csidriver', subresources: [] }),
  served({
    resource: resources.volumeAttachments,
    singular: 'volumeattachment',
    subresources: ['status'],
  }),
];

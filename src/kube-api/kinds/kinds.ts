/** The table of the kinds that this API serves, in the order of discovery. */
import { resources } from '../../kube-client/resources.js';
import { configMapKind, secretKind } from './data/data-objects.js';
import { namespaceKind } from './namespace.js';
import { endpointSliceKind, endpointsKind } from './network/endpoints.js';
import { serviceKind } from './network/service.js';
import { controllerRevisionKind, eventKind, leaseKind, nodeKind, runtimeClassKind } from './node-kinds.js';
import { podKind } from './pods/pod.js';
import { priorityClassKind } from './priority-class.js';
import { type ServedKind, served } from './served-kind.js';
import { persistentVolumeClaimKind, persistentVolumeKind } from './storage/persistent-volume.js';
import {
  csiDriverKind,
  csiNodeKind,
  storageClassKind,
  volumeAttachmentKind,
} from './storage/storage-kinds.js';
import { cronJobKind } from './workloads/cron-job.js';
import { jobKind } from './workloads/job.js';
import { daemonSetKind, deploymentKind, replicaSetKind } from './workloads/replicated.js';
import { statefulSetKind } from './workloads/stateful-set.js';

export const servedKinds: readonly ServedKind[] = [
  podKind,
  namespaceKind,
  nodeKind,
  configMapKind,
  secretKind,
  eventKind,
  served({
    resource: resources.serviceAccounts,
    singular: 'serviceaccount',
    shortNames: ['sa'],
    subresources: [],
  }),
  serviceKind,
  endpointsKind,
  persistentVolumeKind,
  persistentVolumeClaimKind,
  deploymentKind,
  replicaSetKind,
  statefulSetKind,
  daemonSetKind,
  controllerRevisionKind,
  jobKind,
  cronJobKind,
  endpointSliceKind,
  leaseKind,
  runtimeClassKind,
  priorityClassKind,
  storageClassKind,
  csiNodeKind,
  csiDriverKind,
  volumeAttachmentKind,
];

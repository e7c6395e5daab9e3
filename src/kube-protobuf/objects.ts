/** The messages of every object that nodelet's API takes in protobuf. Loaded when the first one comes: the tables are large. */
import { type KubeMessage, messagesOf, podTables } from './message.js';
import { coreFields } from './tables/core.js';
import { requestFields } from './tables/requests.js';
import { storageFields } from './tables/storage.js';
import { workloadFields } from './tables/workloads.js';

const tables = { ...podTables, ...workloadFields, ...coreFields, ...storageFields, ...requestFields };
const message = messagesOf(tables);

type ObjectMessageName = keyof typeof tables;

/** The kinds of each group and version; each has the message of its name. */
const kinds: Readonly<Record<string, readonly ObjectMessageName[]>> = {
  v1: [
    'Pod',
    'ConfigMap',
    'Secret',
    'Namespace',
    'Service',
    'Endpoints',
    'ServiceAccount',
    'Node',
    'Event',
    'PersistentVolume',
    'PersistentVolumeClaim',
    'Binding',
  ],
  'apps/v1': ['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'ControllerRevision'],
  'batch/v1': ['Job', 'CronJob'],
  'autoscaling/v1': ['Scale'],
  'policy/v1': ['Eviction'],
  'coordination.k8s.io/v1': ['Lease'],
  'discovery.k8s.io/v1': ['EndpointSlice'],
  'node.k8s.io/v1': ['RuntimeClass'],
  'scheduling.k8s.io/v1': ['PriorityClass'],
  'storage.k8s.io/v1': ['StorageClass', 'CSIDriver', 'CSINode', 'VolumeAttachment'],
  'authentication.k8s.io/v1': ['TokenRequest', 'TokenReview', 'SelfSubjectReview'],
  'authorization.k8s.io/v1': [
    'SelfSubjectAccessReview',
    'SelfSubjectRulesReview',
    'SubjectAccessReview',
    'LocalSubjectAccessReview',
  ],
};

/** Every kind with its group and version, for tests that go through all of them. */
export const objectKinds: readonly (readonly [apiVersion: string, kind: string])[] = [
  ...Object.entries(kinds).flatMap(([apiVersion, names]) =>
    names.map((kind): [string, string] => [apiVersion, kind]),
  ),
  ['v1', 'DeleteOptions'],
];

/** The message of a kind; undefined for one that is not in the tables. */
export function objectMessage(apiVersion: string, kind: string): KubeMessage<object> | undefined {
  // Clients send the options of a deletion with the group and version of what they delete.
  if (kind === 'DeleteOptions') return message('DeleteOptions');
  const names = Object.hasOwn(kinds, apiVersion) ? kinds[apiVersion] : undefined;
  const name = names?.find((one) => one === kind);
  return name === undefined ? undefined : message(name);
}

/** The tables of the other kinds. */
import type {
  ConfigMap,
  EndpointSlice,
  Event,
  Lease,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  PriorityClass,
  RuntimeClass,
  Secret,
  Service,
  StorageClass,
} from '../../kube/types/index.js';
import type { Namespace, ServiceAccount } from '../../kube-client/api-objects.js';
import { ageColumn, ageOf, count, kindTable, none, orNone, since, text, wide } from './columns.js';

export const nodeTable = kindTable<Node>({
  columns: [
    text('Status', 'Whether it is ready, and takes pods'),
    text('Roles', 'Its roles'),
    ageColumn,
    text('Version', 'Version of its kubelet'),
    wide(text('Internal-IP', 'Address inside the cluster')),
    wide(text('External-IP', 'Address outside')),
    wide(text('OS-Image', 'Its operating system')),
    wide(text('Kernel-Version', 'Its kernel')),
    wide(text('Container-Runtime', 'What runs its containers')),
  ],
  row: (node, nowMs) => {
    const { status } = node;
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    const states = [ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady'];
    if (node.spec?.unschedulable === true) states.push('SchedulingDisabled');
    const addressOf = (wanted: string): string =>
      status?.addresses?.find(({ type }) => type === wanted)?.address ?? none;
    return [
      states.join(','),
      orNone(rolesOf(node)),
      ageOf(node, nowMs),
      status?.nodeInfo?.kubeletVersion ?? '',
      addressOf('InternalIP'),
      addressOf('ExternalIP'),
      status?.nodeInfo?.osImage || '<unknown>',
      status?.nodeInfo?.kernelVersion || '<unknown>',
      status?.nodeInfo?.containerRuntimeVersion || '<unknown>',
    ];
  },
});

const rolePrefix = 'node-role.kubernetes.io/';

function rolesOf({ metadata: { labels = {} } }: Node): string[] {
  return Object.entries(labels)
    .flatMap(([key, value]) => {
      if (key.startsWith(rolePrefix)) return [key.slice(rolePrefix.length)];
      return key === 'kubernetes.io/role' && value !== '' ? [value] : [];
    })
    .filter((role) => role !== '')
    .sort();
}

export const namespaceTable = kindTable<Namespace>({
  columns: [text('Status', 'Whether it is in use or goes away'), ageColumn],
  row: (object, nowMs) => [
    object.metadata.deletionTimestamp === undefined ? (object.status?.phase ?? '') : 'Terminating',
    ageOf(object, nowMs),
  ],
});

export const configMapTable = kindTable<ConfigMap>({
  columns: [count('Data', 'Number of entries'), ageColumn],
  row: (object, nowMs) => [
    Object.keys(object.data ?? {}).length + Object.keys(object.binaryData ?? {}).length,
    ageOf(object, nowMs),
  ],
});

export const secretTable = kindTable<Secret>({
  columns: [text('Type', 'What it is for'), count('Data', 'Number of entries'), ageColumn],
  row: (object, nowMs) => [object.type ?? '', Object.keys(object.data ?? {}).length, ageOf(object, nowMs)],
});

export const serviceAccountTable = kindTable<ServiceAccount>({
  columns: [count('Secrets', 'Number of its secrets'), ageColumn],
  row: (object, nowMs) => [object.secrets?.length ?? 0, ageOf(object, nowMs)],
});

export const serviceTable = kindTable<Service>({
  columns: [
    text('Type', 'How it is reached'),
    text('Cluster-IP', 'Its address inside the cluster'),
    text('External-IP', 'Its addresses outside'),
    text('Port(s)', 'Its ports'),
    ageColumn,
    wide(text('Selector', 'Labels of its pods')),
  ],
  row: (object, nowMs) => {
    const {
      type = 'ClusterIP',
      clusterIP = '',
      externalIPs = [],
      externalName = '',
      ports = [],
    } = object.spec ?? {};
    const outside = type === 'ExternalName' ? [externalName] : externalIPs;
    const labels = Object.entries(object.spec?.selector ?? {}).map(([key, value]) => `${key}=${value}`);
    return [
      type,
      clusterIP || none,
      type === 'LoadBalancer' && outside.length === 0 ? '<pending>' : orNone(outside),
      orNone(
        ports.map(({ port, nodePort, protocol = 'TCP' }) =>
          nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
        ),
      ),
      ageOf(object, nowMs),
      orNone(labels.sort()),
    ];
  },
});

const shownEndpoints = 3;

export const endpointSliceTable = kindTable<EndpointSlice>({
  columns: [
    text('AddressType', 'Kind of its addresses'),
    text('Ports', 'Its ports'),
    text('Endpoints', 'Its addresses'),
    ageColumn,
  ],
  row: (object, nowMs) => {
    const ports = (object.ports ?? []).map(({ port }) => (port === undefined ? '*' : String(port)));
    const addresses = object.endpoints.flatMap((one) => one.addresses);
    return [
      object.addressType,
      ports.length === 0 ? '<unset>' : shortened(ports),
      addresses.length === 0 ? '<unset>' : shortened(addresses),
      ageOf(object, nowMs),
    ];
  },
});

function shortened(values: readonly string[]): string {
  const more = values.length - shownEndpoints;
  const shown = values.slice(0, shownEndpoints).join(',');
  return more > 0 ? `${shown} + ${more} more...` : shown;
}

export const eventTable = kindTable<Event>({
  columns: [
    text('Last Seen', 'Time since it last happened'),
    text('Type', 'Normal or Warning'),
    text('Reason', 'What happened, in a word'),
    text('Object', 'To what'),
    wide(text('Subobject', 'To which part of it')),
    wide(text('Source', 'Who tells')),
    text('Message', 'What happened'),
    wide(text('First Seen', 'Time since it first happened')),
    wide(text('Count', 'How often')),
    wide(text('Name', 'Name of the event')),
  ],
  row: (object, nowMs) => {
    const { involvedObject, source, series } = object;
    const last = series?.lastObservedTime ?? object.lastTimestamp ?? object.eventTime;
    const kind = (involvedObject.kind ?? '').toLowerCase();
    return [
      since(last, nowMs),
      object.type ?? '',
      object.reason ?? '',
      involvedObject.name ? `${kind}/${involvedObject.name}` : kind,
      involvedObject.fieldPath ?? '',
      [source?.component || object.reportingComponent, source?.host || object.reportingInstance]
        .filter((part) => part !== undefined && part !== '')
        .join(', '),
      (object.message ?? '').trim(),
      since(object.firstTimestamp ?? object.eventTime, nowMs),
      String(series?.count ?? object.count ?? 1),
      object.metadata.name ?? '',
    ];
  },
});

const modeLetters: ReadonlyMap<string, string> = new Map([
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
]);

function modesText(modes: readonly string[] = []): string {
  return modes.map((mode) => modeLetters.get(mode) ?? mode).join(',');
}

export const persistentVolumeTable = kindTable<PersistentVolume>({
  columns: [
    text('Capacity', 'Its size'),
    text('Access Modes', 'How it may be mounted'),
    text('Reclaim Policy', 'What becomes of it without its claim'),
    text('Status', 'Whether it is free, in use or left'),
    text('Claim', 'Whose it is'),
    text('StorageClass', 'Its class'),
    text('VolumeAttributesClass', 'Its class of attributes'),
    text('Reason', 'Why it is in this state'),
    ageColumn,
    wide(text('VolumeMode', 'File system or block device')),
  ],
  row: (object, nowMs) => {
    const { spec } = object;
    const { claimRef } = spec;
    const status = object.status as { phase?: string; reason?: string } | undefined;
    return [
      String(spec.capacity?.storage ?? ''),
      modesText(spec.accessModes),
      spec.persistentVolumeReclaimPolicy ?? '',
      object.metadata.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating',
      claimRef === undefined ? '' : `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`,
      spec.storageClassName ?? '',
      '<unset>',
      status?.reason ?? '',
      ageOf(object, nowMs),
      spec.volumeMode ?? '<unset>',
    ];
  },
});

export const persistentVolumeClaimTable = kindTable<PersistentVolumeClaim>({
  columns: [
    text('Status', 'Whether it has a volume'),
    text('Volume', 'Its volume'),
    text('Capacity', 'The size of that'),
    text('Access Modes', 'How it may be mounted'),
    text('StorageClass', 'Its class'),
    text('VolumeAttributesClass', 'Its class of attributes'),
    ageColumn,
    wide(text('VolumeMode', 'File system or block device')),
  ],
  row: (object, nowMs) => {
    const { spec, status } = object;
    const isBound = (spec.volumeName ?? '') !== '';
    return [
      object.metadata.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating',
      spec.volumeName ?? '',
      isBound ? String(status?.capacity?.storage ?? '') : '',
      isBound ? modesText(status?.accessModes) : '',
      spec.storageClassName ?? '',
      '<unset>',
      ageOf(object, nowMs),
      spec.volumeMode ?? '<unset>',
    ];
  },
});

export const storageClassTable = kindTable<StorageClass>({
  columns: [
    text('Provisioner', 'Who makes its volumes'),
    text('ReclaimPolicy', 'What becomes of them'),
    text('VolumeBindingMode', 'When a claim gets one'),
    text('AllowVolumeExpansion', 'Whether they can grow'),
    ageColumn,
  ],
  row: (object, nowMs) => [
    object.provisioner,
    object.reclaimPolicy ?? 'Delete',
    object.volumeBindingMode ?? 'Immediate',
    String(object.allowVolumeExpansion ?? false),
    ageOf(object, nowMs),
  ],
});

export const priorityClassTable = kindTable<PriorityClass>({
  columns: [
    count('Value', 'The priority'),
    text('Global-Default', 'Whether pods without a class have it'),
    ageColumn,
    text('PreemptionPolicy', 'Whether its pods make others leave'),
  ],
  row: (object, nowMs) => [
    object.value,
    String(object.globalDefault ?? false),
    ageOf(object, nowMs),
    object.preemptionPolicy ?? 'PreemptLowerPriority',
  ],
});

export const runtimeClassTable = kindTable<RuntimeClass>({
  columns: [text('Handler', 'The runtime behind it'), ageColumn],
  row: (object, nowMs) => [object.handler, ageOf(object, nowMs)],
});

export const leaseTable = kindTable<Lease>({
  columns: [text('Holder', 'Who holds it'), ageColumn],
  row: (object, nowMs) => [object.spec?.holderIdentity ?? '', ageOf(object, nowMs)],
});

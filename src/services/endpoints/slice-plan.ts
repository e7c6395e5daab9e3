/** Decides which endpoint slices of a Service are created, changed and deleted, and changes as few as it can. */
import { createHash } from 'node:crypto';
import type { Endpoint, EndpointPort, EndpointSlice, Pod, Service } from '../../kube/types/index.js';
import { semanticEqual } from '../../kube/values/deep-equal.js';
import type { UnpostedObject } from '../../kube-client/index.js';
import { servicesLimits } from '../limits.js';
import { addressTypesOf, type PodEndpoint, podEndpoints, type SliceAddressType } from './pod-endpoint.js';

export const serviceNameLabel = 'kubernetes.io/service-name';
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by';
/** The name that the control plane's controller uses, so that it takes the slices over when a machine joins a cluster. */
export const slicesManager = 'endpointslice-controller.k8s.io';
export const headlessLabel = 'service.kubernetes.io/headless';

export type SliceAction =
  | { readonly do: 'create'; readonly slice: UnpostedObject<EndpointSlice> }
  | { readonly do: 'update'; readonly slice: EndpointSlice }
  | { readonly do: 'delete'; readonly name: string };

/** The pods of one family that have the same ports: only they can share slices. */
interface SliceGroup {
  readonly addressType: SliceAddressType;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Endpoint[];
}

/** `slices` are those of the Service that this controller manages. */
export function planSlices(
  service: Service,
  pods: readonly Pod[],
  slices: readonly EndpointSlice[],
): readonly SliceAction[] {
  const present = new Map(slices.map((slice) => [slice.metadata.name ?? '', slice]));
  const wanted = isManaged(service) ? wantedSlices(service, pods, present) : [];
  const actions: SliceAction[] = [];
  for (const slice of wanted) {
    const name = slice.metadata.name ?? '';
    const before = present.get(name);
    present.delete(name);
    if (before === undefined) actions.push({ do: 'create', slice });
    else if (!isSame(before, slice)) actions.push({ do: 'update', slice: changed(before, slice) });
  }
  for (const name of present.keys()) actions.push({ do: 'delete', name });
  return actions;
}

/** Whether the slices of the Service are made from its selector. */
export function isManaged({ metadata, spec = {} }: Service): boolean {
  const isAlive = metadata.deletionTimestamp === undefined;
  return isAlive && spec.type !== 'ExternalName' && Object.keys(spec.selector ?? {}).length > 0;
}

function wantedSlices(
  service: Service,
  pods: readonly Pod[],
  present: ReadonlyMap<string, EndpointSlice>,
): UnpostedObject<EndpointSlice>[] {
  const groups = new Map<string, SliceGroup>();
  const groupOf = ({ addressType, ports }: Omit<PodEndpoint, 'endpoint'>): SliceGroup => {
    const key = JSON.stringify([addressType, ports]);
    const group = groups.get(key) ?? { addressType, ports, endpoints: [] };
    groups.set(key, group);
    return group;
  };
  const byName = pods.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const found of byName.flatMap((pod) => podEndpoints(service, pod)))
    groupOf(found).endpoints.push(found.endpoint);
  // A family without endpoints has one empty slice: readers see that somebody has looked.
  for (const addressType of addressTypesOf(service)) {
    if (![...groups.values()].some((group) => group.addressType === addressType))
      groupOf({ addressType, ports: [] });
  }
  return [...groups.values()].flatMap((group) => slicesOf(service, group, present));
}

/** Endpoints stay in the slice that they are in; new ones go where there is room. */
function slicesOf(
  service: Service,
  { addressType, ports, endpoints }: SliceGroup,
  present: ReadonlyMap<string, EndpointSlice>,
): UnpostedObject<EndpointSlice>[] {
  const count = Math.max(1, Math.ceil(endpoints.length / servicesLimits.endpointsPerSlice));
  const names = Array.from({ length: count }, (_, index) => sliceName(service, addressType, ports, index));
  const buckets = names.map((): Endpoint[] => []);
  const places = new Map(
    names.flatMap((name, index) =>
      (present.get(name)?.endpoints ?? []).map((one): [string, number] => [placeKey(one), index]),
    ),
  );
  const placed = (index: number, endpoint: Endpoint): boolean => {
    const bucket = buckets[index];
    if (bucket === undefined || bucket.length >= servicesLimits.endpointsPerSlice) return false;
    bucket.push(endpoint);
    return true;
  };
  const rest = endpoints.filter((endpoint) => !placed(places.get(placeKey(endpoint)) ?? -1, endpoint));
  for (const endpoint of rest) for (const index of names.keys()) if (placed(index, endpoint)) break;
  return names.map((name, index) => ({
    addressType,
    // In one order, whichever way they came here, so that nothing is written for the order alone.
    endpoints: (buckets[index] ?? []).toSorted((a, b) => (placeName(a) < placeName(b) ? -1 : 1)),
    ports: [...ports],
    metadata: metadataOf(service, name),
  }));
}

function metadataOf(service: Service, name: string): EndpointSlice['metadata'] {
  const { namespace = '', name: serviceName = '', uid = '', labels = {} } = service.metadata;
  return {
    name,
    namespace,
    labels: {
      ...labels,
      ...(service.spec?.clusterIP === 'None' ? { [headlessLabel]: '' } : {}),
      [serviceNameLabel]: serviceName,
      [managedByLabel]: slicesManager,
    },
    ownerReferences: [
      {
        apiVersion: 'v1',
        kind: 'Service',
        name: serviceName,
        uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  };
}

/**
 * The same slice has the same name each time, so a controller that does not see its own write yet makes no second
 * one: the server refuses it.
 */
function sliceName(
  { metadata }: Service,
  addressType: SliceAddressType,
  ports: readonly EndpointPort[],
  index: number,
): string {
  const key = JSON.stringify([metadata.uid, addressType, ports, index]);
  return `${metadata.name}-${createHash('sha256').update(key).digest('hex').slice(0, 10)}`;
}

function placeKey({ targetRef, addresses }: Endpoint): string {
  return `${targetRef?.uid} ${addresses[0]}`;
}

function placeName({ targetRef, addresses }: Endpoint): string {
  return `${targetRef?.name} ${addresses[0]}`;
}

function isSame(before: EndpointSlice, wanted: UnpostedObject<EndpointSlice>): boolean {
  return semanticEqual(
    { e: before.endpoints, p: before.ports ?? [], l: before.metadata.labels },
    { e: wanted.endpoints, p: wanted.ports ?? [], l: wanted.metadata.labels },
  );
}

function changed(before: EndpointSlice, wanted: UnpostedObject<EndpointSlice>): EndpointSlice {
  return { ...before, ...wanted, metadata: { ...before.metadata, ...wanted.metadata } };
}

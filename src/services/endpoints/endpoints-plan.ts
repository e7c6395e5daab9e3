/** Decides on the Endpoints object of a Service, which older programs read instead of its slices. */
import type { EndpointAddress, EndpointSubset, Endpoints, Pod, Service } from '../../kube/types/index.js';
import { semanticEqual } from '../../kube/values/deep-equal.js';
import type { UnpostedObject } from '../../kube-client/index.js';
import { servicesLimits } from '../limits.js';
import { addressTypesOf, podEndpoints } from './pod-endpoint.js';
import { headlessLabel, isManaged } from './slice-plan.js';

/** Set on an object that has only a part of the addresses, as Kubernetes does. */
export const overCapacityAnnotation = 'endpoints.kubernetes.io/over-capacity';
const managedByEndpoints = 'endpoints.kubernetes.io/managed-by';
const endpointsManager = 'endpoint-controller';

export type EndpointsAction =
  | { readonly do: 'nothing' }
  | { readonly do: 'create'; readonly endpoints: UnpostedObject<Endpoints> }
  | { readonly do: 'update'; readonly endpoints: Endpoints }
  | { readonly do: 'delete'; readonly name: string };

/** `service` is undefined when it is gone. The object of a Service without a selector is somebody else's. */
export function planEndpoints(
  service: Service | undefined,
  pods: readonly Pod[],
  present: Endpoints | undefined,
): EndpointsAction {
  const isOurs = present?.metadata.labels?.[managedByEndpoints] === endpointsManager;
  if (service === undefined || !isManaged(service)) {
    const remains = service !== undefined && service.metadata.deletionTimestamp === undefined;
    return present === undefined || remains || !isOurs
      ? { do: 'nothing' }
      : { do: 'delete', name: present.metadata.name ?? '' };
  }
  const wanted = wantedEndpoints(service, pods);
  if (present === undefined) return { do: 'create', endpoints: wanted };
  const isSame =
    semanticEqual(present.subsets ?? [], wanted.subsets ?? []) &&
    semanticEqual(present.metadata.labels ?? {}, wanted.metadata.labels ?? {}) &&
    present.metadata.annotations?.[overCapacityAnnotation] ===
      wanted.metadata.annotations?.[overCapacityAnnotation];
  if (isSame) return { do: 'nothing' };
  const { [overCapacityAnnotation]: _, ...annotations } = present.metadata.annotations ?? {};
  const metadata = {
    ...present.metadata,
    ...wanted.metadata,
    annotations: { ...annotations, ...wanted.metadata.annotations },
  };
  return { do: 'update', endpoints: { ...present, ...wanted, metadata } };
}

function wantedEndpoints(service: Service, pods: readonly Pod[]): UnpostedObject<Endpoints> {
  const [family] = addressTypesOf(service);
  const subsets = new Map<string, Required<EndpointSubset>>();
  let count = 0;
  const byName = pods.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const { addressType, ports, endpoint } of byName.flatMap((pod) => podEndpoints(service, pod))) {
    // The object knows the first family only, and no pods on their way out.
    const { ready = false, terminating = false } = endpoint.conditions ?? {};
    if (addressType !== family || (terminating && !ready)) continue;
    if (++count > servicesLimits.endpointsPerObject) break;
    const key = JSON.stringify(ports);
    const known = ports.flatMap((one) => (one.port === undefined ? [] : [{ ...one, port: one.port }]));
    const subset = subsets.get(key) ?? { addresses: [], notReadyAddresses: [], ports: known };
    subsets.set(key, subset);
    const { addresses, conditions: __, zone: ___, ...rest } = endpoint;
    const address: EndpointAddress = { ip: addresses[0] ?? '', ...rest };
    (ready ? subset.addresses : subset.notReadyAddresses).push(address);
  }
  const { name = '', namespace = '', labels = {} } = service.metadata;
  return {
    metadata: {
      name,
      namespace,
      labels: {
        ...labels,
        ...(service.spec?.clusterIP === 'None' ? { [headlessLabel]: '' } : {}),
        [managedByEndpoints]: endpointsManager,
      },
      ...(count > servicesLimits.endpointsPerObject
        ? { annotations: { [overCapacityAnnotation]: 'truncated' } }
        : {}),
    },
    subsets: [...subsets.values()].map(({ addresses, notReadyAddresses, ports }) => ({
      ...(addresses.length > 0 ? { addresses } : {}),
      ...(notReadyAddresses.length > 0 ? { notReadyAddresses } : {}),
      ...(ports.length > 0 ? { ports } : {}),
    })),
  };
}

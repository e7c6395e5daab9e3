/** What stands behind Services: endpoint slices, and the older Endpoints. */
import { FieldErrors, LazyFieldPath } from '../../../kube/manifests/validation/field-errors.js';
import { ipAddress } from '../../../kube/manifests/validation/names.js';
import type { EndpointSlice, Endpoints } from '../../../kube/types/index.js';
import { resources } from '../../../kube-client/resources.js';
import { served } from '../served-kind.js';
import { validatePortNumber } from './service-validation.js';

const mostEndpoints = 1000;
const mostAddresses = 100;
const protocols = ['SCTP', 'TCP', 'UDP'];

export const endpointSliceKind = served<EndpointSlice>({
  resource: resources.endpointSlices,
  singular: 'endpointslice',
  subresources: [],
  countsGenerations: true,
  defaults: (slice) => {
    slice.endpoints ??= [];
    for (const port of slice.ports ?? []) {
      port.name ??= '';
      port.protocol ??= 'TCP';
    }
  },
  validate: ({ addressType, endpoints, ports = [] }) => {
    const errors = new FieldErrors();
    errors.requiredOneOf(LazyFieldPath.root('addressType'), addressType, ['FQDN', 'IPv4', 'IPv6']);
    const field = LazyFieldPath.root('endpoints');
    const list = endpoints ?? [];
    if (list.length > mostEndpoints) errors.tooMany(field, list.length, mostEndpoints);
    for (const [index, { addresses }] of list.slice(0, mostEndpoints).entries()) {
      const at = field.child(index).child('addresses');
      if (addresses.length === 0) errors.required(at, 'must contain at least 1 address');
      if (addresses.length > mostAddresses) errors.tooMany(at, addresses.length, mostAddresses);
      for (const [position, address] of addresses.slice(0, mostAddresses).entries()) {
        if (addressType !== 'FQDN') errors.check(at.child(position), address, ipAddress);
      }
    }
    for (const [index, { protocol, port }] of ports.entries()) {
      const at = LazyFieldPath.root('ports').child(index);
      errors.oneOf(at.child('protocol'), protocol, protocols);
      if (port !== undefined) validatePortNumber(port, at.child('port'), errors);
    }
    return errors.list;
  },
  validateUpdate: (next, current) => {
    const errors = new FieldErrors();
    if (next.addressType !== current.addressType)
      errors.invalid(LazyFieldPath.root('addressType'), next.addressType, 'field is immutable');
    return errors.list;
  },
});

export const endpointsKind = served<Endpoints>({
  resource: resources.endpoints,
  singular: 'endpoints',
  shortNames: ['ep'],
  subresources: [],
  defaults: ({ subsets = [] }) => {
    for (const { ports = [] } of subsets) for (const port of ports) port.protocol ||= 'TCP';
  },
  validate: ({ subsets = [] }) => {
    const errors = new FieldErrors();
    for (const [index, { addresses = [], notReadyAddresses = [], ports = [] }] of subsets.entries()) {
      const at = LazyFieldPath.root('subsets').child(index);
      if (addresses.length + notReadyAddresses.length === 0)
        errors.required(at, 'must specify `addresses` or `notReadyAddresses`');
      for (const [position, { ip }] of addresses.entries())
        errors.check(at.child('addresses').child(position).child('ip'), ip, ipAddress);
      for (const [position, { port, protocol }] of ports.entries()) {
        const here = at.child('ports').child(position);
        validatePortNumber(port, here.child('port'), errors);
        errors.oneOf(here.child('protocol'), protocol, protocols);
      }
    }
    return errors.list;
  },
});

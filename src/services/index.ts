/** Services inside one node: their addresses, the endpoints behind them, their names, and the proxy that balances. */
export {
  type AddressAssignment,
  type AddressProblem,
  type AssignedAddresses,
  defaultClusterCidr,
  dnsService,
  kubernetesService,
  nodePortRange,
  ServiceAddresses,
} from './addresses/service-addresses.js';

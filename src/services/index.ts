/** Services inside one node: their addresses, the endpoints behind them, their names, and the proxy that balances. */
export { type Ipv4Range, ipv4Number, ipv4Text, isInRange, parseIpv4Range } from './addresses/ipv4-range.js';
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
export { createServices, type NodeServices, type ServicesOptions } from './create-services.js';
export { DnsServer, type DnsServerOptions } from './dns/dns-server.js';
export { Forwarder, type ForwarderOptions } from './dns/forwarder.js';
export { upstreamsOf } from './dns/resolv-conf.js';
export { DnsResponder, type DnsResponderOptions } from './dns/responder.js';
export { Zone, type ZoneObjects, type ZoneSettings } from './dns/zone.js';
export { EndpointsController, type EndpointsControllerOptions } from './endpoints/endpoints-controller.js';
export { managedByLabel, serviceNameLabel, slicesManager } from './endpoints/slice-plan.js';
export {
  LocalRoute,
  type LocalRouteOptions,
  type RunRouteCommand,
  routeCommands,
} from './proxy/local-route.js';
export { ServiceProxy, type ServiceProxyOptions } from './proxy/proxy.js';
export { WatchedObjects, type WatchedObjectsOptions } from './watched-objects.js';

/** The entries about Services inside the node: their endpoints, addresses, names and the proxy. */

export interface ServiceEntries {
  /** The endpoints of a Service could not be written, or can be again. */
  'services.endpoints': { service: string };
  /** The API server does not tell of Services, pods or endpoints, or does again. */
  'services.watch': { resource: string };
}

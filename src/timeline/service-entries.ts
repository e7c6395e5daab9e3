/** The entries about Services inside the node: their endpoints, addresses, names and the proxy. */

import type { NoData } from './entry-data.js';

export interface ServiceEntries {
  /** The endpoints of a Service could not be written, or can be again. */
  'services.endpoints': { service: string };
  /** The API server does not tell of Services, pods or endpoints, or does again. */
  'services.watch': { resource: string };
  /** The cluster addresses are addresses of the machine, or cannot be. */
  'services.route': NoData;
  /** The proxy listens at an address of a Service, or does not. */
  'services.listener': { service: string; address: string; port: number; protocol: string };
  /** Ports of Services have a protocol that is not served. */
  'services.protocol': NoData;
  /** Names of Services are served, or cannot be. */
  'services.dns': NoData;
  /** A defect in a task of the Services. */
  'services.task': NoData;
}

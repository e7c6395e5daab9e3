/** The page of a node: a server on loopback between a browser and the node's API. */
export type { NodeEndpoint, NodeTarget } from './contracts.js';
export { type PageServer, type PageServerOptions, startPageServer } from './page-server.js';

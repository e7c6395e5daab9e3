/** The server for commands of the same user. */

export type { PodWatchEvent } from '../watch.js';
export type { LocalInfo, LocalServerOptions, StopPodsRequest } from './contracts.js';
export { type ServeSocketOptions, type SocketRoute, serveSocket } from './serve-socket.js';
export { type LocalKubelet, startLocalServer } from './server.js';
export { SocketInUse } from './socket.js';

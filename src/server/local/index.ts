/** The server for commands of the same user. */
export type { LocalInfo, LocalServerOptions, StopRequest } from './contracts.js';
export { type LocalKubelet, startLocalServer } from './server.js';
export { SocketInUse } from './socket.js';
export type { WatchEvent } from './watch.js';

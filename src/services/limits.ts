/** The bounds of what Services, their clients and the servers of names can make grow. */

export const servicesLimits = {
  endpointsPerSlice: 100,
  endpointsPerObject: 1000,
  frontends: 4096,
  connections: 8192,
  connectionsPerClient: 4096,
  connectionBufferBytes: 65_536,
  listenBacklog: 1024,
  connectMs: 3000,
  connectTries: 5,
  keepAliveMs: 60_000,
  idleConnectionMs: 86_400_000,
  affinityClients: 4096,
  udpSessions: 4096,
  udpSessionsPerAddress: 1024,
  idleUdpSessionMs: 60_000,
  waitingDatagrams: 16,
  udpQueueBytes: 1_048_576,
} as const;

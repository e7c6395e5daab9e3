/** The real network behind the ProbeNetwork port. */
import { performance } from 'node:perf_hooks';
import { httpGet } from '../http-get/index.js';
import type { ProbeNetwork } from './contracts.js';
import { grpcHealth } from './grpc.js';
import { tcpConnect } from './tcp.js';

export const systemNetwork: ProbeNetwork = {
  http: httpGet,
  tcp: tcpConnect,
  grpc: grpcHealth,
  busyMs: () => performance.eventLoopUtilization().active,
};

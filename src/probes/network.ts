/** The network as it is. */
import type { ProbeNetwork } from './contracts.js';
import { grpcHealth } from './grpc.js';
import { httpGet } from './http.js';
import { tcpConnect } from './tcp.js';

export const systemNetwork: ProbeNetwork = { http: httpGet, tcp: tcpConnect, grpc: grpcHealth };

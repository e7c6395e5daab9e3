/** Reaches drivers of the machine by gRPC. */
import { GrpcConnection } from '../../grpc/index.js';
import type { OpenDriver } from './contracts.js';

export const openGrpcDriver: OpenDriver = (endpoint, events) => new GrpcConnection(endpoint, {}, events);

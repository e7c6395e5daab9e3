/** Serves a `CriRuntime` on a unix socket, so that other processes can use a runtime of this process. */
import { type GrpcServer, type ServeGrpcOptions, serveGrpc } from '../grpc/index.js';
import { ImageService, RuntimeService } from './gen/cri.js';
import type { CriRuntime } from './runtime.js';

export type ServeCriOptions = ServeGrpcOptions;
export type CriServer = GrpcServer;

/** Resolves when the socket accepts connections. Replaces a stale socket at the path. */
export function serveCri(runtime: CriRuntime, options: ServeCriOptions): Promise<CriServer> {
  const services = [RuntimeService, ImageService].map((methods) => ({ methods, implementation: runtime }));
  return serveGrpc(services, options);
}

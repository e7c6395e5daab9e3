/** Serves any `CriRuntime` on a unix socket, so that runtimes inside the process can be used from outside. */
import { type GrpcServer, type ServeGrpcOptions, serveGrpc } from '../grpc/index.js';
import { ImageService, RuntimeService } from './gen/cri.js';
import type { CriRuntime } from './runtime.js';

export type ServeCriOptions = ServeGrpcOptions;
export type CriServer = GrpcServer;

/** Resolves when the socket accepts connections. A socket left behind at the path is replaced. */
export function serveCri(runtime: CriRuntime, options: ServeCriOptions): Promise<CriServer> {
  const services = [RuntimeService, ImageService].map((methods) => ({ methods, implementation: runtime }));
  return serveGrpc(services, options);
}

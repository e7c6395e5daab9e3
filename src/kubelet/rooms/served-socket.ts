/** A local gRPC API: services on a socket below the kubelet's root directory, while the kubelet runs. */
import { errorText } from '../../async/index.js';
import { type GrpcServer, type GrpcService, serveGrpc } from '../../grpc/index.js';
import type { Timeline } from '../../timeline/index.js';

export interface ServedSocket {
  /** Never rejects: a node runs without its monitoring, and says so. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface ServedSocketOptions {
  readonly timeline: Timeline;
  /** As in "The pods API". */
  readonly name: string;
  readonly socketPath: string;
  readonly services: readonly GrpcService[];
  /** How long clients of calls that end when the socket closes have to read the last of them. Default: none. */
  readonly closeGraceMs?: number;
  readonly beforeClose?: () => void;
}

/** The longest path that a socket can have. */
const longestPathBytes = 107;

export function servedSocket(options: ServedSocketOptions): ServedSocket {
  const { timeline, name, socketPath, services, closeGraceMs } = options;
  let server: GrpcServer | undefined;
  return {
    async start() {
      try {
        if (Buffer.byteLength(socketPath) > longestPathBytes)
          throw new Error(`a socket's path has at most ${longestPathBytes} bytes`);
        server = await serveGrpc(services, {
          socketPath,
          directoryMode: 0o750,
          ...(closeGraceMs === undefined ? {} : { closeGraceMs }),
        });
      } catch (error) {
        const message = `${name} cannot be served at ${socketPath}: ${errorText(error)}`;
        timeline.record({ kind: 'problem', what: 'node.socket', level: 'warn', message, error });
      }
    },
    async stop() {
      options.beforeClose?.();
      await server?.close();
    },
  };
}

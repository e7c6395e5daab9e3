/** A local gRPC API: services on a socket below the kubelet's root directory, while the kubelet runs. */
import { errorText } from '../../async/index.js';
import { type GrpcServer, type GrpcService, serveGrpc } from '../../grpc/index.js';
import type { Timeline } from '../../timeline/index.js';

export interface ServedSocket {
  /** Never rejects: a node runs without its monitoring, and says so. Does nothing after `stop`. */
  start(): Promise<void>;
  /** For good: a kubelet that is told to stop early may still be on its way to `start`. */
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
  /** Default: on this machine. */
  readonly serve?: typeof serveGrpc;
}

/** The longest path that a socket can have. */
const longestPathBytes = 107;

export function servedSocket(options: ServedSocketOptions): ServedSocket {
  const { timeline, name, socketPath, services, closeGraceMs, serve = serveGrpc } = options;
  let opened: Promise<GrpcServer> | undefined;
  let isStopped = false;
  return {
    async start() {
      if (isStopped) return;
      try {
        if (Buffer.byteLength(socketPath) > longestPathBytes)
          throw new Error(`a socket's path has at most ${longestPathBytes} bytes`);
        opened = serve(services, {
          socketPath,
          directoryMode: 0o750,
          ...(closeGraceMs === undefined ? {} : { closeGraceMs }),
        });
        await opened;
      } catch (error) {
        const message = `${name} cannot be served at ${socketPath}: ${errorText(error)}`;
        timeline.record({ kind: 'problem', what: 'node.socket', level: 'warn', message, error });
      }
    },
    async stop() {
      isStopped = true;
      options.beforeClose?.();
      // `start` tells why it could not be opened.
      const server = await opened?.catch(() => undefined);
      await server?.close();
    },
  };
}

/**
 * Exec and attach for WebSocket clients of the newest protocol: their channels become streams of a SPDY
 * connection to the runtime.
 */
import type { Clock } from '../../async/index.js';
import { asError, errorText, isCancelled } from '../../async/index.js';
import { switchProtocols } from '../../streaming/http-responses.js';
import { type CommandStreams, remoteCommand, type WantedStreams } from '../../streaming/index.js';
import { streamingLimits } from '../../streaming/limits.js';
import { serveWebSocketCommand } from '../../streaming/websocket-command.js';
import type { RouteResponse } from '../responses.js';
import type { ServerRequest } from '../routes.js';
import { closingProtocol } from './stream-query.js';
import { takenOver } from './upgrade-proxy.js';
import { acceptWebSocket } from './websocket-accept.js';

export interface TranslatedCommand {
  /** The command's URL on the runtime's streaming server. */
  readonly url: string;
  readonly kind: 'exec' | 'attach';
  readonly streams: WantedStreams;
  readonly request: ServerRequest;
  readonly clock: Clock;
}

export function translateCommand({ url, kind, streams, request, clock }: TranslatedCommand): RouteResponse {
  const handshake = acceptWebSocket(request, 'command', closingProtocol);
  if (handshake.kind === 'refused') return handshake.response;
  const target = url.includes('://') ? url : `http://${url}`;
  return takenOver(async (client, head) => {
    switchProtocols(client, handshake.headers);
    const { done } = serveWebSocketCommand({
      // The URL identifies the container and the command.
      command: {
        kind,
        wanted: streams,
        play: (pipes, signal) => playOnRuntime(target, kind, streams.tty, pipes, signal),
      },
      protocol: handshake.protocol,
      connection: { socket: client, head, clock, idleTimeoutMs: streamingLimits.idleMs },
    });
    await done;
  });
}

async function playOnRuntime(
  url: string,
  kind: TranslatedCommand['kind'],
  tty: boolean,
  pipes: CommandStreams,
  signal: AbortSignal,
): Promise<number> {
  try {
    const { exitCode } = await remoteCommand({ target: { url }, ...pipes, tty, signal });
    return exitCode;
  } catch (error) {
    throw isCancelled(error)
      ? asError(error)
      : new Error(withoutWrapping(errorText(error), kind), { cause: error });
  }
}

/**
 * Strips the prefix that the streaming server of Kubernetes (kubelet 1.36), which containerd and CRI-O share, puts before
 * the runtime's message: our own server adds it again.
 */
export function withoutWrapping(message: string, kind: 'exec' | 'attach'): string {
  const what = kind === 'exec' ? 'error executing command in container' : 'error attaching to container';
  const prefix = `Internal error occurred: ${what}: `;
  return message.startsWith(prefix) ? message.slice(prefix.length) : message;
}

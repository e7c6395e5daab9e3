/**
 * Exec and attach for WebSocket clients of the newest protocol: their channels become streams of a SPDY
 * connection to the runtime.
 */
import type { Clock } from '../../async/index.js';
import { asError, errorText, isCancelled } from '../../async/index.js';
import { switchProtocols } from '../../streaming/http-answers.js';
import {
  type AttachStreamRequest,
  type CommandStreams as CommandPipes,
  type ExecStreamRequest,
  remoteCommand,
  type StreamingBackend,
  type WantedStreams,
} from '../../streaming/index.js';
import { streamingLimits } from '../../streaming/limits.js';
import { serveWebSocketCommand } from '../../streaming/websocket-command.js';
import type { RouteResponse } from '../answers.js';
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
  if (handshake.kind === 'refused') return handshake.answer;
  const target = url.includes('://') ? url : `http://${url}`;
  return takenOver(async (client, head) => {
    if ('setNoDelay' in client && typeof client.setNoDelay === 'function') client.setNoDelay(true);
    switchProtocols(client, handshake.headers);
    const { done } = serveWebSocketCommand({
      backend: runtimeBackend(target),
      // The URL already identifies the container and command.
      request:
        kind === 'exec'
          ? { kind, containerId: '', command: [], ...streams }
          : { kind, containerId: '', ...streams },
      protocol: handshake.protocol,
      connection: { socket: client, head, clock, idleTimeoutMs: streamingLimits.idleMs },
    });
    await done;
  });
}

function runtimeBackend(url: string): StreamingBackend {
  const run = async (
    { tty, kind }: ExecStreamRequest | AttachStreamRequest,
    { stdin, stdout, stderr, resize }: CommandPipes,
    signal: AbortSignal,
  ): Promise<number> => {
    try {
      const { exitCode } = await remoteCommand({
        target: { url },
        stdin,
        stdout,
        stderr,
        tty,
        resize,
        signal,
      });
      return exitCode;
    } catch (error) {
      throw isCancelled(error)
        ? asError(error)
        : new Error(withoutWrapping(errorText(error), kind), { cause: error });
    }
  };
  return {
    exec: run,
    attach: async (request, streams, signal) => {
      await run(request, streams, signal);
    },
    portForward: () => Promise.reject(new Error('a command forwards no port')),
  };
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

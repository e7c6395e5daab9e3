/** The server's side of exec and attach over WebSocket: the channels of a connection as a command's streams. */
import { type CommandRequest, runCommand } from './command-session.js';
import type { StreamingBackend } from './contracts.js';
import type { WebSocketProtocol } from './protocols.js';
import { terminalSizes } from './terminal-sizes.js';
import { WebSocketChannels, type WebSocketChannelsOptions } from './websocket/channels.js';
import type { WebSocketConnection } from './websocket/connection.js';

const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

export interface WebSocketCommandOptions {
  readonly backend: StreamingBackend;
  readonly request: CommandRequest;
  readonly protocol: WebSocketProtocol;
  readonly connection: Pick<WebSocketChannelsOptions, 'socket' | 'head' | 'clock' | 'idleTimeoutMs'>;
}

export function serveWebSocketCommand(options: WebSocketCommandOptions): {
  readonly connection: WebSocketConnection;
  readonly done: Promise<void>;
} {
  const { backend, request, protocol } = options;
  const stderr = request.stderr && !request.tty;
  const channels = new WebSocketChannels({
    ...options.connection,
    protocol,
    channels: new Map<number, boolean>([
      [channel.stdin, request.stdin],
      [channel.stdout, false],
      [channel.stderr, false],
      [channel.error, false],
      [channel.resize, request.tty],
    ]),
  });
  const { connection } = channels;
  const serve = async (): Promise<void> => {
    // Tells the client that the server is there, on the lowest channel that it listens to.
    await channels.send(
      request.stdout ? channel.stdout : stderr ? channel.stderr : channel.error,
      Buffer.alloc(0),
    );
    await runCommand(backend, request, {
      streams: {
        ...(request.stdin && { stdin: channels.channel(channel.stdin) }),
        ...(request.stdout && { stdout: channels.channel(channel.stdout) }),
        ...(stderr && { stderr: channels.channel(channel.stderr) }),
        resize: terminalSizes(request.tty ? channels.channel(channel.resize) : undefined),
      },
      error: channels.channel(channel.error),
      jsonStatus: protocol.jsonStatus,
      closed: connection.closed,
      close: () => connection.close(),
    });
  };
  return { connection, done: serve() };
}

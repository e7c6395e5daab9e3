/** The server side of exec and attach over WebSocket: the channels of a connection are the streams of a command. */
import { type PlayedCommand, runCommand } from './command-session.js';
import type { WebSocketProtocol } from './protocols.js';
import { terminalSizes } from './terminal-sizes.js';
import { WebSocketChannels, type WebSocketChannelsOptions } from './websocket/channels.js';
import type { WebSocketConnection } from './websocket/connection.js';

const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

export interface WebSocketCommandOptions {
  readonly command: PlayedCommand;
  readonly protocol: WebSocketProtocol;
  readonly connection: Pick<WebSocketChannelsOptions, 'socket' | 'head' | 'clock' | 'idleTimeoutMs'>;
}

export function serveWebSocketCommand(options: WebSocketCommandOptions): {
  readonly connection: WebSocketConnection;
  readonly done: Promise<void>;
} {
  const { command, protocol } = options;
  const { wanted } = command;
  const stderr = wanted.stderr && !wanted.tty;
  const channels = new WebSocketChannels({
    ...options.connection,
    protocol,
    channels: new Map<number, boolean>([
      [channel.stdin, wanted.stdin],
      [channel.stdout, false],
      [channel.stderr, false],
      [channel.error, false],
      [channel.resize, wanted.tty],
    ]),
  });
  const { connection } = channels;
  const serve = async (): Promise<void> => {
    // An empty message tells the client that the server is ready, on the lowest channel that the client reads.
    await channels.send(
      wanted.stdout ? channel.stdout : stderr ? channel.stderr : channel.error,
      Buffer.alloc(0),
    );
    await runCommand(command, {
      streams: {
        ...(wanted.stdin && { stdin: channels.channel(channel.stdin) }),
        ...(wanted.stdout && { stdout: channels.channel(channel.stdout) }),
        ...(stderr && { stderr: channels.channel(channel.stderr) }),
        resize: terminalSizes(wanted.tty ? channels.channel(channel.resize) : undefined),
      },
      error: channels.channel(channel.error),
      jsonStatus: protocol.jsonStatus,
      closed: connection.closed,
      close: () => connection.close(),
    });
  };
  return { connection, done: serve() };
}

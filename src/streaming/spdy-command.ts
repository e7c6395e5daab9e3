/** The server side of exec and attach over SPDY: waits for the client's streams and runs the command on them. */
import { type Clock, TimedOut, withTimeout } from '../async/index.js';
import { type CommandSession, type PlayedCommand, runCommand } from './command-session.js';
import type { WantedStreams } from './contracts.js';
import type { CommandVersion } from './protocols.js';
import { SpdyConnection, type SpdyConnectionOptions } from './spdy/connection.js';
import type { SpdyStream } from './spdy/stream.js';
import { terminalSizes } from './terminal-sizes.js';

export interface SpdyCommandOptions {
  readonly command: PlayedCommand;
  readonly version: CommandVersion;
  readonly connection: Pick<SpdyConnectionOptions, 'socket' | 'head' | 'clock' | 'idleTimeoutMs'>;
  readonly creationTimeoutMs: number;
  readonly clock: Clock;
}

/** The types of the streams that the client must open. */
export function expectedStreams(wanted: WantedStreams, version: CommandVersion): ReadonlySet<string> {
  const expected = new Set(['error']);
  if (wanted.stdin) expected.add('stdin');
  if (wanted.stdout) expected.add('stdout');
  if (wanted.stderr && !wanted.tty) expected.add('stderr');
  if (wanted.tty && version >= 3) expected.add('resize');
  return expected;
}

export function serveSpdyCommand(options: SpdyCommandOptions): {
  readonly connection: SpdyConnection;
  readonly done: Promise<void>;
} {
  const { command, version, clock, creationTimeoutMs } = options;
  const expected = expectedStreams(command.wanted, version);
  const opened = new Map<string, SpdyStream>();
  let complete: () => void = () => {};
  const allOpened = new Promise<void>((resolve) => {
    complete = resolve;
  });
  const connection = new SpdyConnection({
    ...options.connection,
    role: 'server',
    onStream: (stream) => {
      const type = stream.headers.get('streamtype') ?? '';
      if (!expected.has(type) || opened.has(type)) {
        stream.refuse();
        return;
      }
      stream.accept();
      opened.set(type, stream);
      // Only stdin and resize are read. Unread data on other streams must not block the connection.
      if (type !== 'stdin' && type !== 'resize') stream.resume();
      if (opened.size === expected.size) complete();
    },
  });
  const serve = async (): Promise<void> => {
    try {
      await withTimeout(clock, creationTimeoutMs, undefined, () =>
        Promise.race([allOpened, connection.closed]),
      );
    } catch (error) {
      // The connection is closed without a message, as there may be no error stream for it.
      if (!(error instanceof TimedOut)) throw error;
    }
    const error = opened.get('error');
    if (error === undefined || opened.size < expected.size) return connection.close();
    await runCommand(command, sessionOf(connection, opened, error, version));
  };
  return { connection, done: serve() };
}

function sessionOf(
  connection: SpdyConnection,
  opened: ReadonlyMap<string, SpdyStream>,
  error: SpdyStream,
  version: CommandVersion,
): CommandSession {
  const stdin = opened.get('stdin');
  const stdout = opened.get('stdout');
  const stderr = opened.get('stderr');
  return {
    streams: {
      ...(stdin && { stdin }),
      ...(stdout && { stdout }),
      ...(stderr && { stderr }),
      resize: terminalSizes(opened.get('resize')),
    },
    error,
    jsonStatus: version === 4,
    closed: connection.closed,
    close: () => connection.close(),
  };
}

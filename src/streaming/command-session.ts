/** Runs an exec or attach for any transport and sends its status. */
import { finished, type Writable } from 'node:stream';
import type {
  AttachStreamRequest,
  CommandStreams,
  ExecStreamRequest,
  StreamingBackend,
  WantedStreams,
} from './contracts.js';
import { type CommandEnd, statusJson, statusText } from './status.js';

/** A command for the transports: its streams, and the function that runs it on them. */
export type PlayedCommand = { readonly wanted: WantedStreams } & (
  | { readonly kind: 'exec'; readonly play: PlayCommand<number> }
  | { readonly kind: 'attach'; readonly play: PlayCommand<unknown> }
);

/** Resolves with the exit code of an exec, or at the end of an attach. */
type PlayCommand<Result> = (streams: CommandStreams, signal: AbortSignal) => Promise<Result>;

export function commandOf(
  backend: StreamingBackend,
  request: ExecStreamRequest | AttachStreamRequest,
): PlayedCommand {
  return request.kind === 'exec'
    ? {
        kind: request.kind,
        wanted: request,
        play: (streams, signal) => backend.exec(request, streams, signal),
      }
    : {
        kind: request.kind,
        wanted: request,
        play: (streams, signal) => backend.attach(request, streams, signal),
      };
}

/** One client that has opened all its streams. */
export interface CommandSession {
  readonly streams: CommandStreams;
  /** The stream for the status. */
  readonly error: Writable;
  readonly jsonStatus: boolean;
  /** Resolves when the client has disconnected. */
  readonly closed: Promise<void>;
  /** Closes the connection in order. */
  close(): Promise<void>;
}

/** Resolves when the session has ended. */
export async function runCommand(command: PlayedCommand, session: CommandSession): Promise<void> {
  const gone = new AbortController();
  void session.closed.then(() => gone.abort(new Error('the client is gone')));
  const { streams, error } = session;
  for (const stream of [streams.stdin, streams.stdout, streams.stderr, error]) {
    // The signal reports a lost client; the errors of single streams add nothing.
    stream?.on('error', () => {});
  }
  const end = await run(command, streams, gone.signal);
  await Promise.all([written(streams.stdout), written(streams.stderr)]);
  const status = session.jsonStatus ? statusJson(end) : statusText(end);
  if (status !== '') error.write(status);
  await written(error);
  await session.close();
}

async function run(
  command: PlayedCommand,
  streams: CommandStreams,
  signal: AbortSignal,
): Promise<CommandEnd> {
  try {
    if (command.kind === 'exec') return { kind: 'exit', code: await command.play(streams, signal) };
    await command.play(streams, signal);
    return { kind: 'detached' };
  } catch (error) {
    return { kind: 'failed', during: command.kind, error };
  }
}

/** Resolves when all written bytes were sent, or the stream has ended. */
function written(stream: Writable | undefined): Promise<void> {
  if (stream === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    finished(stream, { readable: false }, () => resolve());
    stream.end();
  });
}

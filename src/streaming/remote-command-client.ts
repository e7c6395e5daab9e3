/** The client of exec and attach: the streams of a command over one SPDY connection. */
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { Cancelled, errorText } from '../async/index.js';
import type { RemoteCommandOptions, RemoteCommandResult, TerminalSize } from './contracts.js';
import { dialSpdy } from './dial.js';
import { streamingClientLimits } from './limits.js';
import type { SpdyConnection } from './spdy/connection.js';
import type { SpdyStream } from './spdy/stream.js';
import { parseStatus } from './status.js';
import { writableRoom } from './writable-room.js';

const protocol = 'v4.channel.k8s.io';

/**
 * Resolves when the command has ended and its output was written; it does not end the writables. Rejects with
 * `UpgradeRefused` when the server refuses the request, with `Cancelled` when the signal aborts, and with the server's
 * message when the command has no exit code.
 */
export async function remoteCommand(options: RemoteCommandOptions): Promise<RemoteCommandResult> {
  const { target, signal, tty } = options;
  const { connection, protocol: chosen } = await dialSpdy({ target, protocols: [protocol], signal });
  const onAbort = (): void => connection.destroy(new Cancelled());
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal?.aborted) throw new Cancelled();
    if (chosen !== protocol) throw new Error(`the server does not speak ${protocol}`);
    const open = (streamtype: string, wanted: boolean): Promise<SpdyStream | undefined> =>
      wanted ? connection.open(new Map([['streamtype', streamtype]])) : Promise.resolve(undefined);
    // Servers rely on this order.
    const error = await connection.open(new Map([['streamtype', 'error']]));
    const stdin = await open('stdin', options.stdin !== undefined);
    const stdout = await open('stdout', options.stdout !== undefined);
    const stderr = await open('stderr', options.stderr !== undefined && !tty);
    const resize = await open('resize', tty);
    error.end();
    stdout?.end();
    stderr?.end();
    const ended = new AbortController();
    const inputs = Promise.all([
      sendInput(options.stdin, stdin, ended.signal),
      sendSizes(options.resize, resize, ended.signal),
    ]);
    try {
      const [status] = await Promise.all([
        readStatus(error),
        writeOutput(stdout, options.stdout),
        writeOutput(stderr, options.stderr),
      ]);
      if (signal?.aborted) throw new Cancelled();
      return resultOf(status, connection);
    } finally {
      ended.abort();
      await connection.close();
      await inputs;
    }
  } catch (cause) {
    if (signal?.aborted) throw new Cancelled(undefined, { cause });
    throw cause;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    connection.destroy(new Error('the command has ended'));
  }
}

function resultOf(status: string, { problem }: SpdyConnection): RemoteCommandResult {
  if (status !== '') return parseStatus(status);
  throw new Error(
    `the connection ended before the command${problem === undefined ? '' : `: ${errorText(problem)}`}`,
    { cause: problem },
  );
}

async function readStatus(stream: SpdyStream): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of stream) {
    // A stream without an encoding yields buffers.
    const bytes = chunk as Buffer;
    sizeBytes += bytes.length;
    if (sizeBytes > streamingClientLimits.statusBytes)
      throw new Error('the server sent a status that is too long');
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function writeOutput(stream: SpdyStream | undefined, output: Writable | undefined): Promise<void> {
  if (stream === undefined || output === undefined) return;
  for await (const chunk of stream) {
    // The consumer has closed the output, so the rest is dropped.
    if (output.destroyed || output.writableEnded) continue;
    if (!output.write(chunk)) await writableRoom(output);
  }
}

/** A command may end before it has read its input. The rest stays unread. */
async function sendInput(
  input: Readable | undefined,
  stream: SpdyStream | undefined,
  ended: AbortSignal,
): Promise<void> {
  if (input === undefined || stream === undefined) return;
  // A failure of the connection is reported elsewhere.
  stream.on('error', () => {});
  await new Promise<void>((resolve) => {
    const onData = (chunk: Buffer | string): void => {
      if (!stream.write(chunk)) input.pause();
    };
    const onDrain = (): void => void input.resume();
    const onEnd = (): void => void stream.end();
    const finish = (): void => {
      input.off('data', onData).off('end', onEnd).off('close', onEnd).off('error', onEnd);
      stream.off('drain', onDrain);
      input.pause();
      resolve();
    };
    ended.addEventListener('abort', finish, { once: true });
    stream.on('drain', onDrain);
    input.on('end', onEnd).on('close', onEnd).on('error', onEnd).on('data', onData);
    if (input.readableEnded || input.destroyed) onEnd();
  });
}

async function sendSizes(
  sizes: AsyncIterable<TerminalSize> | undefined,
  stream: SpdyStream | undefined,
  ended: AbortSignal,
): Promise<void> {
  if (sizes === undefined || stream === undefined) return;
  stream.on('error', () => {});
  const iterator = sizes[Symbol.asyncIterator]();
  const over = once(ended, 'abort').then(
    (): IteratorResult<TerminalSize> => ({ done: true, value: undefined }),
  );
  for (;;) {
    const next = await Promise.race([iterator.next(), over]);
    if (next.done === true) break;
    stream.write(JSON.stringify({ Width: next.value.width, Height: next.value.height }));
  }
  // Not awaited: the iterator may wait for a next size forever.
  void iterator.return?.()?.catch?.(() => {});
}

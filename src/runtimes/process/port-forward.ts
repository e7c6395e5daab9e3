/** PortForward of the process runtime: connects to a port of this machine, where all its pods listen. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { isFileError } from './container-files.js';

/** Programs listen on one of them, or on both. */
const loopbacks = ['127.0.0.1', '::1'];

/** Resolves when both directions have ended. */
export async function forwardPort(port: number, stream: Duplex, signal: AbortSignal): Promise<void> {
  const socket = await connectToAny(port);
  const cut = (): void => void socket.destroy();
  signal.addEventListener('abort', cut, { once: true });
  if (signal.aborted) cut();
  // If one side is cut, cut the other, too.
  stream.once('close', cut);
  stream.pipe(socket);
  socket.pipe(stream);
  try {
    await finished(socket);
    if (!stream.destroyed && !stream.writableFinished) await finished(stream, { readable: false });
  } catch (error) {
    if (!signal.aborted && !stream.destroyed) throw error;
  } finally {
    signal.removeEventListener('abort', cut);
    stream.off('close', cut);
    stream.unpipe();
    socket.destroy();
  }
}

async function connectToAny(port: number): Promise<Socket> {
  let problem = '';
  for (const host of loopbacks) {
    const socket = connect({ host, port, allowHalfOpen: true });
    try {
      await once(socket, 'connect');
      return socket;
    } catch (error) {
      if (problem === '' || isFileError(error, 'ECONNREFUSED')) problem = describe(error);
    }
  }
  throw new Error(`failed to connect to localhost:${port}: ${problem}`);
}

function describe(error: unknown): string {
  if (isFileError(error, 'ECONNREFUSED')) return 'connection refused';
  return error instanceof Error ? error.message : String(error);
}

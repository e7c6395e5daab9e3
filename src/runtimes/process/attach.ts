/** Attach of the process runtime: the agent's side of the supervisor's attach socket. */
import { mkdtemp, open, rm, symlink } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AttachStreamRequest, type CommandStreams, writableRoom } from '../../streaming/index.js';
import { attachSocketName, formatWish, OutputFrameReader } from './attach-frames.js';
import { isFileError, readTerminal } from './container-files.js';
import type { ProcessContainer } from './records.js';
import { resizeTerminal } from './terminal.js';

/** Resolves when the container has ended, or the signal aborts, which the container does not notice. */
export async function attachStreams(
  container: ProcessContainer,
  request: AttachStreamRequest,
  streams: CommandStreams,
  signal: AbortSignal,
): Promise<void> {
  if (container.state.kind !== 'running') throw new Error('container is not running');
  const socket = await connectTo(container);
  const detach = (): void => void socket.destroy();
  signal.addEventListener('abort', detach, { once: true });
  if (signal.aborted) detach();
  // The stream of sizes ends with the session, so this does not leak.
  void followSizes(container, streams.resize);
  const { stdin } = streams;
  socket.write(
    formatWish({
      stdin: stdin !== undefined,
      stdout: request.stdout,
      stderr: request.stderr && !request.tty,
    }),
  );
  stdin?.pipe(socket);
  try {
    await receive(socket, streams);
  } finally {
    signal.removeEventListener('abort', detach);
    stdin?.unpipe();
    socket.destroy();
  }
}

async function receive(socket: Socket, { stdout, stderr }: CommandStreams): Promise<void> {
  const frames = new OutputFrameReader();
  try {
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      // A socket without an encoding gives bytes.
      for (const { stream, bytes } of frames.read(chunk as Buffer)) {
        const output = stream === 'stdout' ? stdout : stderr;
        if (output !== undefined && !output.destroyed && !output.write(bytes)) await writableRoom(output);
      }
    }
  } catch (error) {
    // The end of the container may cut off input that it did not read.
    if (!socket.destroyed && !isFileError(error, 'EPIPE', 'ECONNRESET')) throw error;
  }
}

async function followSizes(container: ProcessContainer, sizes: CommandStreams['resize']): Promise<void> {
  for await (const size of sizes) {
    const terminal = await readTerminal(container.files).catch(() => undefined);
    // The terminal is gone with its container.
    if (terminal !== undefined) await resizeTerminal(terminal, size).catch(() => {});
  }
}

async function connectTo({ id, files }: ProcessContainer): Promise<Socket> {
  try {
    return await withShortPath(files.directory, (directory) => {
      const socket = connect({ path: join(directory, attachSocketName), allowHalfOpen: true });
      return new Promise<Socket>((resolve, reject) => {
        socket.once('connect', () => resolve(socket.off('error', reject))).once('error', reject);
      });
    });
  } catch (cause) {
    throw new Error(`cannot attach to container "${id}": its supervisor does not respond`, { cause });
  }
}

/** A socket path is limited to some hundred characters, which containers' paths exceed. */
async function withShortPath<T>(directory: string, use: (path: string) => Promise<T>): Promise<T> {
  if (process.platform === 'linux') {
    const handle = await open(directory, 'r');
    try {
      return await use(`/proc/self/fd/${handle.fd}`);
    } finally {
      await handle.close();
    }
  }
  const temporary = await mkdtemp(join(tmpdir(), 'nodelet-'));
  try {
    const link = join(temporary, 'c');
    await symlink(directory, link);
    return await use(link);
  } finally {
    await rm(temporary, { recursive: true });
  }
}

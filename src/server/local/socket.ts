/** A unix socket that only its user may open, from the first moment it is visible. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, link, lstat, mkdir, rm, stat, unlink } from 'node:fs/promises';
import { connect, type Server } from 'node:net';
import path from 'node:path';

/** The limit of a unix socket's path on all systems, without the terminating byte. */
const longestPathBytes = 103;

export class SocketInUse extends Error {
  override readonly name = 'SocketInUse';
}

/** Makes the server listen there. Replaces a dead socket; leaves one that somebody serves alone. */
export async function bindSocket(server: Server, socketPath: string): Promise<void> {
  const dir = path.dirname(socketPath);
  await makePrivateDirectory(dir);
  await refuseOrRemove(socketPath);
  // Created where nobody else can enter, and renamed once its mode is right.
  const birthplace = path.join(dir, `.${randomBytes(3).toString('hex')}`);
  const bornAt = path.join(birthplace, 's');
  for (const name of [socketPath, bornAt]) {
    if (Buffer.byteLength(name) > longestPathBytes)
      throw new Error(`${name} is too long for a socket: at most ${longestPathBytes} bytes`);
  }
  await mkdir(birthplace, { mode: 0o700 });
  try {
    server.listen(bornAt);
    await once(server, 'listening');
    try {
      await chmod(bornAt, 0o600);
      await place(bornAt, socketPath);
    } catch (error) {
      server.close();
      throw error;
    }
  } finally {
    await rm(birthplace, { recursive: true, force: true });
  }
}

/** Unlinks the socket if it is still the one that was created then. */
export async function unlinkSocket(socketPath: string, inode: number): Promise<void> {
  const found = await lstat(socketPath).catch(ifMissing);
  if (found?.ino === inode) await unlink(socketPath).catch(ifMissing);
}

/** Unlike a rename this never replaces what another process has put there meanwhile. */
async function place(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw new SocketInUse(`${to}: another process has just taken it`);
    throw error;
  }
}

async function makePrivateDirectory(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const { mode, uid } = await stat(dir);
  const sharedWrite = (mode & 0o022) !== 0 && (mode & 0o1000) === 0;
  if (sharedWrite)
    throw new Error(`others may write to ${dir}: chmod 700 it, or put the socket into another directory`);
  const own = process.getuid?.();
  if (own !== undefined && uid !== own && uid !== 0)
    throw new Error(`${dir} belongs to another user (uid ${uid}): put the socket into another directory`);
}

async function refuseOrRemove(socketPath: string): Promise<void> {
  const found = await lstat(socketPath).catch(ifMissing);
  if (found === undefined) return;
  if (!found.isSocket()) throw new Error(`${socketPath} exists and is not a socket: remove it`);
  if (await isAnswered(socketPath)) throw new SocketInUse(`${socketPath}: another process listens there`);
  await unlinkSocket(socketPath, found.ino);
}

function isAnswered(socketPath: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error) => {
      const code = codeOf(error);
      if (code === 'ECONNREFUSED' || code === 'ENOENT') resolve(false);
      // Its queue is full, so somebody serves it.
      else if (code === 'EAGAIN') resolve(true);
      else reject(error);
    });
  });
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

function ifMissing(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
}

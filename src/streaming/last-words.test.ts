import { once } from 'node:events';
import { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { ReadAfterResetSocket } from './read-after-reset-socket.js';

/** Answers the first data, closes the connection and reports that. Runs in a thread, as the client blocks meanwhile. */
const peer = `
const { createServer } = require('node:net');
const { parentPort, workerData } = require('node:worker_threads');
const server = createServer((socket) => {
  socket.on('error', () => {}).once('data', () => socket.write('last words', () => socket.resetAndDestroy()));
  socket.once('close', () => {
    Atomics.store(workerData, 0, 1);
    Atomics.notify(workerData, 0);
    server.close();
  });
});
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

/** What a socket reads from a peer that closed the connection, when the socket writes first. */
async function heardAfterHangUp(socket: Socket): Promise<string> {
  const hungUp = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(peer, { eval: true, workerData: hungUp });
  const [port]: number[] = await once(worker, 'message');
  socket.on('error', () => {}).connect(port ?? 0, '127.0.0.1');
  await once(socket, 'connect');
  const heard: string[] = [];
  socket.on('data', (chunk) => heard.push(chunk.toString()));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write('speak');
  expect(Atomics.wait(hungUp, 0, 0, 4_000)).not.toBe('timed-out');
  socket.write('unread');
  await closed;
  await worker.terminate();
  return heard.join('');
}

describe('a peer that closes with unread input', () => {
  it('is read to the end', async () => {
    expect(await heardAfterHangUp(new ReadAfterResetSocket())).toBe('last words');
  });

  it('is not read to the end by an ordinary socket', async () => {
    expect(await heardAfterHangUp(new Socket())).toBe('');
  });
});

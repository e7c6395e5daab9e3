import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bindSocket, unlinkSocket } from './socket.js';

let dir = '';
const servers: Server[] = [];
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'nodelet-socket-'));
});
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
  rmSync(dir, { recursive: true });
});

async function bind(socketPath: string): Promise<Server> {
  const server = createServer();
  await bindSocket(server, socketPath);
  servers.push(server);
  return server;
}

describe('bindSocket', () => {
  it('creates a directory and a socket for this user alone, and nothing else', async () => {
    const socketPath = path.join(dir, 'a', 'b', 's');
    await bind(socketPath);
    expect(statSync(socketPath).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(socketPath)).mode & 0o777).toBe(0o700);
    expect(readdirSync(path.dirname(socketPath))).toEqual(['s']);
  });

  it('rejects a socket that somebody serves, and leaves it alone', async () => {
    const socketPath = path.join(dir, 's');
    await bind(socketPath);
    const { ino } = statSync(socketPath);
    await expect(bindSocket(createServer(), socketPath)).rejects.toThrow('another process listens there');
    expect(statSync(socketPath).ino).toBe(ino);
  });

  it('replaces a socket that was left behind', async () => {
    const socketPath = path.join(dir, 's');
    const first = await bind(socketPath);
    await new Promise((resolve) => first.close(resolve));
    servers.pop();
    expect(existsSync(socketPath)).toBe(true);
    await bind(socketPath);
  });

  it('lets only one of several have it', async () => {
    const socketPath = path.join(dir, 's');
    const tries = await Promise.allSettled([1, 2, 3, 4].map(() => bind(socketPath)));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(readdirSync(dir)).toEqual(['s']);
  });

  it.each([
    [
      'a file that is not a socket',
      async () => writeFileSync(path.join(dir, 's'), ''),
      's',
      'is not a socket: remove it',
    ],
    ['a directory that others may write to', async () => chmod(dir, 0o777), 's', 'others may write to'],
    ['a name that is too long', async () => {}, 'x'.repeat(120), 'is too long for a socket'],
    ['a directory that is a file', async () => mkdir(path.join(dir, 'a')), 'a', 'is not a socket'],
  ])('rejects %s', async (_, prepare, name, message) => {
    await prepare();
    await expect(bindSocket(createServer(), path.join(dir, name))).rejects.toThrow(message);
    await chmod(dir, 0o700);
  });
});

it('unlinks only its own socket', async () => {
  const socketPath = path.join(dir, 's');
  await bind(socketPath);
  const { ino } = statSync(socketPath);
  await unlinkSocket(socketPath, ino + 1);
  expect(existsSync(socketPath)).toBe(true);
  await unlinkSocket(socketPath, ino);
  await unlinkSocket(socketPath, ino);
  expect(existsSync(socketPath)).toBe(false);
});

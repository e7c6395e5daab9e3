/** Holds the plugin manager against real plugins: gRPC servers on sockets of this machine. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock, TaskGroup } from '../async/index.js';
import { type GrpcServer, serveGrpc } from '../grpc/index.js';
import { linuxHost } from '../host/index.js';
import { Timeline } from '../timeline/index.js';
import type { PluginClaim } from './contracts.js';
import { Registration, type RegistrationStatus } from './gen/registration.js';
import { openGrpcSocket, PluginManager } from './index.js';

let root: string;
let tasks: TaskGroup;
let manager: PluginManager;
const registered = new Map<string, PluginClaim>();
const timeline = new Timeline();
const closers: (() => Promise<void>)[] = [];

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'plugins-'));
  await mkdir(path.join(root, 'reg'));
  registered.clear();
  manager = new PluginManager({
    clock: systemClock,
    timeline,
    host: linuxHost(),
    directory: path.join(root, 'reg'),
    open: openGrpcSocket,
    handlers: new Map([
      [
        'CSIPlugin',
        {
          refusal: ({ name }) => (registered.has(name) ? `${name} is taken` : undefined),
          register: async (claim) => void registered.set(claim.name, claim),
          deregister: async ({ name }) => void registered.delete(name),
        },
      ],
    ]),
  });
  tasks = new TaskGroup({
    onError: (_, error) => {
      throw error;
    },
  });
  tasks.start('plugins', (signal) => manager.run(signal));
});
afterEach(async () => {
  await tasks.stop();
  for (const close of closers.splice(0)) await close();
  await rm(root, { recursive: true });
});

const until = async (holds: () => boolean): Promise<void> => {
  for (let turn = 0; !holds(); turn++) {
    if (turn > 1000) throw new Error('it did not come about within 10 s');
    await sleep(10);
  }
};

async function servePlugin(name: string): Promise<{ told: RegistrationStatus[]; server: GrpcServer }> {
  const told: RegistrationStatus[] = [];
  const implementation = {
    getInfo: async () => ({ type: 'CSIPlugin', name, endpoint: '/csi.sock', supportedVersions: ['1.0.0'] }),
    notifyRegistrationStatus: async (status: RegistrationStatus) => {
      told.push(status);
      return {};
    },
  };
  const socketPath = path.join(root, 'reg', `${name}.sock`);
  const server = await serveGrpc([{ methods: Registration, implementation }], { socketPath });
  closers.push(() => server.close());
  return { told, server };
}

it('registers a plugin, tells it so, and notices when it goes and comes back', async () => {
  const { told, server } = await servePlugin('d1');
  await until(() => told.length > 0);
  expect(told).toEqual([{ pluginRegistered: true, error: '' }]);
  expect(registered.get('d1')).toEqual({
    type: 'CSIPlugin',
    name: 'd1',
    endpoint: '/csi.sock',
    versions: ['1.0.0'],
  });
  await server.close();
  await until(() => registered.size === 0);
  const again = await servePlugin('d1');
  await until(() => again.told.length > 0);
  expect(registered.size).toBe(1);
});

/** A socket that behaves in some way below gRPC. */
async function serveRaw(name: string, onData: 'silent' | 'garbage' | 'close'): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    if (onData === 'close') socket.destroy();
    if (onData === 'garbage') socket.write('HTTP/1.1 200 OK\r\n\r\n'.repeat(100));
  });
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(path.join(root, 'reg', name), resolve));
  closers.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  );
  return server;
}

it('registers a good plugin beside sockets that are silent, talk nonsense or hang up', async () => {
  await serveRaw('silent.sock', 'silent');
  await serveRaw('garbage.sock', 'garbage');
  await serveRaw('close.sock', 'close');
  const { told } = await servePlugin('good');
  await until(() => told.length > 0);
  const refused = (socket: string): boolean =>
    timeline
      .ofNode()
      .some(
        (entry) => entry.what === 'plugin.register' && entry.data.socket === path.join(root, 'reg', socket),
      );
  await until(() => refused('garbage.sock') && refused('close.sock'));
  expect([...registered.keys()]).toEqual(['good']);
});

/** Services as a whole, on real sockets of the loopback network and a simulated API. */
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../async/index.js';
import type { Pod } from '../kube/types/index.js';
import { SimulatedKubeApi } from '../kube-api/index.js';
import { resources } from '../kube-client/index.js';
import { Timeline } from '../timeline/index.js';
import { createServices, type NodeServices } from './create-services.js';
import { testPod, testService } from './test-objects.js';

const clock = systemClock;
const dnsPort = 5397;
const range = `127.${100 + (process.pid % 100)}.0.0`;
const clusterIP = range.replace('.0.0', '.3.3');
let api: SimulatedKubeApi;
let timeline: Timeline;
let services: NodeServices;
let stop: AbortController;
let running: Promise<void>;
let closing: (() => void)[];
let directory: string;
let commands: string[];

beforeEach(() => {
  closing = [];
  commands = [];
  directory = mkdtempSync(path.join(tmpdir(), 'nodelet-services-'));
  writeFileSync(path.join(directory, 'resolv.conf'), 'nameserver 127.0.0.1\n');
  api = new SimulatedKubeApi({ clock });
  timeline = new Timeline();
  stop = new AbortController();
});
afterEach(async () => {
  for (const close of closing) close();
  stop.abort();
  await running;
  expect([services.listening, services.servesNames]).toEqual([[], false]);
  expect(timeline.ofNode().filter(({ what }) => what === 'services.task')).toEqual([]);
  rmSync(directory, { recursive: true });
});

function start(exitCode = 0): void {
  services = createServices({
    api,
    clock,
    timeline,
    clusterCidr: `${range}/16`,
    nodeIp: '127.97.0.2',
    dnsPort,
    upstreamPort: 1,
    resolvConfPath: path.join(directory, 'resolv.conf'),
    runRouteCommand: async (command) => {
      commands.push(String(command));
      return {
        kind: 'exited',
        exitCode: command.words.includes('show') ? 0 : exitCode,
        stdout: '',
        stderr: 'not permitted',
      };
    },
  });
  running = services.run(stop.signal);
}

async function backend(address: string, port: number): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(address);
  });
  server.listen(port, address);
  await once(server, 'listening');
  closing.push(() => server.close());
  const bound = server.address();
  return bound === null || typeof bound === 'string' ? 0 : bound.port;
}

async function addPod(pod: Pod): Promise<void> {
  await api.create(resources.pods, pod);
  await setStatus(pod);
}

async function setStatus({ metadata: { namespace, name }, status }: Pod): Promise<void> {
  await api.patch(
    resources.pods,
    { namespace, name },
    { type: 'merge', body: { status } },
    { subresource: 'status' },
  );
}

async function said(address: string, port: number): Promise<string> {
  const socket = connect(port, address);
  closing.push(() => socket.destroy());
  let text = '';
  socket.on('error', () => undefined);
  socket.on('data', (data) => {
    text += String(data);
  });
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return text;
}

it('an app of several parts works: names, addresses, ready pods only', async () => {
  start();
  const port = await backend('127.0.3.1', 0);
  await backend('127.0.3.2', port);
  await api.create(
    resources.services,
    testService('web', { clusterIP, ports: [{ name: 'http', port: 8099, targetPort: port }] }),
  );
  await api.create(
    resources.services,
    testService('db', { clusterIP: 'None', selector: { app: 'web' }, ports: [{ port }] }),
  );
  await addPod(testPod('a', { ip: '127.0.3.1' }));
  await addPod(testPod('b', { ip: '127.0.3.2', ready: false }));
  await expect.poll(() => services.servesNames && services.listening.length > 0).toBe(true);
  const resolver = new Resolver();
  resolver.setServers([`${services.dnsAddress}:${dnsPort}`]);
  // The slices of two Services are written one after the other.
  const addressesOfDb = () => resolver.resolve4('db.shop.svc.cluster.local').catch(() => []);
  const [address = ''] = await resolver.resolve4('web.shop.svc.cluster.local');
  expect(address).toBe(clusterIP);
  expect(await resolver.resolveSrv('_http._tcp.web.shop.svc.cluster.local')).toMatchObject([{ port: 8099 }]);
  await expect.poll(() => said(address, 8099)).toBe('127.0.3.1');
  await expect.poll(addressesOfDb).toEqual(['127.0.3.1']);
  await expect(resolver.resolve4('no.shop.svc.cluster.local')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  await expect(resolver.resolve6('web.shop.svc.cluster.local')).rejects.toMatchObject({ code: 'ENODATA' });
  await expect(resolver.resolve4('example.com')).rejects.toMatchObject({ code: 'ESERVFAIL' });

  await setStatus(testPod('b', { ip: '127.0.3.2' }));
  await setStatus(testPod('a', { ip: '127.0.3.1', ready: false }));
  await expect.poll(() => said(address, 8099)).toBe('127.0.3.2');
  await expect.poll(addressesOfDb).toEqual(['127.0.3.2']);

  stop.abort();
  await running;
  expect(commands).toEqual([
    'ip -4 route show table main',
    `ip -4 route replace local ${range}/16 dev lo`,
    `ip -4 route del local ${range}/16 dev lo`,
  ]);
});

it('without the route it goes on: node ports work, and it says what does not', async () => {
  start(2);
  const port = await backend('127.0.3.1', 0);
  const ports = [{ port: 8099, targetPort: port, nodePort: 31_778 }];
  await api.create(resources.services, testService('web', { clusterIP, type: 'NodePort', ports }));
  await addPod(testPod('a', { ip: '127.0.3.1' }));
  await expect.poll(() => services.listening).toEqual(['TCP 127.97.0.2:31778', 'TCP 127.0.0.1:31778']);
  await expect.poll(() => said('127.97.0.2', 31_778)).toBe('127.0.3.1');
  expect(services.servesNames).toBe(false);
  const told = timeline.ofNode().filter(({ what }) => what === 'services.route');
  expect(told.map(({ because }) => because)).toEqual([
    `ip -4 route replace local ${range}/16 dev lo: exit status 2: not permitted`,
  ]);
});

it('refuses a range that is none', () => {
  start();
  expect(() => createServices({ api, clock, timeline, nodeIp: '127.0.0.1', clusterCidr: 'x' })).toThrow(
    'is no range',
  );
});

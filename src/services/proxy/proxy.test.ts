/** The proxy on real sockets: all of 127.0.0.0/8 is local, so cluster addresses need no route here. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import type { EndpointSlice, Service, ServiceSpec } from '../../kube/types/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { resources } from '../../kube-client/index.js';
import { Timeline } from '../../timeline/index.js';
import { parseIpv4Range } from '../addresses/ipv4-range.js';
import { testService, testSlice } from '../test-objects.js';
import { WatchedObjects } from '../watched-objects.js';
import { ServiceProxy, type ServiceProxyOptions } from './proxy.js';

const clock = systemClock;
const clusterIP = '127.96.3.3';
let api: SimulatedKubeApi;
let timeline: Timeline;
let proxy: ServiceProxy;
let stop: AbortController;
let running: Promise<unknown>;
let closing: (() => void)[];

beforeEach(() => {
  api = new SimulatedKubeApi({ clock });
  timeline = new Timeline({ clock });
  closing = [];
  stop = new AbortController();
});
afterEach(async () => {
  for (const close of closing) close();
  stop.abort();
  await running;
  expect(proxy.listening).toEqual([]);
});

function start(route?: ServiceProxyOptions['route']): void {
  const objects = new WatchedObjects({ api, clock, timeline });
  proxy = new ServiceProxy({
    clock,
    timeline,
    objects,
    clusterRange: parseIpv4Range('127.96.0.0/16')!,
    nodeAddresses: ['127.97.0.1'],
    route: route ?? { ensure: async () => undefined, remove: async () => undefined },
  });
  running = Promise.all([objects.run(stop.signal), proxy.run(stop.signal)]);
}

/** Servers at one port of several addresses that answer every line with their address. */
async function backends(...addresses: readonly string[]): Promise<{ port: number; servers: Server[] }> {
  let port = 0;
  const servers: Server[] = [];
  for (const address of addresses) {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (data) => socket.write(`${address} ${data}`));
      socket.on('end', () => socket.end('bye'));
    });
    server.listen(port, address);
    await once(server, 'listening');
    const bound = server.address();
    if (bound === null || typeof bound === 'string') throw new Error('no port');
    port = bound.port;
    closing.push(() => server.close());
    servers.push(server);
  }
  return { port, servers };
}

const sliceOf = (port: number, addresses: readonly string[], protocol = 'TCP'): EndpointSlice =>
  testSlice(
    'web',
    addresses.map((address) => ({ addresses: [address] })),
    { ports: [{ name: '', protocol, port }] },
  );

const service = (spec: ServiceSpec = {}): Service =>
  testService('web', { clusterIP, ports: [{ port: 8099 }], ...spec });

async function serve(port: number, addresses: readonly string[], spec: ServiceSpec = {}): Promise<void> {
  await api.create(resources.services, service(spec));
  await api.create(resources.endpointSlices, sliceOf(port, addresses));
  await expect.poll(() => proxy.listening.length).toBeGreaterThan(0);
}

async function change(port: number, addresses: readonly string[]): Promise<void> {
  const body = {
    endpoints: addresses.map((address) => ({ addresses: [address] })),
    ports: [{ name: '', protocol: 'TCP', port }],
  };
  await api.patch(resources.endpointSlices, { namespace: 'shop', name: 'web-1' }, { type: 'merge', body });
  await new Promise((resolve) => setTimeout(resolve, 100));
}

async function open(host = clusterIP, port = 8099): Promise<Socket> {
  const socket = connect({ host, port, allowHalfOpen: true });
  closing.push(() => socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

async function ask(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  const [data] = await once(socket, 'data');
  return String(data);
}

const askOnce = async (host?: string, port?: number): Promise<string> => {
  const socket = await open(host, port);
  const answer = await ask(socket, 'hi');
  socket.destroy();
  return answer.split(' ')[0] ?? '';
};

/** How a connection that gets no answer ends. */
function endOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    socket.once('end', () => resolve('end'));
    socket.resume();
  });
}

/** The reset may come before the client knows that it is connected. */
function refusal(): Promise<string> {
  const socket = connect({ host: clusterIP, port: 8099 });
  closing.push(() => socket.destroy());
  return endOf(socket);
}

describe('TCP', () => {
  it('takes turns over the endpoints, also at a node port', async () => {
    start();
    const { port } = await backends('127.0.2.1', '127.0.2.2', '127.0.2.3');
    const addresses = ['127.0.2.1', '127.0.2.2', '127.0.2.3'];
    await serve(port, addresses, { type: 'NodePort', ports: [{ port: 8099, nodePort: 31_777 }] });
    const answers = [await askOnce(), await askOnce(), await askOnce(), await askOnce()];
    expect(new Set(answers)).toEqual(new Set(addresses));
    expect(answers[3]).toBe(answers[0]);
    expect(addresses).toContain(await askOnce('127.97.0.1', 31_777));
  });

  it('goes on to the next endpoint when one refuses', async () => {
    start();
    const { port } = await backends('127.0.2.2');
    await serve(port, ['127.0.2.1', '127.0.2.2', '127.0.2.3']);
    expect([await askOnce(), await askOnce(), await askOnce()]).toEqual([
      '127.0.2.2',
      '127.0.2.2',
      '127.0.2.2',
    ]);
  });

  it('resets a connection when no endpoint takes it, or there is none', async () => {
    start();
    const { port, servers } = await backends('127.0.2.1');
    servers[0]!.close();
    await serve(port, ['127.0.2.1']);
    expect(await refusal()).toBe('ECONNRESET');
    await change(port, []);
    expect(await refusal()).toBe('ECONNRESET');
    await expect.poll(() => proxy.connections).toBe(0);
  });

  it('passes on the end of one direction while the other goes on', async () => {
    start();
    const { port } = await backends('127.0.2.1');
    await serve(port, ['127.0.2.1']);
    const socket = await open();
    expect(await ask(socket, 'hi')).toBe('127.0.2.1 hi');
    socket.end();
    const [data] = await once(socket, 'data');
    expect(String(data)).toBe('bye');
    await once(socket, 'end');
    await expect.poll(() => proxy.connections).toBe(0);
  });

  it('moves large answers to a slow reader without keeping them', async () => {
    start();
    const total = 8 * 1024 * 1024;
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end(Buffer.alloc(total, 7));
    });
    server.listen(0, '127.0.2.1');
    await once(server, 'listening');
    closing.push(() => server.close());
    const bound = server.address();
    if (bound === null || typeof bound === 'string') throw new Error('no port');
    await serve(bound.port, ['127.0.2.1']);
    const socket = await open();
    await new Promise((resolve) => setTimeout(resolve, 200));
    let got = 0;
    for await (const chunk of socket) got += (chunk as Buffer).length;
    expect(got).toBe(total);
  });

  it('leaves open connections alone when their endpoint goes, and gives new ones another', async () => {
    start();
    const { port } = await backends('127.0.2.1', '127.0.2.2');
    await serve(port, ['127.0.2.1']);
    const old = await open();
    expect(await ask(old, 'a')).toBe('127.0.2.1 a');
    await change(port, ['127.0.2.2']);
    expect(await askOnce()).toBe('127.0.2.2');
    expect(await ask(old, 'b')).toBe('127.0.2.1 b');
    await api.delete(resources.services, { namespace: 'shop', name: 'web' });
    await expect.poll(() => proxy.listening).toEqual([]);
    expect(await ask(old, 'c')).toBe('127.0.2.1 c');
  });

  it('passes a reset on', async () => {
    start();
    const server = createServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    server.listen(0, '127.0.2.1');
    await once(server, 'listening');
    closing.push(() => server.close());
    const bound = server.address();
    if (bound === null || typeof bound === 'string') throw new Error('no port');
    await serve(bound.port, ['127.0.2.1']);
    const socket = await open();
    socket.write('x');
    expect(await endOf(socket)).toBe('ECONNRESET');
  });

  it('keeps a client at its endpoint with affinity', async () => {
    start();
    const { port } = await backends('127.0.2.1', '127.0.2.2');
    await serve(port, ['127.0.2.1', '127.0.2.2'], { sessionAffinity: 'ClientIP' });
    const first = await askOnce();
    for (let count = 0; count < 4; count++) expect(await askOnce()).toBe(first);
  });
});

describe('UDP', () => {
  it('keeps a client at one endpoint, answers from the Service’s address, and leaves endpoints that go', async () => {
    start();
    let port = 0;
    for (const address of ['127.0.2.1', '127.0.2.2']) {
      const socket = createSocket('udp4');
      socket.bind(port, address);
      await once(socket, 'listening');
      port = socket.address().port;
      socket.on('message', (data, from) => socket.send(`${address} ${data}`, from.port, from.address));
      closing.push(() => socket.close());
    }
    await api.create(resources.services, service({ ports: [{ port: 8099, protocol: 'UDP' }] }));
    await api.create(resources.endpointSlices, sliceOf(port, ['127.0.2.1', '127.0.2.2'], 'UDP'));
    await expect.poll(() => proxy.listening).toEqual([`UDP ${clusterIP}:8099`]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const client = createSocket('udp4');
    closing.push(() => client.close());
    const exchange = async (text: string): Promise<string> => {
      client.send(text, 8099, clusterIP);
      const [data, from] = await once(client, 'message');
      expect(from.address).toBe(clusterIP);
      return String(data);
    };
    const [first] = (await exchange('1')).split(' ');
    expect(await exchange('2')).toBe(`${first} 2`);
    const other = first === '127.0.2.1' ? '127.0.2.2' : '127.0.2.1';
    const body = { endpoints: [{ addresses: [other] }] };
    await api.patch(resources.endpointSlices, { namespace: 'shop', name: 'web-1' }, { type: 'merge', body });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await exchange('3')).toBe(`${other} 3`);
  });
});

describe('what cannot be', () => {
  it('an address that somebody has is told once and tried again', async () => {
    const other = createServer();
    other.listen(8099, '0.0.0.0');
    await once(other, 'listening');
    start();
    const { port } = await backends('127.0.2.1');
    await api.create(resources.services, service());
    await api.create(resources.endpointSlices, sliceOf(port, ['127.0.2.1']));
    const told = () =>
      timeline.ofNode().filter(({ what, kind }) => what === 'services.listener' && kind === 'problem');
    await expect.poll(told).toHaveLength(1);
    expect(told()[0]).toMatchObject({
      message: `the proxy cannot listen at TCP ${clusterIP}:8099 for the Service shop/web`,
      because: 'another process listens at port 8099 of every address',
    });
    other.close();
    await expect.poll(() => proxy.listening, { timeout: 10_000 }).toHaveLength(1);
    expect(await askOnce()).toBe('127.0.2.1');
    expect(told()).toHaveLength(1);
  });

  it('without the route node ports work, and the timeline says what does not', async () => {
    start({ ensure: async () => 'ip is not allowed', remove: async () => undefined });
    const { port } = await backends('127.0.2.1');
    await serve(port, ['127.0.2.1'], { type: 'NodePort', ports: [{ port: 8099, nodePort: 31_777 }] });
    expect(proxy.listening).toEqual(['TCP 127.97.0.1:31777']);
    expect(timeline.ofNode().find(({ what }) => what === 'services.route')).toMatchObject({
      kind: 'problem',
      because: 'ip is not allowed',
      message:
        'the cluster addresses 127.96.0.0/16 cannot be made addresses of this machine: ' +
        'cluster IPs and the names of Services do not work, node ports do',
    });
  });
});

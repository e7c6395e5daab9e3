/** The proxy with its route on this machine: processes of the host and of a network namespace reach a Service. */
import { execFile, execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/async/index.js';
import { SimulatedKubeApi } from '../../src/kube-api/index.js';
import { resources } from '../../src/kube-client/index.js';
import {
  LocalRoute,
  parseIpv4Range,
  routeCommands,
  ServiceProxy,
  WatchedObjects,
} from '../../src/services/index.js';
import { testService, testSlice } from '../../src/services/test-objects.js';
import { Timeline } from '../../src/timeline/index.js';
import { pollUntil } from '../env/poll.js';
import { CleanupStack } from '../env/tempdir.js';

const clock = systemClock;
const cleanups = new CleanupStack();
/** Ranges for benchmarks, which no network has; several runs on one machine have parts of their own. */
const part = process.pid % 250;
const range = parseIpv4Range(`198.18.${part}.0/24`)!;
const clusterIP = `198.18.${part}.77`;
const [hostEnd, podEnd] = [`198.19.${part}.1`, `198.19.${part}.2`];
const network = `nodelet-services-${process.pid}`;
const link = `nls${process.pid % 1e6}`;

const ip = (...words: string[]): string => execFileSync('ip', words, { encoding: 'utf8' });
const route = (): string => ip('-4', 'route', 'show', 'table', 'local', range.text);

/** A client program: what a TCP connection and a datagram bring back, and from where. */
const client = `
  const [host, port] = process.argv.slice(1);
  const tcp = require('node:net').connect(Number(port), host, () => tcp.end('hi'));
  let said = '';
  tcp.on('data', (data) => { said += data; });
  tcp.on('error', (error) => { said = error.code; });
  tcp.on('close', () => {
    const udp = require('node:dgram').createSocket('udp4');
    udp.on('message', (data, from) => { console.log(said + '; ' + data + ' from ' + from.address); udp.close(); });
    udp.send('ho', Number(port), host);
    setTimeout(() => { console.log(said + '; no datagram'); process.exit(); }, 5000).unref();
  });
`;
const asked = async (...prefix: string[]): Promise<string> => {
  const [file = '', ...words] = [...prefix, process.execPath, '-e', client, clusterIP, '8099'];
  return (await promisify(execFile)(file, words, { timeout: 20_000 })).stdout.trim();
};

describe('the proxy on this machine', { timeout: 60_000 }, () => {
  let proxy: ServiceProxy;
  let timeline: Timeline;
  let stop: AbortController;
  let running: Promise<unknown>;

  const start = (api: SimulatedKubeApi): void => {
    stop = new AbortController();
    const objects = new WatchedObjects({ api, clock, timeline });
    proxy = new ServiceProxy({
      clock,
      timeline,
      objects,
      clusterRange: range,
      nodeAddresses: [],
      route: new LocalRoute({ range, run: routeCommands(clock) }),
    });
    running = Promise.all([objects.run(stop.signal), proxy.run(stop.signal)]);
  };

  beforeAll(async () => {
    timeline = new Timeline();
    ip('netns', 'add', network);
    cleanups.defer('the network', async () => void ip('netns', 'delete', network));
    ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', network);
    ip('addr', 'add', `${hostEnd}/24`, 'dev', link);
    ip('link', 'set', link, 'up');
    for (const words of [
      ['addr', 'add', `${podEnd}/24`, 'dev', 'eth0'],
      ['link', 'set', 'eth0', 'up'],
      ['link', 'set', 'lo', 'up'],
      ['route', 'add', 'default', 'via', hostEnd],
    ])
      ip('-n', network, ...words);
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('data', (data) => socket.write(`${data} back`));
      socket.on('end', () => socket.end());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanups.defer('the server', async () => void server.close());
    const bound = server.address();
    if (bound === null || typeof bound === 'string') throw new Error('no port');
    const udp = createSocket('udp4');
    udp.bind(bound.port, '127.0.0.1');
    await once(udp, 'listening');
    cleanups.defer('the datagram server', async () => void udp.close());
    udp.on('message', (data, from) => udp.send(`${data} back`, from.port, from.address));

    const api = new SimulatedKubeApi({ clock });
    await api.create(
      resources.services,
      testService('web', {
        clusterIP,
        ports: [
          { name: 't', port: 8099 },
          { name: 'u', port: 8099, protocol: 'UDP' },
        ],
      }),
    );
    const ports = [
      { name: 't', protocol: 'TCP', port: bound.port },
      { name: 'u', protocol: 'UDP', port: bound.port },
    ];
    await api.create(resources.endpointSlices, testSlice('web', [{ addresses: ['127.0.0.1'] }], { ports }));
    // As a process that was killed leaves it.
    ip('-4', 'route', 'add', 'local', range.text, 'dev', 'lo');
    start(api);
    cleanups.defer('the proxy', async () => {
      stop.abort();
      await running;
    });
    await pollUntil('the proxy listens', () => (proxy.listening.length === 2 ? true : undefined), {
      timeoutMs: 20_000,
    });
  });
  afterAll(() => cleanups.run());

  it('takes over the route that a killed process left', () => {
    expect(route()).toMatch(new RegExp(`^local ${range.text} dev lo`));
    expect(timeline.ofNode().filter(({ kind }) => kind === 'problem')).toEqual([]);
  });

  it('a process of the host reaches the Service', async () => {
    expect(await asked()).toBe(`hi back; ho back from ${clusterIP}`);
  });

  it('a process behind a pair of links, as pods are, reaches the Service', async () => {
    expect(await asked('ip', 'netns', 'exec', network)).toBe(`hi back; ho back from ${clusterIP}`);
  });

  it('removes the route when it stops', async () => {
    stop.abort();
    await running;
    expect(route()).toBe('');
  });
});

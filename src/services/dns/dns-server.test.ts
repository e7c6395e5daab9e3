/** The server and its questions to others on real sockets of the loopback network. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import { Timeline } from '../../timeline/index.js';
import { parseIpv4Range } from '../addresses/ipv4-range.js';
import { servicesLimits } from '../limits.js';
import { testService } from '../test-objects.js';
import { addressRecordsOf, decodeAnswer, decodeQuery } from './decode.js';
import { DnsServer } from './dns-server.js';
import { encodeAnswer, encodeQuery } from './encode.js';
import { Forwarder } from './forwarder.js';
import { nameOf, recordType } from './message.js';
import { DnsResponder } from './responder.js';
import { Zone } from './zone.js';

const clock = systemClock;
const part = `${(process.pid >> 8) & 127}.${process.pid & 255}`;
const [address, outside] = [`127.98.${part}`, `127.99.${part}`];
const [port, outsidePort] = [5399, 5398];
const clusterRange = parseIpv4Range('10.96.0.0/16')!;
let timeline: Timeline;
let server: DnsServer;
let stop: AbortController;
let running: Promise<void>;
let closing: (() => void)[];

beforeEach(() => {
  closing = [];
  timeline = new Timeline();
  stop = new AbortController();
  const services = [testService('web', { clusterIP: '10.96.3.3' })];
  const zone = new Zone(
    { services, slices: [], pods: [] },
    { domain: 'cluster.local', dnsAddress: address, clusterRange },
  );
  const forwarder = new Forwarder({ clock, upstreams: async () => [outside], upstreamPort: outsidePort });
  server = new DnsServer({
    clock,
    timeline,
    address,
    port,
    responder: new DnsResponder({ zone: () => zone, forwarder }),
  });
});
afterEach(async () => {
  for (const close of closing) close();
  stop.abort();
  await running;
  expect(server.isListening).toBe(false);
  expect(timeline.ofNode().filter(({ what }) => what === 'services.task')).toEqual([]);
});

async function start(): Promise<void> {
  running = server.run(stop.signal);
  await expect.poll(() => server.isListening, { timeout: 10_000 }).toBe(true);
}

const queryOf = (name: string, id = 5): Buffer =>
  encodeQuery(
    id,
    { name: nameOf(name), type: recordType.A, class: 1 },
    { recursionDesired: true, checkingDisabled: false },
  );

async function askUdp(name: string): Promise<Buffer> {
  const socket = createSocket('udp4');
  closing.push(() => socket.close());
  socket.send(queryOf(name), port, address);
  const [packet] = await once(socket, 'message');
  return packet as Buffer;
}

async function open(): Promise<Socket> {
  const socket = connect(port, address);
  socket.on('error', () => undefined);
  closing.push(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

const framed = (packet: Buffer): Buffer =>
  Buffer.concat([Buffer.from([packet.length >> 8, packet.length & 255]), packet]);

async function read(socket: Socket, messages: number): Promise<Buffer[]> {
  let held = Buffer.alloc(0);
  const got: Buffer[] = [];
  while (got.length < messages) {
    const [chunk] = await once(socket, 'data');
    held = Buffer.concat([held, chunk as Buffer]);
    while (held.length >= 2 && held.length >= 2 + held.readUInt16BE(0)) {
      const end = 2 + held.readUInt16BE(0);
      got.push(held.subarray(2, end));
      held = held.subarray(end);
    }
  }
  return got;
}

const addressesIn = (packet: Buffer): string[] =>
  addressRecordsOf(packet).records.flatMap(({ data }) => ('address' in data ? [data.address] : []));

describe('a server of names', () => {
  it('answers datagrams and connections', async () => {
    await start();
    expect(addressesIn(await askUdp('web.shop.svc.cluster.local'))).toEqual(['10.96.3.3']);
    const socket = await open();
    const [one, two] = [
      framed(queryOf('web.shop.svc.cluster.local', 1)),
      framed(queryOf('no.cluster.local', 2)),
    ];
    socket.write(Buffer.concat([one, two.subarray(0, 7)]));
    setTimeout(() => socket.end(two.subarray(7)), 50);
    const answers = await read(socket, 2);
    expect(answers.map((each) => [decodeAnswer(each).id, decodeAnswer(each).code])).toEqual([
      [1, 0],
      [2, 3],
    ]);
    await once(socket, 'end');
  });

  it('asks a server outside by the way it was asked, and drops answers that were not asked for', async () => {
    const udp = createSocket('udp4');
    udp.bind(outsidePort, outside);
    await once(udp, 'listening');
    closing.push(() => udp.close());
    const answerTo = (packet: Buffer, ip: string, isLie = false): Buffer => {
      const decoded = decodeQuery(packet);
      if (decoded.kind !== 'query') throw new Error('no query');
      const { query } = decoded;
      const record = { name: query.question.name, ttlSeconds: 9, data: { type: 'A', address: ip } } as const;
      const answer = { code: 0, isAuthoritative: false, answers: [record], authority: [], additional: [] };
      return encodeAnswer({ ...query, id: isLie ? query.id ^ 1 : query.id }, answer, { maxBytes: 512 });
    };
    udp.on('message', (packet, from) => {
      udp.send(Buffer.from('nonsense'), from.port, from.address);
      udp.send(answerTo(packet, '192.0.2.66', true), from.port, from.address);
      udp.send(answerTo(packet, '192.0.2.1'), from.port, from.address);
    });
    const tcp = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (data) => socket.write(framed(answerTo(data.subarray(2), '192.0.2.2'))));
    });
    tcp.listen(outsidePort, outside);
    await once(tcp, 'listening');
    closing.push(() => tcp.close());
    await start();
    expect(addressesIn(await askUdp('example.com'))).toEqual(['192.0.2.1']);
    const socket = await open();
    socket.write(framed(queryOf('example.com')));
    expect(addressesIn((await read(socket, 1))[0]!)).toEqual(['192.0.2.2']);
  });

  it('says that it failed when nobody outside listens', async () => {
    await start();
    expect(decodeAnswer(await askUdp('example.com')).code).toBe(2);
  });

  it('closes connections of a client that has too many, and of one that sends nonsense', async () => {
    await start();
    const first = await open();
    const sockets = [first];
    while (sockets.length < servicesLimits.dnsConnectionsPerClient) sockets.push(await open());
    const late = connect(port, address);
    closing.push(() => late.destroy());
    late.on('error', () => undefined);
    late.resume();
    await once(late, 'close');
    const ended = once(first, 'close');
    first.resume();
    first.write(Buffer.from([255, 255, 1]));
    await ended;
    const again = await open();
    again.write(framed(queryOf('web.shop.svc.cluster.local')));
    expect(addressesIn((await read(again, 1))[0]!)).toEqual(['10.96.3.3']);
  });

  it('waits for its address', async () => {
    const other = createSocket('udp4');
    other.bind(port, address);
    await once(other, 'listening');
    running = server.run(stop.signal);
    const told = () =>
      timeline.ofNode().filter(({ what, kind }) => what === 'services.dns' && kind === 'problem');
    await expect.poll(told).toHaveLength(1);
    expect(told()[0]?.message).toBe(`names of Services cannot be served at ${address}:${port}`);
    other.close();
    await expect.poll(() => server.isListening, { timeout: 10_000 }).toBe(true);
  });
});

/** Connections through the proxy of Services against direct ones: requests a second, and the time of one request. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { type Bench, type Measure, median, roundsOf } from './measure.js';

const program = fileURLToPath(new URL('services-process.ts', import.meta.url));
const port = 18_099;
const [direct, service] = ['127.0.9.1', '127.0.9.2'];
const rounds = 7;
const clients = 16;
const requestsPerClient = 300;
const connectionsPerSample = 200;
const request = Buffer.alloc(128, 'x');

export const services: Bench = {
  name: 'services',
  summary: 'a Service’s proxy against a direct connection',
  async run({ options }) {
    const children: ChildProcess[] = [];
    try {
      children.push(await start('backend', direct));
      children.push(await start('proxy', service, direct));
      const samples: Record<'direct' | 'proxied', { rps: number[]; oneUs: number[]; connectUs: number[] }> = {
        direct: { rps: [], oneUs: [], connectUs: [] },
        proxied: { rps: [], oneUs: [], connectUs: [] },
      };
      // The first round has the code compiled; it is not counted.
      for (let round = -1; round < roundsOf(options, rounds); round++) {
        for (const [side, address] of [
          ['direct', direct],
          ['proxied', service],
        ] as const) {
          const [rps, oneUs, connectUs] = [
            await load(address),
            await requestUs(address),
            await connectionUs(address),
          ];
          if (round < 0) continue;
          samples[side].rps.push(rps);
          samples[side].oneUs.push(oneUs);
          samples[side].connectUs.push(connectUs);
        }
      }
      const { proxied, direct: plain } = samples;
      return [
        ratio('requests a second on 16 connections: proxied / direct', 'count', proxied.rps, plain.rps),
        ratio('one request after the other: proxied / direct', 'µs', proxied.oneUs, plain.oneUs),
        ratio(
          'a new connection with one request: proxied / direct',
          'µs',
          proxied.connectUs,
          plain.connectUs,
        ),
      ];
    } finally {
      for (const child of children) child.stdin?.end();
    }
  },
};

async function start(...words: readonly [string, string, string?]): Promise<ChildProcess> {
  const [role, address, backend = ''] = words;
  const child = spawn(process.execPath, ['--import', 'tsx', program, role, address, String(port), backend], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

async function open(address: string): Promise<Socket> {
  const socket = connect({ host: address, port, noDelay: true });
  await once(socket, 'connect');
  return socket;
}

/** Resolves when the whole answer is there. */
function exchange(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let missing = request.length;
    const onData = (data: Buffer): void => {
      missing -= data.length;
      if (missing > 0) return;
      socket.off('data', onData);
      socket.off('error', reject);
      resolve();
    };
    socket.on('data', onData);
    socket.once('error', reject);
    socket.write(request);
  });
}

async function load(address: string): Promise<number> {
  const sockets = await Promise.all(Array.from({ length: clients }, () => open(address)));
  const startMs = performance.now();
  await Promise.all(
    sockets.map(async (socket) => {
      for (let made = 0; made < requestsPerClient; made++) await exchange(socket);
    }),
  );
  const seconds = (performance.now() - startMs) / 1000;
  for (const socket of sockets) socket.destroy();
  return (clients * requestsPerClient) / seconds;
}

async function requestUs(address: string): Promise<number> {
  const socket = await open(address);
  const startMs = performance.now();
  for (let made = 0; made < requestsPerClient; made++) await exchange(socket);
  socket.destroy();
  return ((performance.now() - startMs) * 1000) / requestsPerClient;
}

async function connectionUs(address: string): Promise<number> {
  const startMs = performance.now();
  for (let made = 0; made < connectionsPerSample; made++) {
    const socket = await open(address);
    await exchange(socket);
    socket.destroy();
  }
  return ((performance.now() - startMs) * 1000) / connectionsPerSample;
}

function ratio(
  name: string,
  unit: 'count' | 'µs',
  ours: readonly number[],
  theirs: readonly number[],
): Measure {
  const compared = { unit, ours: median(ours), theirs: median(theirs) };
  const samples = ours.map((our, round) => our / (theirs[round] ?? our));
  return { name, unit: 'ratio', value: compared.ours / compared.theirs, samples, compared };
}

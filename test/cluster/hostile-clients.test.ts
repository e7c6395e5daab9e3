/** Clients that mean no good, or know no better: too large, malformed, slow or many, they do no harm to anybody else. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IssuedPair } from '../env/control-plane-pki.js';
import { busybox, type Cluster, eventually, podManifest, startCluster } from './cluster.js';
import { startKubectl, streamProtocols } from './kubectl.js';
import { ask, connectPort, sayRaw } from './kubelet-port.js';

let cluster: Cluster;
let admin: IssuedPair;
let pid: number | undefined;
const isNodelet = (process.env.NODELET_TEST_KUBELET ?? '') === '';

beforeAll(async () => {
  cluster = await startCluster({ plane: { scheduler: false } });
  admin = cluster.plane.pki.issue({
    subject: { commonName: 'kubernetes-admin', organizations: ['system:masters'] },
  });
  const { name: nodeName } = cluster.node;
  await cluster.apply(
    podManifest('box', { nodeName }),
    podManifest('loud', {
      nodeName,
      containers: [{ name: 'app', image: busybox, command: ['sh', '-c', 'seq 2000000; sleep 100000'] }],
    }),
  );
  await cluster.untilReady('box');
  await cluster.untilReady('loud');
  pid = cluster.node.pid;
});
afterAll(() => cluster?.stop());

/** That it lives, still the same process, and answers. */
async function expectUnharmed(): Promise<void> {
  const { status, body } = await ask(cluster, '/pods', { certificate: admin });
  expect([status, JSON.parse(body).items.length, cluster.node.pid]).toEqual([200, 2, pid]);
}

const requestHead = (lines: readonly string[]): string => `${lines.join('\r\n')}\r\n\r\n`;

describe('a request', () => {
  it('with headers beyond all measure is refused', async () => {
    const heard = await sayRaw(
      cluster,
      requestHead(['GET /pods HTTP/1.1', 'Host: node', `X-Large: ${'x'.repeat(3 << 20)}`]),
    );
    expect(heard).toMatch(/^(HTTP\/1\.1 431 |$)/);
    await expectUnharmed();
  });

  it('with a path beyond all measure is refused', async () => {
    const { status } = await ask(cluster, `/pods?${'x'.repeat(200_000)}`);
    expect(status).toBe(401);
    await expectUnharmed();
  });

  it.each([
    ['that is none', 'NONSENSE\r\n\r\n'],
    ['of another protocol', '\x16\x03\x01\x00\x00'],
    ['with a header that is none', requestHead(['GET /pods HTTP/1.1', 'Host: node', 'no colon'])],
    ['without a host', requestHead(['GET /pods HTTP/1.1'])],
    [
      'with two lengths',
      requestHead(['POST /pods HTTP/1.1', 'Host: a', 'Content-Length: 1', 'Content-Length: 2']),
    ],
    [
      'that could be two',
      requestHead(['POST /pods HTTP/1.1', 'Host: a', 'Content-Length: 4', 'Transfer-Encoding: chunked']),
    ],
    [
      'with a broken chunk',
      `${requestHead(['POST /pods HTTP/1.1', 'Host: a', 'Transfer-Encoding: chunked'])}zz\r\n`,
    ],
    [
      'that leads out of the directory',
      requestHead(['GET /logs/../../etc/passwd HTTP/1.1', 'Host: node', 'Connection: close']),
    ],
  ])('%s gets no answer that helps', async (_, bytes) => {
    const heard = await sayRaw(cluster, bytes, 8_000);
    expect(heard).toMatch(/^($|HTTP\/1\.1 (400|401|307|301|405|501) )/);
    expect(heard).not.toContain('root:');
    await expectUnharmed();
  });

  it('with a body that nobody asked for is not kept', async () => {
    const before = cluster.node.rssBytes();
    const body = Buffer.alloc(64 << 20);
    const bodies = [1, 2].map(() =>
      // It may be cut off while it sends.
      ask(cluster, '/run/default/box/app?cmd=id', { method: 'POST', certificate: admin, body }).catch(
        () => undefined,
      ),
    );
    const answers = await Promise.all(bodies);
    for (const answer of answers) expect([undefined, 200, 413]).toContain(answer?.status);
    await expectUnharmed();
    if (isNodelet) expect(cluster.node.rssBytes() - before).toBeLessThan(64 << 20);
  });

  it('in plain text is not served', async () => {
    const heard = await plain('GET /pods HTTP/1.1\r\nHost: node\r\n\r\n');
    expect(heard).toMatch(/^($|HTTP\/1\.0 400 Bad Request)/);
    expect(heard).not.toContain('PodList');
    await expectUnharmed();
  });
});

/** What comes back as HTTP; alerts of TLS are no answer. */
function plain(text: string): Promise<string> {
  return new Promise((resolve) => {
    const { address, port } = cluster.node;
    let heard = '';
    const socket = connect(port, address, () => socket.write(text));
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve(heard.startsWith('HTTP/') ? heard : ''));
    socket.setTimeout(8_000, () => socket.destroy());
  });
}

describe('slow clients', () => {
  const count = 150;

  it('that never finish their request do not keep others waiting, and are shown out', async () => {
    const opened = await Promise.all(Array.from({ length: count }, () => connectPort(cluster)));
    let closed = 0;
    for (const socket of opened) {
      socket.on('error', () => {});
      socket.once('close', () => closed++);
      socket.resume();
      socket.write('GET /pods HTTP/1.1\r\nHost: node\r\nX-Slow: ');
    }
    const drip = setInterval(() => {
      for (const socket of opened) if (!socket.destroyed) socket.write('x');
    }, 1_000);
    try {
      await expectUnharmed();
      expect(await cluster.kubectl('exec', 'box', '--', 'echo', 'hello')).toBe('hello\n');
      if (isNodelet) await eventually('all are shown out', async () => closed === count);
    } finally {
      clearInterval(drip);
      for (const socket of opened) socket.destroy();
    }
  });

  it('that never begin their handshake do not either', async () => {
    const { address, port } = cluster.node;
    const opened: Socket[] = Array.from({ length: count }, () =>
      connect(port, address).on('error', () => {}),
    );
    try {
      await expectUnharmed();
    } finally {
      for (const socket of opened) socket.destroy();
    }
  });

  it('that do not read what they asked for hold up nobody', async () => {
    const opened = await Promise.all(Array.from({ length: 20 }, () => connectPort(cluster, admin)));
    try {
      for (const socket of opened) {
        socket.on('error', () => {});
        socket.pause();
        socket.write(requestHead(['GET /metrics HTTP/1.1', 'Host: node']).repeat(50));
      }
      await expectUnharmed();
    } finally {
      for (const socket of opened) socket.destroy();
    }
  });
});

describe('streams', () => {
  it('that nobody reads at one end are not kept here', async () => {
    const before = cluster.node.rssBytes();
    const running = await Promise.all([
      startKubectl(cluster, ['logs', '-f', 'loud'], { unread: true }),
      ...streamProtocols.flatMap((protocol) => [
        startKubectl(cluster, ['exec', 'box', '--', 'yes'], { protocol, unread: true }),
        startKubectl(cluster, ['exec', '-i', 'box', '--', 'sleep', '20'], {
          protocol,
          input: Buffer.alloc(48 << 20),
        }),
      ]),
    ]);
    try {
      await new Promise((resolve) => setTimeout(resolve, 6_000));
      // Clients send 144 MiB, and what they could read has no end. A busy machine collects late: 101 MiB were seen.
      expect(cluster.node.rssBytes() - before).toBeLessThan(128 << 20);
      await expectUnharmed();
    } finally {
      await Promise.all(running.map((each) => each.kill()));
    }
  });
});

describe('the node', () => {
  it('listens where it was told to, and nowhere else', () => {
    const { address, port, healthzPort } = cluster.node;
    expect(listeners(cluster.node.pid ?? 0)).toEqual(
      [`${address}:${port}`, `${address}:${healthzPort}`].sort(),
    );
  });
});

/** Where a process listens for TCP and UDP, IPv4 and IPv6. */
function listeners(process: number): string[] {
  const inodes = new Set(
    readdirSync(`/proc/${process}/fd`).map((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${process}/fd/${fd}`))?.[1];
      } catch {
        // It was closed in between.
        return undefined;
      }
    }),
  );
  const listening = (file: string, state: string): string[] =>
    readFileSync(`/proc/${process}/net/${file}`, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === state && inodes.has(fields[9]))
      .map((fields) => endpoint(fields[1] ?? ''));
  return [
    ...['tcp', 'tcp6'].flatMap((file) => listening(file, '0A')),
    ...['udp', 'udp6'].flatMap((file) => listening(file, '07')),
  ].sort();
}

/** `0100007F:1F90` as `127.0.0.1:8080`; what is not of IPv4 stays as it is. */
function endpoint(hex: string): string {
  const [address = '', port = ''] = hex.split(':');
  const bytes = Buffer.from(address, 'hex').reverse();
  return `${bytes.length === 4 ? bytes.join('.') : address}:${Number.parseInt(port, 16)}`;
}

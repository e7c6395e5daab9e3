/** Clients of a bare node's API that mean no good, and a disk that is full: nobody else is harmed, nothing is lost. */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../env/command.js';
import { controlPlaneProgram } from '../env/control-plane-binaries.js';
import { BareNode } from './bare-node.js';
import { BareNodePort, rssBytes } from './bare-node-port.js';
import { eventually } from './cluster.js';

const node = new BareNode({ runtime: ['--runtime', 'process'], serviceCidr: '10.118.0.0/24' });
const objects = path.join(node.stateDir, 'objects');
const maps = '/api/v1/namespaces/default/configmaps';
const MiB = 1 << 20;
let port: BareNodePort;
let pid = 0;
let isMounted = false;

beforeAll(async () => {
  await controlPlaneProgram('kubectl');
  mkdirSync(objects);
  // A disk that the tests can fill.
  await runCommand('mount', ['-t', 'tmpfs', '-o', 'size=96m,mode=0700', 'tmpfs', objects]);
  isMounted = true;
  await node.start();
  port = new BareNodePort(node);
  pid = node.pid;
});
afterAll(async () => {
  try {
    await node.tryKubectl('delete', 'configmaps,pods', '--all', '--force', '--grace-period=0');
    await node.end('SIGTERM');
  } finally {
    await node.end('SIGKILL');
    if (isMounted) await runCommand('umount', [objects]);
    await node.remove();
  }
});

/** That it lives, still the same process, and answers its owner. */
async function expectUnharmed(): Promise<void> {
  expect(await node.kubectl('get', 'nodes', '-o', 'name')).toMatch(/^node\//);
  expect(node.pid).toBe(pid);
  expect(existsSync(`/proc/${pid}`)).toBe(true);
}

const map = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

const head = (lines: readonly string[]): string => `${lines.join('\r\n')}\r\n\r\n`;

describe('a request', () => {
  it.each([
    ['that is none', 'NONSENSE\r\n\r\n'],
    ['with a header that is none', head(['GET /api HTTP/1.1', 'Host: node', 'no colon'])],
    ['with two lengths', head(['POST /api HTTP/1.1', 'Host: a', 'Content-Length: 1', 'Content-Length: 2'])],
    [
      'that could be two',
      head(['POST /api HTTP/1.1', 'Host: a', 'Content-Length: 4', 'Transfer-Encoding: chunked']),
    ],
    ['with headers beyond all measure', head(['GET /api HTTP/1.1', 'Host: a', `X: ${'x'.repeat(3 * MiB)}`])],
    ['with a path beyond all measure', head([`GET /api/${'x'.repeat(20_000)} HTTP/1.1`, 'Host: a'])],
    [
      'with a body beyond all measure',
      head([`POST ${maps} HTTP/1.1`, 'Host: a', 'Content-Length: 99999999']),
    ],
  ])('%s is refused', async (_what, bytes) => {
    expect(await port.say(bytes)).toMatch(/^($|HTTP\/1\.1 4\d\d )/);
    await expectUnharmed();
  });

  it('whose body never ends is cut off', async () => {
    const socket = await port.connect();
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.resume();
    socket.write(head([`POST ${maps} HTTP/1.1`, 'Host: a', 'Transfer-Encoding: chunked']));
    const piece = `${(65_536).toString(16)}\r\n${'x'.repeat(65_536)}\r\n`;
    const feed = setInterval(() => socket.write(piece), 5);
    await closed;
    clearInterval(feed);
    await expectUnharmed();
  });

  it.each([
    ['PUT', `${maps}/..`],
    ['PUT', `${maps}/..%2F..%2F..%2Fescaped`],
    ['PATCH', `${maps}/..%2Fescaped`],
    ['PATCH', `${maps}/%00`],
    ['PATCH', `${maps}/${'x'.repeat(254)}`],
    ['PATCH', '/api/v1/namespaces/..%2F..%2Fescaped/configmaps/x'],
  ])('%s of %s writes nothing anywhere', async (method, target) => {
    const name = decodeURIComponent(target.split('/').at(-1) ?? '');
    const query = method === 'PATCH' ? '?fieldManager=m' : '';
    const type = method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/json';
    const { status } = await port.write(method, `${target}${query}`, map(name), type);
    expect([307, 400, 404, 422]).toContain(status);
    expect(readdirSync(node.stateDir).filter((file) => file.includes('escaped'))).toEqual([]);
    expect(readdirSync(objects).filter((file) => file.includes('escaped'))).toEqual([]);
  });

  it('without credentials gets nothing', async () => {
    for (const token of ['nonsense', 'a.b.c', ''])
      expect((await port.ask('/version', { token })).status).toBe(401);
  });
});

describe('slow clients', () => {
  it('that never finish their request or handshake keep nobody waiting, and are shown out', async () => {
    const dripping = await Promise.all(Array.from({ length: 100 }, () => port.connect()));
    const silent = Array.from({ length: 100 }, () => port.connectPlain());
    let closed = 0;
    for (const socket of dripping) {
      socket.once('close', () => closed++);
      socket.resume();
      socket.write('GET /api HTTP/1.1\r\nHost: node\r\nX-Slow: ');
    }
    const drip = setInterval(() => {
      for (const socket of dripping) if (!socket.destroyed) socket.write('x');
    }, 1_000);
    try {
      await expectUnharmed();
      await eventually('all are shown out', async () => closed === dripping.length);
    } finally {
      clearInterval(drip);
      for (const socket of [...dripping, ...silent]) socket.destroy();
    }
  });
});

describe('a pod with the token of its account', () => {
  const token = async (...more: string[]): Promise<string> =>
    (await node.kubectl('create', 'token', 'default', ...more)).trim();

  it('may ask what the API has, and nothing else', async () => {
    const own = await token();
    expect((await port.ask('/api/v1', { token: own })).status).toBe(200);
    for (const target of [
      '/api/v1/namespaces/default/secrets',
      `${maps}/x`,
      '/api/v1/pods?watch=1',
      '/metrics',
    ])
      expect((await port.ask(target, { token: own })).status).toBe(403);
    const headers = { 'impersonate-user': 'x', 'impersonate-group': 'system:masters' };
    expect((await port.ask('/api/v1/nodes', { token: own, headers })).status).toBe(403);
  });

  it('is nobody any more when its pod or its account is gone', async () => {
    await node.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'holder' },
      spec: { nodeName: 'elsewhere', containers: [{ name: 'c', image: 'none' }] },
    });
    await node.kubectl('create', 'serviceaccount', 'short');
    const bound = await token('--bound-object-kind=Pod', '--bound-object-name=holder');
    const short = (await node.kubectl('create', 'token', 'short')).trim();
    for (const one of [bound, short]) expect((await port.ask('/version', { token: one })).status).toBe(200);
    await node.kubectl('delete', 'pod', 'holder', '--force', '--grace-period=0');
    await node.kubectl('delete', 'serviceaccount', 'short');
    for (const one of [bound, short]) expect((await port.ask('/version', { token: one })).status).toBe(401);
    await node.kubectl('create', 'serviceaccount', 'short');
    expect((await port.ask('/version', { token: short })).status).toBe(401);
  });

  it('cannot fill the port with answers that it does not read', async () => {
    const own = await token();
    const before = rssBytes(pid);
    const opened: TLSSocket[] = [];
    try {
      for (let n = 0; n < 1_200; n += 50) {
        const more = await Promise.allSettled(
          Array.from({ length: 50 }, () => port.unread('/openapi/v2', own)),
        );
        for (const one of more) if (one.status === 'fulfilled') opened.push(one.value);
      }
      await expectUnharmed();
      expect(rssBytes(pid) - before).toBeLessThan(512 * MiB);
    } finally {
      for (const socket of opened) socket.destroy();
    }
  });
});

describe('an owner that', () => {
  const text = 'x'.repeat(900_000);

  it('opens watches and reads none of them takes no memory for what they miss', async () => {
    await port.write('POST', maps, map('churn'));
    const opened = await Promise.all(Array.from({ length: 200 }, () => port.unread(`${maps}?watch=1`)));
    try {
      const change = (n: number): Promise<unknown> =>
        port.write('PUT', `${maps}/churn`, map('churn', { text: `${n}${text}` }));
      for (let n = 0; n < 10; n++) await change(n);
      const before = rssBytes(pid);
      for (let n = 0; n < 60; n++) await change(n);
      await expectUnharmed();
      // Each of these changes was 0.9 MiB, for each of 200 watchers.
      expect(rssBytes(pid) - before).toBeLessThan(160 * MiB);
    } finally {
      for (const socket of opened) socket.destroy();
    }
    await node.kubectl('delete', 'configmap', 'churn');
  });

  it('opens too many watches is told so, and still served', async () => {
    const opened: TLSSocket[] = [];
    try {
      for (let n = 0; n < 1_000; n += 50)
        opened.push(
          ...(await Promise.all(Array.from({ length: 50 }, () => port.unread('/api/v1/nodes?watch=1')))),
        );
      await eventually('one more is refused', async () => {
        const { status, headers } = await port.ask('/api/v1/nodes?watch=1&timeoutSeconds=1');
        return status === 429 && headers['retry-after'] !== undefined;
      });
      await expectUnharmed();
    } finally {
      for (const socket of opened) socket.destroy();
    }
  });

  it('lists much and reads nothing costs no copy of it', async () => {
    const names = Array.from({ length: 40 }, (_, n) => `big${n}`);
    for (const name of names) expect((await port.write('POST', maps, map(name, { text }))).status).toBe(201);
    const before = rssBytes(pid);
    const opened = await Promise.all(Array.from({ length: 40 }, () => port.unread(maps)));
    try {
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      await expectUnharmed();
      // Forty whole lists would be 1.4 GiB.
      expect(rssBytes(pid) - before).toBeLessThan(256 * MiB);
    } finally {
      for (const socket of opened) socket.destroy();
    }
    const { body } = await port.ask(maps);
    const listed = JSON.parse(body).items.map(
      ({ metadata }: { metadata: { name: string } }) => metadata.name,
    );
    expect(listed).toEqual(expect.arrayContaining(names));
  });
});

describe('a disk that is full', () => {
  it('refuses what it cannot take, keeps what it has, and goes on when there is room', async () => {
    await port.write('POST', maps, map('small', { is: 'old' }));
    let refused = { status: 0, body: '' };
    let made = 0;
    for (const size of [1_000_000, 100_000]) {
      refused = { status: 0, body: '' };
      while (refused.status === 0) {
        const answer = await port.write('POST', maps, map(`fill${made}`, { filler: 'y'.repeat(size) }));
        if (answer.status === 201) made++;
        else refused = answer;
        expect(made).toBeLessThan(150);
      }
      expect(refused.status).toBe(500);
      expect(JSON.parse(refused.body).message).toContain('ENOSPC');
      expect((await port.ask(`${maps}/fill${made}`)).status).toBe(404);
    }
    const patch = JSON.stringify({ data: { filler: 'y'.repeat(120_000) } });
    const kubectl = await node.tryKubectl('patch', 'configmap', 'small', '-p', patch);
    expect(kubectl.stderr).toContain('the disk of the node does not take the change');
    expect(JSON.parse((await port.ask(`${maps}/small`)).body).data).toEqual({ is: 'old' });
    await node.kubectl('delete', 'configmap', 'fill0');
    await node.kubectl('patch', 'configmap', 'small', '-p', '{"data":{"is":"new"}}');
    await node.end('SIGKILL');
    await node.start();
    pid = node.pid;
    expect(JSON.parse((await port.ask(`${maps}/small`)).body).data).toEqual({ is: 'new' });
    expect((await port.ask(`${maps}/fill${made}`)).status).toBe(404);
    expect((await port.ask(`${maps}/fill${made - 1}`)).status).toBe(200);
    expect(readFileSync(path.join(objects, 'core/configmaps/default/small.yaml'), 'utf8')).toContain(
      'is: new',
    );
  });
});

/**
 * The client CA bundle is replaced while clients are connected: who stays, who must reconnect, who is cut
 * off.
 */
import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import path from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { type CertificateOptions, generateKeyPem, makeCertificate } from '../../x509/certificate.js';
import type { ServingKeyPair } from '../tls/secure-serving.js';
import { alice, authority, call, type MainServer, otherAuthority, startMain } from './test-main.js';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
async function main(): Promise<MainServer> {
  const server = await startMain();
  closers.push(() => server.close());
  return server;
}

/** Resolves when the new bundle is in use. */
async function rotate(server: MainServer, pem: string): Promise<void> {
  const reads = () =>
    server.timeline.ofNode().filter(({ message }) => message === 'the client CA bundle was reloaded').length;
  const before = reads();
  const file = path.join(server.dir, 'next.pem');
  writeFileSync(file, pem);
  renameSync(file, server.caFile);
  await expect.poll(reads, { timeout: 5000 }).toBe(before + 1);
}

const hourMs = 3_600_000;
const validity = { notBeforeMs: Date.now() - hourMs, notAfterMs: Date.now() + hourMs };
const root = { subject: { commonName: 'root' }, keyPem: generateKeyPem() };
const middle = { subject: { commonName: 'middle' }, keyPem: generateKeyPem() };
const rootPem = (more: Partial<CertificateOptions> = {}) =>
  makeCertificate({ ...root, ...validity, isAuthority: true, ...more });
const carol: ServingKeyPair = (() => {
  const keyPem = generateKeyPem();
  const leaf = makeCertificate({
    subject: { commonName: 'carol' },
    keyPem,
    issuer: middle,
    ...validity,
    usages: ['clientAuth'],
    names: { dnsNames: ['carol.example'] },
  });
  const between = makeCertificate({ ...middle, issuer: root, ...validity, isAuthority: true });
  return { certificatePem: `${leaf}${between}`, keyPem };
})();

/** A keep-alive connection. */
function keptBy(who: ServingKeyPair) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  closers.push(() => agent.destroy());
  return { as: who, tls: { agent } };
}
const portOf = ({ tls: { agent } }: ReturnType<typeof keptBy>): number | undefined =>
  Object.values(agent.freeSockets)[0]?.[0]?.localPort;
/** A request at the moment its connection ends must be retried. */
const gone = (kept: ReturnType<typeof keptBy>) =>
  expect.poll(() => portOf(kept), { timeout: 5000 }).toBeUndefined();

describe('a chain that the new authorities do not trust', () => {
  it.each<[string, Partial<CertificateOptions>]>([
    ['by its length', { pathLength: 0 }],
    ['by its names', { excludedDnsNames: ['example'] }],
  ])('%s is rejected on open connections, too', async (_, constraint) => {
    const server = await main();
    await rotate(server, rootPem());
    const kept = keptBy(carol);
    expect((await call(server, 'GET /pods', kept)).status).toBe(200);
    await rotate(server, rootPem(constraint));
    await gone(kept);
    expect((await call(server, 'GET /pods', { as: carol })).status).toBe(401);
    expect((await call(server, 'GET /pods', kept)).status).toBe(401);
    await rotate(server, rootPem());
    await gone(kept);
    expect((await call(server, 'GET /pods', kept)).status).toBe(200);
  });
});

describe('a client of an authority that stays', () => {
  it('continues on a new connection', async () => {
    const server = await main();
    const kept = keptBy(alice);
    await call(server, 'GET /pods', kept);
    const before = portOf(kept);
    await rotate(server, `${authority.pem}${otherAuthority.pem}`);
    await gone(kept);
    expect((await call(server, 'GET /pods', kept)).status).toBe(200);
    expect(portOf(kept)).not.toBe(before);
  });

  it('without a certificate keeps its connection', async () => {
    const server = await main();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    closers.push(() => agent.destroy());
    const kept = { token: 'good', tls: { agent } };
    await call(server, 'GET /pods', kept);
    const port = Object.values(agent.freeSockets)[0]?.[0]?.localPort;
    await rotate(server, otherAuthority.pem);
    expect((await call(server, 'GET /pods', kept)).status).toBe(200);
    expect(Object.values(agent.freeSockets)[0]?.[0]?.localPort).toBe(port);
  });
});

async function secured(server: MainServer, who: ServingKeyPair, over?: Socket): Promise<TLSSocket> {
  const socket = connect({
    ...(over === undefined ? { host: '127.0.0.1', port: server.port } : { socket: over }),
    ca: authority.pem,
    servername: 'localhost',
    cert: who.certificatePem,
    key: who.keyPem,
  });
  closers.push(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

it('a running request of a removed authority is cut off', async () => {
  const server = await main();
  const socket = await secured(server, alice);
  const closed = once(socket, 'close');
  socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n');
  await rotate(server, otherAuthority.pem);
  await closed;
});

it('a handshake that began with the old authorities is void with the new ones', async () => {
  const server = await main();
  const early = connectTcp({ host: '127.0.0.1', port: server.port });
  closers.push(() => early.destroy());
  await once(early, 'connect');
  // The server has accepted the connection once it responds on another one.
  expect((await call(server, 'GET /pods', { as: alice })).status).toBe(200);
  await rotate(server, `${authority.pem}${otherAuthority.pem}`);
  expect((await call(server, 'GET /pods', { as: alice })).status).toBe(200);
  const socket = await secured(server, alice, early);
  const closed = once(socket, 'close');
  let response = '';
  socket.on('data', (chunk) => {
    response += String(chunk);
  });
  socket.write('GET /pods HTTP/1.1\r\nHost: a\r\n\r\n');
  await closed;
  expect(response).toBe('');
});

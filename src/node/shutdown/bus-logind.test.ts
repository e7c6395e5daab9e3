/** logind on a bus: what it may answer, and what is made of it. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../async/index.js';
import type { DbusMessage } from '../../dbus/index.js';
import { type PeerClient, startTestPeer, type TestPeer } from '../../dbus/test-peer.js';
import { busLogind } from './bus-logind.js';
import type { LogindConnection } from './logind.js';

const opened: { close(): void | Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});
const { signal } = new AbortController();

/** A bus behind which logind answers as the test says; calls of the bus itself have empty replies. */
async function connected(
  answer: (message: DbusMessage, client: PeerClient) => void,
  heard: boolean[] = [],
): Promise<{ connection: LogindConnection; peer: TestPeer }> {
  const peer = await startTestPeer({
    onMessage: (message, client) =>
      message.destination === 'org.freedesktop.DBus' ? client.reply(message) : answer(message, client),
  });
  opened.push(peer);
  const environment = { DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${peer.socketPath}` };
  const logind = busLogind({ clock: systemClock, environment });
  const connection = await logind.connect((isBegun) => void heard.push(isBegun), signal);
  opened.push(connection);
  return { connection, peer };
}

const variant =
  (signature: string, value: bigint | string | number) =>
  (message: DbusMessage, client: PeerClient): void =>
    client.reply(message, { signature: 'v', body: [{ signature, value }] });

it('reads the delay, however long', async () => {
  const asked: unknown[] = [];
  const { connection } = await connected((message, client) => {
    asked.push(message.destination, message.interface, message.member, ...message.readBody());
    variant('t', 5_000_000n)(message, client);
  });
  expect(await connection.inhibitDelayMaxMs(signal)).toBe(5_000);
  expect(asked).toEqual([
    'org.freedesktop.login1',
    'org.freedesktop.DBus.Properties',
    'Get',
    'org.freedesktop.login1.Manager',
    'InhibitDelayMaxUSec',
  ]);
  const endless = await connected(variant('t', 2n ** 64n - 1n));
  expect(await endless.connection.inhibitDelayMaxMs(signal)).toBeGreaterThan(1e15);
});

it.each<[rule: string, answer: (message: DbusMessage, client: PeerClient) => void, error: string]>([
  ['a text', variant('s', '5'), 'InhibitDelayMaxUSec from logind is not a uint64 as expected'],
  ['a signed number', variant('x', 5n), 'InhibitDelayMaxUSec from logind is not a uint64 as expected'],
  [
    'nothing',
    (message, client) => client.reply(message),
    'InhibitDelayMaxUSec from logind is not a uint64 as expected',
  ],
  [
    'an error',
    (message, client) =>
      client.refuse(message, 'org.freedesktop.DBus.Error.ServiceUnknown', 'nobody has that name'),
    'failed reading InhibitDelayMaxUSec property from logind: nobody has that name',
  ],
  [
    'its end',
    (_message, client) => client.socket.destroy(),
    'failed reading InhibitDelayMaxUSec property from logind: the D-Bus connection ended',
  ],
])('a delay that is %s is an error', async (_rule, answer, error) => {
  const { connection } = await connected(answer);
  await expect(connection.inhibitDelayMaxMs(signal)).rejects.toThrow(error);
});

it('lets systemd send logind a hang-up', async () => {
  const asked: unknown[] = [];
  const { connection } = await connected((message, client) => {
    asked.push(message.destination, message.member, ...message.readBody());
    if (asked.length === 5) client.reply(message);
    else client.refuse(message, 'a.No', 'not now');
  });
  await connection.reloadConfiguration(signal);
  expect(asked).toEqual(['org.freedesktop.systemd1', 'KillUnit', 'systemd-logind.service', 'all', 1]);
  await expect(connection.reloadConfiguration(signal)).rejects.toThrow(
    'unable to reload logind conf: not now',
  );
});

it('hears only what is PrepareForShutdown with a boolean', async () => {
  const heard: boolean[] = [];
  const { peer } = await connected(() => undefined, heard);
  const [client] = peer.clients;
  const signalOf = {
    kind: 'signal',
    path: '/org/freedesktop/login1',
    interface: 'org.freedesktop.login1.Manager',
  } as const;
  client?.send({ ...signalOf, member: 'PrepareForSleep', signature: 'b', body: [true] });
  client?.send({ ...signalOf, member: 'PrepareForShutdown', signature: 's', body: ['true'] });
  client?.send({ ...signalOf, member: 'PrepareForShutdown' });
  client?.send({ ...signalOf, member: 'PrepareForShutdown', signature: 'b', body: [true] });
  await expect.poll(() => heard).toEqual([true]);
});

it('tells why a program that takes no lock ended', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'bus-logind-'));
  opened.push({ close: () => rmSync(directory, { recursive: true }) });
  const program = join(directory, 'systemd-inhibit');
  writeFileSync(
    program,
    '#!/bin/sh\necho "Failed to connect to bus: $DBUS_SYSTEM_BUS_ADDRESS" >&2; exit 1\n',
  );
  chmodSync(program, 0o755);
  vi.stubEnv('PATH', directory);
  opened.push({ close: () => void vi.unstubAllEnvs() });
  const { connection, peer } = await connected(() => undefined);
  await expect(connection.inhibit(signal)).rejects.toThrow(
    `failed creating systemd inhibitor: Failed to connect to bus: unix:path=${peer.socketPath}`,
  );
});

it('is lost with its connection', async () => {
  const { connection, peer } = await connected(() => undefined);
  peer.clients[0]?.socket.destroy();
  expect(await connection.lost).toContain('the D-Bus connection ended');
});

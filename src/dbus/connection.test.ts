/** A connection with peers that answer, are silent, vanish or send what they should not. */
import { afterEach, expect, it } from 'vitest';
import { Cancelled, systemClock, TimedOut, VirtualClock } from '../async/index.js';
import { connectDbus, type DbusConnection } from './connection.js';
import { DbusAuthRefused, DbusDisconnected, DbusError } from './errors.js';
import { dbusLimits } from './limits.js';
import { startTestPeer, type TestPeer, type TestPeerOptions } from './test-peer.js';

const opened: { close(): void | Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

async function connected(
  options: TestPeerOptions,
  { isBus = false, clock = systemClock } = {},
): Promise<{ peer: TestPeer; connection: DbusConnection }> {
  const peer = await startTestPeer(options);
  opened.push(peer);
  const connection = await connectDbus({ socketPath: peer.socketPath, isBus, clock });
  opened.push(connection);
  return { peer, connection };
}

const call = { path: '/a', interface: 'a.b', member: 'C' };

it('says Hello to a bus and not to a peer', async () => {
  const onMessage: TestPeerOptions['onMessage'] = (message, client) =>
    client.reply(message, { signature: 's', body: [':1.7'] });
  const bus = await connected({ onMessage }, { isBus: true });
  expect(bus.peer.clients[0]?.heard).toEqual(['Hello']);
  const direct = await connected({ onMessage });
  await direct.connection.call(call);
  expect(direct.peer.clients[0]?.heard).toEqual(['C']);
});

it('asks again without a user id where the server knows another one', async () => {
  const answers = ['REJECTED EXTERNAL', 'DATA', 'OK 00'];
  const { peer } = await connected({ auth: () => answers.shift() });
  await expect.poll(() => peer.lines.slice(1)).toEqual(['AUTH EXTERNAL', 'DATA', 'BEGIN']);
});

it.each<[rule: string, auth: (line: string) => string]>([
  ['refuses us', () => 'REJECTED'],
  ['refuses us twice', () => 'REJECTED EXTERNAL'],
  ['never decides', () => 'DATA'],
  ['sends a line without an end', () => 'x'.repeat(dbusLimits.authLineBytes + 1)],
])('gives up on a server that %s', async (_rule, auth) => {
  await expect(connected({ auth })).rejects.toThrow(DbusAuthRefused);
});

it('gives up on a server that says nothing', async () => {
  const clock = new VirtualClock();
  const attempt = connected({ auth: () => undefined }, { clock });
  const outcome = expect(attempt).rejects.toThrow(TimedOut);
  await expect.poll(() => clock.pendingTimers).toBe(1);
  await clock.advance(dbusLimits.connectMs);
  await outcome;
});

it('is cancelled while it connects', async () => {
  const peer = await startTestPeer({ auth: () => undefined });
  opened.push(peer);
  const stop = new AbortController();
  const attempt = connectDbus({
    socketPath: peer.socketPath,
    isBus: false,
    clock: systemClock,
    signal: stop.signal,
  });
  stop.abort();
  await expect(attempt).rejects.toThrow(Cancelled);
});

it('gives replies to their calls in any order, and errors by their names', async () => {
  const waiting: (() => void)[] = [];
  const { connection } = await connected({
    onMessage: (message, client) => {
      waiting.unshift(() => {
        if (message.member === 'Bad') client.refuse(message, 'org.test.Bad', 'it is bad');
        else client.reply(message, { signature: 's', body: [message.member ?? ''] });
      });
      if (waiting.length === 3) for (const answer of waiting) answer();
    },
  });
  const [first, bad, last] = await Promise.allSettled(
    ['First', 'Bad', 'Last'].map((member) => connection.call({ ...call, member })),
  );
  expect([first, last]).toMatchObject([{ value: ['First'] }, { value: ['Last'] }]);
  expect(bad).toMatchObject({ reason: { name: 'org.test.Bad', message: 'it is bad' } });
  expect(bad?.status === 'rejected' && bad.reason).toBeInstanceOf(DbusError);
});

it('takes the name of an error for its text where it has none, and cuts a long text', async () => {
  const { connection } = await connected({
    onMessage: (message, client) => {
      if (message.member === 'Long') client.refuse(message, 'a.Long', 'x'.repeat(100_000));
      else client.send({ kind: 'error', errorName: 'a.Bare', replySerial: message.serial });
    },
  });
  await expect(connection.call(call)).rejects.toThrow('a.Bare');
  const error = await connection.call({ ...call, member: 'Long' }).catch((thrown: unknown) => thrown);
  expect(error instanceof Error && error.message.length).toBe(dbusLimits.errorTextBytes);
});

it('ends a call at its time, and a cancelled one at once', async () => {
  const clock = new VirtualClock();
  const { connection } = await connected({}, { clock });
  const late = expect(connection.call(call, { timeoutMs: 500 })).rejects.toThrow(TimedOut);
  await clock.advance(500);
  await late;
  const stop = new AbortController();
  const cancelled = expect(connection.call(call, { signal: stop.signal })).rejects.toThrow(Cancelled);
  stop.abort();
  await cancelled;
  expect(clock.pendingTimers).toBe(0);
});

it('fails the calls of a connection that ends, and those after it', async () => {
  const { connection } = await connected({ onMessage: (_message, client) => client.socket.destroy() });
  await expect(connection.call(call)).rejects.toThrow(DbusDisconnected);
  await expect(connection.call(call)).rejects.toThrow(DbusDisconnected);
  expect((await connection.closed).message).toContain('the other side closed it');
});

it('ends a connection whose peer does not speak D-Bus', async () => {
  const { connection } = await connected({
    onMessage: (_message, client) => client.socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
  });
  await expect(connection.call(call)).rejects.toThrow('does not speak D-Bus');
});

it('fails only the call whose reply is malformed', async () => {
  const { connection } = await connected({
    onMessage: (message, client) =>
      message.member === 'Broken'
        ? client.socket.write(brokenReply(message.serial))
        : client.reply(message, { signature: 's', body: ['well'] }),
  });
  await expect(connection.call({ ...call, member: 'Broken' })).rejects.toThrow('a boolean is 2');
  expect(await connection.call(call)).toEqual(['well']);
});

/** A reply with a boolean of 2. */
function brokenReply(serial: number): Buffer {
  const reply = Buffer.from(
    '6c020001 04000000 01000000 0f000000 0501 7500 00000000 0801 6700 01 62 00 00 02000000'.replaceAll(
      ' ',
      '',
    ),
    'hex',
  );
  reply.writeUInt32LE(serial, 20);
  return reply;
}

it('refuses more calls than may wait', async () => {
  const { connection } = await connected({});
  const calls = Array.from({ length: dbusLimits.pendingCalls }, () => connection.call(call));
  const settled = Promise.allSettled(calls);
  await expect(connection.call(call)).rejects.toThrow(`${dbusLimits.pendingCalls} D-Bus calls wait`);
  connection.close();
  expect((await settled).every(({ status }) => status === 'rejected')).toBe(true);
});

it('ends a connection whose peer does not read', async () => {
  const { peer, connection } = await connected({});
  peer.clients[0]?.socket.pause();
  const body = ['x'.repeat(1_000_000)];
  const calls = Array.from({ length: 8 }, () => connection.call({ ...call, signature: 's', body }));
  const outcomes = await Promise.allSettled(calls);
  expect(outcomes.at(-1)).toMatchObject({ reason: { message: expect.stringContaining('does not read') } });
});

const match = { sender: 'a.b', interface: 'a.b', member: 'Changed', path: '/a' };
const changed = { kind: 'signal', path: '/a', interface: 'a.b', member: 'Changed' } as const;

it('hears the signals it asked for, and no others', async () => {
  const heard: unknown[] = [];
  const { peer, connection } = await connected({
    onMessage: (message, client) => client.reply(message),
  });
  const forget = await connection.listen(match, (body) => void heard.push(...body));
  const [client] = peer.clients;
  client?.send({ ...changed, member: 'Other', signature: 'u', body: [1] });
  client?.send({ ...changed, path: '/b', signature: 'u', body: [2] });
  client?.send({ ...changed, signature: 'u', body: [3] });
  await connection.call(call);
  forget();
  client?.send({ ...changed, signature: 'u', body: [4] });
  await connection.call(call);
  expect(heard).toEqual([3]);
});

it('asks a bus for signals of the one sender, and ignores one that somebody sends to it alone', async () => {
  const rules: unknown[] = [];
  const heard: unknown[] = [];
  const { peer, connection } = await connected(
    {
      onMessage: (message, client) => {
        rules.push(message.member, ...message.readBody());
        client.reply(message);
      },
    },
    { isBus: true },
  );
  const forget = await connection.listen(match, (body) => void heard.push(...body));
  peer.clients[0]?.send({ ...changed, destination: ':1.7', signature: 'u', body: [1] });
  peer.clients[0]?.send({ ...changed, signature: 'u', body: [2] });
  await connection.call(call);
  forget();
  await connection.call(call);
  const rule = "type='signal',sender='a.b',interface='a.b',member='Changed',path='/a'";
  expect(rules).toEqual(['Hello', 'AddMatch', rule, 'C', 'RemoveMatch', rule, 'C']);
  expect(heard).toEqual([2]);
});

it('answers the calls of others with an error, and no call that wants no answer', async () => {
  const { peer, connection } = await connected({ onMessage: (message, client) => client.reply(message) });
  const [client] = peer.clients;
  client?.send({ kind: 'call', path: '/a', member: 'Quiet', isNoReply: true });
  client?.send({ kind: 'call', path: '/a', member: 'Loud' });
  await expect.poll(() => client?.heard).toEqual(['error']);
  connection.close();
});

it('serves calls, no more at a time than its limit', async () => {
  const replies: string[] = [];
  const peer = await startTestPeer({
    onMessage: (message) => void replies.push(message.errorName ?? message.kind),
  });
  opened.push(peer);
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const connection = await connectDbus({
    socketPath: peer.socketPath,
    isBus: false,
    clock: systemClock,
    onCall: async ({ member }) => {
      await released;
      if (member === 'Bad') throw new DbusError('a.Bad', 'no');
      return {};
    },
  });
  opened.push(connection);
  const [client] = peer.clients;
  client?.send({ kind: 'call', path: '/a', member: 'Bad' });
  for (let sent = 0; sent < dbusLimits.incomingCalls; sent++)
    client?.send({ kind: 'call', path: '/a', member: 'Good' });
  await expect.poll(() => replies).toEqual(['org.freedesktop.DBus.Error.LimitsExceeded']);
  release();
  await expect.poll(() => replies.length).toBe(dbusLimits.incomingCalls + 1);
  expect(replies.filter((name) => name === 'a.Bad')).toHaveLength(1);
});

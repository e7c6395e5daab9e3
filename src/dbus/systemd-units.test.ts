/** Units of systemd through a peer that answers, refuses, forgets and dies as systemd and a bus do. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Clock, systemClock, type Timer, VirtualClock } from '../async/index.js';
import { dbusLimits } from './limits.js';
import type { DbusMessage } from './message.js';
import { SystemBus } from './system-bus.js';
import { createSystemdUnits, parseSystemdVersion, type SystemdUnits } from './systemd-units.js';
import { type PeerClient, startTestPeer, type TestPeer } from './test-peer.js';

let dir = '';
const opened: { close(): Promise<void> }[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'systemd-units-'));
});
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
  rmSync(dir, { recursive: true });
});

interface Rig {
  readonly units: SystemdUnits;
  readonly bus: SystemBus;
  readonly peer: TestPeer;
  readonly problems: string[];
}

/** systemd on its own socket: no bus is at the address. */
async function rig(
  onMessage: (message: DbusMessage, client: PeerClient) => void,
  clock: Clock = systemClock,
): Promise<Rig> {
  const peer = await startTestPeer({ onMessage });
  opened.push(peer);
  const environment = { DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${join(dir, 'absent')}` };
  const bus = new SystemBus({ clock, environment, privateSocketPath: peer.socketPath, isRoot: true });
  opened.push(bus);
  const problems: string[] = [];
  const onStopProblem = (unit: string, problem: string): void => void problems.push(`${unit}: ${problem}`);
  const units = createSystemdUnits({ bus, clock, onStopProblem, runtimeDirectory: dir });
  return { units, bus, peer, problems };
}

/** Tells when the wait for a job has begun: the two attempts to connect and the call set a timer before it. */
class CountingClock extends VirtualClock {
  timersSet = 0;
  override setTimer(delayMs: number, fire: () => void): Timer {
    this.timersSet += 1;
    return super.setTimer(delayMs, fire);
  }
  async jobIsAwaited(): Promise<void> {
    await expect.poll(() => this.timersSet).toBe(4);
  }
}

const job = '/org/freedesktop/systemd1/job/7';

function removed(client: PeerClient, result: string, path = job): void {
  client.send({
    kind: 'signal',
    path: '/org/freedesktop/systemd1',
    interface: 'org.freedesktop.systemd1.Manager',
    member: 'JobRemoved',
    signature: 'uoss',
    body: [7, path, 'a.slice', result],
  });
}

/** Answers a job and then says how it ended; other calls have empty replies. */
const jobsEnd =
  (result: string) =>
  (message: DbusMessage, client: PeerClient): void => {
    if (message.member !== 'StartTransientUnit' && message.member !== 'StopUnit') {
      client.reply(message);
      return;
    }
    client.reply(message, { signature: 'o', body: [job] });
    removed(client, result);
  };

it('starts a slice with typed properties and waits for its job', async () => {
  const bodies: unknown[] = [];
  const { units, peer } = await rig((message, client) => {
    bodies.push(message.signature, message.readBody());
    jobsEnd('done')(message, client);
  });
  await units.startTransientSlice('a.slice', [
    { name: 'Wants', signature: 'as', value: ['-.slice'] },
    { name: 'CPUAccounting', signature: 'b', value: true },
  ]);
  expect(peer.clients[0]?.heard).toEqual(['StartTransientUnit']);
  expect(bodies).toEqual([
    'ssa(sv)a(sa(sv))',
    [
      'a.slice',
      'replace',
      [
        ['Wants', { signature: 'as', value: ['-.slice'] }],
        ['CPUAccounting', { signature: 'b', value: true }],
      ],
      [],
    ],
  ]);
});

it('takes an end that overtakes the reply', async () => {
  const { units } = await rig((message, client) => {
    removed(client, 'failed', '/other');
    removed(client, 'done');
    client.reply(message, { signature: 'o', body: [job] });
  });
  await units.startTransientSlice('a.slice', []);
});

it('forgets early ends beyond its limit, the oldest first', async () => {
  const clock = new CountingClock();
  const { units } = await rig((message, client) => {
    removed(client, 'done');
    for (let other = 0; other < dbusLimits.rememberedJobs; other++) removed(client, 'done', `/job/${other}`);
    client.reply(message, { signature: 'o', body: [job] });
  }, clock);
  const start = units.startTransientSlice('a.slice', []);
  const outcome = expect(start).rejects.toThrow('Timeout waiting for systemd to create a.slice');
  await clock.jobIsAwaited();
  await clock.advance(30_000);
  await outcome;
});

it('resets a unit that failed to start, and says how it ended', async () => {
  const { units, peer } = await rig(jobsEnd('failed'));
  await expect(units.startTransientSlice('a.slice', [])).rejects.toThrow(
    'error creating systemd unit `a.slice`: got `failed`',
  );
  expect(peer.clients[0]?.heard).toEqual(['StartTransientUnit', 'ResetFailedUnit']);
});

it.each<[rule: string, act: (units: SystemdUnits) => Promise<void>, text: string, heard: readonly string[]]>([
  [
    'start',
    (units) => units.startTransientSlice('a.slice', []),
    'Timeout waiting for systemd to create a.slice',
    ['StartTransientUnit', 'ResetFailedUnit'],
  ],
  [
    'stop',
    (units) => units.stopUnit('a.slice'),
    'Timed out while waiting for systemd to remove a.slice',
    ['StopUnit'],
  ],
])('waits 30 s for a %s', async (_rule, act, text, heard) => {
  const clock = new CountingClock();
  const { units, peer } = await rig(
    (message, client) =>
      message.member === 'ResetFailedUnit'
        ? client.reply(message)
        : client.reply(message, { signature: 'o', body: [job] }),
    clock,
  );
  let isOver = false;
  const outcome = expect(act(units).finally(() => (isOver = true))).rejects.toThrow(text);
  await clock.jobIsAwaited();
  await clock.advance(29_999);
  expect(isOver).toBe(false);
  await clock.advance(1);
  await outcome;
  expect(peer.clients[0]?.heard).toEqual(heard);
});

it('takes a unit that exists for started', async () => {
  const { units, peer } = await rig((message, client) =>
    client.refuse(message, 'org.freedesktop.systemd1.UnitExists', 'Unit a.slice already exists.'),
  );
  await units.startTransientSlice('a.slice', []);
  expect(peer.clients[0]?.heard).toEqual(['StartTransientUnit']);
});

it('throws any other refusal with its name', async () => {
  const { units } = await rig((message, client) => client.refuse(message, 'a.Denied', 'no'));
  await expect(units.startTransientSlice('a.slice', [])).rejects.toMatchObject({
    name: 'a.Denied',
    message: 'no',
  });
});

it('stops a unit, an unknown one, and one that ends badly', async () => {
  const good = await rig(jobsEnd('done'));
  await good.units.stopUnit('a.slice');
  expect(good.peer.clients[0]?.heard).toEqual(['StopUnit', 'ResetFailedUnit']);
  const unknown = await rig((message, client) =>
    client.refuse(message, 'org.freedesktop.systemd1.NoSuchUnit', 'Unit a.slice not loaded.'),
  );
  await unknown.units.stopUnit('a.slice');
  expect([unknown.peer.clients[0]?.heard, unknown.problems]).toEqual([['StopUnit', 'ResetFailedUnit'], []]);
  const bad = await rig(jobsEnd('dependency'));
  await bad.units.stopUnit('a.slice');
  expect(bad.problems).toEqual(['a.slice: dependency']);
});

it('repeats a call whose connection closed under it', async () => {
  const { units, peer } = await rig((message, client) => {
    if (peer.clients.length === 1) client.socket.destroy();
    else client.reply(message);
  });
  await units.setUnitProperties('a.slice', []);
  expect(peer.clients.map(({ heard }) => heard)).toEqual([['SetUnitProperties'], ['SetUnitProperties']]);
});

it('repeats a start whose connection closed before the end of its job', async () => {
  const { units, peer } = await rig((message, client) => {
    if (peer.clients.length === 1) {
      client.reply(message, { signature: 'o', body: [job] });
      client.socket.end();
    } else client.refuse(message, 'org.freedesktop.systemd1.UnitExists', '');
  });
  await units.startTransientSlice('a.slice', []);
  expect(peer.clients.map(({ heard }) => heard)).toEqual([['StartTransientUnit'], ['StartTransientUnit']]);
});

it('gives up on a bus that closes every connection', async () => {
  const clock = new VirtualClock();
  const { units, peer } = await rig((_message, client) => client.socket.destroy(), clock);
  let isOver = false;
  const outcome = expect(
    units.setUnitProperties('a.slice', []).finally(() => (isOver = true)),
  ).rejects.toThrow('ended');
  while (!isOver) {
    await clock.advance(1_000);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await outcome;
  expect(peer.clients).toHaveLength(dbusLimits.repeats + 1);
});

it('ends the pause before a repetition when the bus is closed', async () => {
  const clock = new VirtualClock();
  const { units, bus, peer } = await rig((_message, client) => client.socket.destroy(), clock);
  const outcome = expect(units.setUnitProperties('a.slice', [])).rejects.toThrow(Error);
  await expect.poll(() => peer.clients.length).toBe(2);
  await expect.poll(() => clock.pendingTimers).toBe(1);
  await bus.close();
  await outcome;
  expect(clock.pendingTimers).toBe(0);
});

it('reads the version once, and -1 where there is none', async () => {
  const { units, peer } = await rig((message, client) =>
    client.reply(message, { signature: 'v', body: [{ signature: 's', value: '252.39-1~deb12u2' }] }),
  );
  expect([await units.version(), await units.version()]).toEqual([252, 252]);
  expect(peer.clients[0]?.heard).toEqual(['Get']);
  const other = await rig((message, client) => client.refuse(message, 'a.No', ''));
  expect(await other.units.version()).toBe(-1);
});

it.each<[text: string, version: number]>([
  ['v245.4-1.fc32', 245],
  ['252.39-1~deb12u2', 252],
  ['v', -1],
  ['', -1],
])('the version %s', (text, version) => {
  expect(parseSystemdVersion(text)).toBe(version);
});

it('refuses where systemd does not run', async () => {
  const bus = new SystemBus({ clock: systemClock, environment: {} });
  for (const runtimeDirectory of [join(dir, 'absent'), join(dir, 'file')]) {
    if (runtimeDirectory.endsWith('file')) writeFileSync(runtimeDirectory, '');
    const units = createSystemdUnits({ bus, clock: systemClock, onStopProblem: () => {}, runtimeDirectory });
    const text = 'systemd not running on this host, cannot use systemd cgroups manager';
    await expect(units.setUnitProperties('a.slice', [])).rejects.toThrow(text);
    await expect(units.stopUnit('a.slice')).rejects.toThrow(text);
    await expect(units.startTransientSlice('a.slice', [])).rejects.toThrow(text);
    await expect(units.version()).rejects.toThrow(text);
  }
});

it('says what it could not connect to, and does not try the private socket as another user', async () => {
  const { peer } = await rig(() => undefined);
  const environment = { DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${join(dir, 'absent')}` };
  const options = { clock: systemClock, environment, privateSocketPath: peer.socketPath, isRoot: false };
  const bus = new SystemBus(options);
  const call = { path: '/a', interface: 'a.b', member: 'C' };
  await expect(bus.call(call)).rejects.toThrow(/^failed to connect to dbus \(.*\): connect ENOENT /);
  expect(existsSync(peer.socketPath) && peer.clients).toEqual([]);
  await bus.close();
  await expect(bus.call(call)).rejects.toThrow('context canceled');
});

/** Holds the decisions on plugins: what they may say of themselves, and when they are registered. */
import { describe, expect, it } from 'vitest';
import { judgeAnswer } from './claim.js';
import { pluginLimits } from './limits.js';
import { chosenSockets, failedOperation, planPlugins, type SocketOperation } from './plan.js';

const socket = '/root/plugins_registry/d.sock';

describe('what a plugin says of itself', () => {
  const said = {
    type: 'CSIPlugin',
    name: 'd.example.com',
    endpoint: '/d/csi.sock',
    supportedVersions: ['1.0.0'],
  };

  it('is taken as it is', () => {
    const claim = { type: 'CSIPlugin', name: 'd.example.com', endpoint: '/d/csi.sock', versions: ['1.0.0'] };
    expect(judgeAnswer(said, socket)).toEqual({ kind: 'claim', claim });
  });

  it('names the registration socket where it names no endpoint', () => {
    const judged = judgeAnswer({ ...said, endpoint: '' }, socket);
    expect(judged).toMatchObject({ claim: { endpoint: socket } });
  });

  it('may name no versions, which is for its handler to judge', () => {
    expect(judgeAnswer({ ...said, supportedVersions: [] }, socket).kind).toBe('claim');
  });

  it.each([
    ['an empty type', { type: '' }, 'type is empty'],
    ['an empty name', { name: '' }, 'name is empty'],
    ['a long name', { name: 'a'.repeat(254) }, 'name is longer than 253'],
    ['a name with a line feed', { name: 'a\nb' }, 'name "a\\nb" is no plain name'],
    ['a name that is a path', { name: '/etc' }, 'name "/etc" is no plain name'],
    ['a relative endpoint', { endpoint: 'csi.sock' }, 'endpoint "csi.sock" is no absolute path of a socket'],
    [
      'an endpoint with a scheme',
      { endpoint: 'unix:///csi.sock' },
      'endpoint "unix:///csi.sock" is no absolute path of a socket',
    ],
    [
      'an endpoint that no socket can have',
      { endpoint: `/${'e'.repeat(107)}` },
      'endpoint is no path that a socket can have (107 bytes at most)',
    ],
    [
      'many versions',
      { supportedVersions: Array.from({ length: 33 }, () => '1.0.0') },
      'supported_versions has more than 32 entries',
    ],
    [
      'a long version',
      { supportedVersions: ['1'.repeat(254)] },
      'an entry of supported_versions is longer than 253',
    ],
  ])('is refused with %s', (_, change, problem) => {
    expect(judgeAnswer({ ...said, ...change }, socket)).toEqual({ kind: 'refused', problem });
  });
});

describe('planPlugins', () => {
  const failed = (delayMs: number, identity = 'a'): SocketOperation => ({
    pending: false,
    identity,
    delayMs,
    failedAtMs: 1000,
  });
  const pending: SocketOperation = { pending: true, identity: 'a', delayMs: 0, failedAtMs: 0 };

  it.each<[string, Partial<Record<'found' | 'registered', string>> & { last?: SocketOperation }, string[]]>([
    ['registers a socket that has appeared', { found: 'a' }, ['register: its socket has appeared']],
    ['leaves a registered one alone', { found: 'a', registered: 'a' }, []],
    ['deregisters one whose socket is gone', { registered: 'a' }, ['deregister: its socket is gone']],
    [
      'deregisters one whose socket was replaced, and registers it in a later pass',
      { found: 'b', registered: 'a' },
      ['deregister: another socket has taken the place of its socket'],
    ],
    ['does one thing at a time to a socket', { found: 'a', last: pending }, []],
    ['does not deregister one while something is done to it', { registered: 'a', last: pending }, []],
    ['waits after a failure', { found: 'a', last: failed(2000) }, []],
    [
      'tries again after the pause',
      { found: 'a', last: failed(500) },
      ['register: the last attempt failed, and its pause is over'],
    ],
    [
      'gives a new socket the shortest pause only',
      { found: 'b', last: failed(122_000) },
      ['register: the last attempt failed, and its pause is over'],
    ],
  ])('%s', (_, { found, registered, last }, expected) => {
    const map = <T>(value: T | undefined): Map<string, T> =>
      value === undefined ? new Map() : new Map([[socket, value]]);
    const { steps } = planPlugins({
      found: map(found),
      registered: map(registered),
      operations: map(last),
      nowMs: 2000,
    });
    expect(steps.map(({ kind, because }) => `${kind}: ${because}`)).toEqual(expected);
  });

  it('tells when the first failed one may be tried again', () => {
    const found = new Map([
      ['/x', 'a'],
      ['/y', 'a'],
    ]);
    const operations = new Map([
      ['/x', failed(5000)],
      ['/y', failed(3000)],
    ]);
    expect(planPlugins({ found, registered: new Map(), operations, nowMs: 2000 }).retryAtMs).toBe(4000);
  });

  it('doubles the pause up to the longest, and begins anew with a new socket', () => {
    let last = failedOperation(undefined, 'a', 0);
    const delays = [last.delayMs];
    for (let i = 0; i < 9; i++) {
      last = failedOperation(last, 'a', 0);
      delays.push(last.delayMs);
    }
    expect(delays).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 122_000, 122_000]);
    expect(failedOperation(last, 'b', 0).delayMs).toBe(500);
  });
});

it('keeps registered sockets first when there are too many', () => {
  const found = new Map(Array.from({ length: 300 }, (_, n) => [`/s/${String(n).padStart(3, '0')}`, 'a']));
  const chosen = chosenSockets(found, new Map([['/s/299', 'a']]));
  expect(chosen.size).toBe(pluginLimits.sockets);
  expect(chosen.has('/s/299')).toBe(true);
  expect(chosen.has('/s/254')).toBe(true);
  expect(chosen.has('/s/255')).toBe(false);
});

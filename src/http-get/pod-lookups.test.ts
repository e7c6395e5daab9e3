/** Look-ups of names that pods chose leave threads for everybody else. */
import dns from 'node:dns';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../async/index.js';
import { httpGet } from './http-get.js';
import { httpGetLimits } from './limits.js';
import { PodLookups } from './pod-lookups.js';
import { httpGetRequest } from './request.js';

type Answer = (error: NodeJS.ErrnoException | null, address: string, family: number) => void;
const asked: { readonly name: string; readonly answer: Answer }[] = [];

/** A name server that answers when the test says so. */
beforeEach(() => {
  asked.length = 0;
  vi.spyOn(dns, 'lookup').mockImplementation(((name: string, ...rest: unknown[]) => {
    // Node passes options, or none; the callback comes last.
    const answer = rest.at(-1) as Answer;
    // The test's own server is looked up, too.
    if (name === '127.0.0.1') process.nextTick(answer, null, name, 4);
    else asked.push({ name, answer });
  }) as typeof dns.lookup);
});
afterEach(() => vi.restoreAllMocks());

const lookUp = (lookups: PodLookups, name: string, isWanted = () => true) => {
  const answers: unknown[][] = [];
  lookups.lookup(isWanted)(name, {}, (...answer) => void answers.push(answer));
  return answers;
};

it('one name at a time, in the order in which they came, whatever became of the one before', () => {
  const lookups = new PodLookups();
  const answers = ['a', 'b', 'c'].map((name) => lookUp(lookups, name));
  expect(asked.map(({ name }) => name)).toEqual(['a']);
  asked[0]?.answer(Object.assign(new Error('no'), { code: 'EAI_AGAIN' }), '', 0);
  expect(answers[0]).toMatchObject([[{ code: 'EAI_AGAIN' }, '', 0]]);
  asked[1]?.answer(null, '192.0.2.1', 4);
  expect(answers[1]).toEqual([[null, '192.0.2.1', 4]]);
  expect(asked.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
});

it('a name that nobody wants any more is skipped', () => {
  const lookups = new PodLookups();
  let isWanted = true;
  lookUp(lookups, 'slow');
  const answers = lookUp(lookups, 'given-up', () => isWanted);
  lookUp(lookups, 'next');
  isWanted = false;
  asked[0]?.answer(null, '192.0.2.1', 4);
  expect(asked.map(({ name }) => name)).toEqual(['slow', 'next']);
  expect(answers).toEqual([]);
});

it('a bounded number waits, without those that nobody wants', async () => {
  const lookups = new PodLookups();
  let isWanted = true;
  lookUp(lookups, 'slow');
  for (let at = 0; at < httpGetLimits.waitingLookups; at++) lookUp(lookups, `name-${at}`, () => isWanted);
  const refused = lookUp(lookups, 'one-too-many');
  await new Promise((resolve) => setImmediate(resolve));
  expect(refused).toMatchObject([[{ code: 'EAGAIN' }, '', 0]]);
  isWanted = false;
  const waiting = lookUp(lookups, 'room-again');
  asked[0]?.answer(null, '192.0.2.1', 4);
  asked[1]?.answer(null, '192.0.2.2', 4);
  expect(waiting).toEqual([[null, '192.0.2.2', 4]]);
});

it('GETs of probes look up this way, and one that times out lets the next go on', async () => {
  const server = createServer((_, response) => response.end('ok'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const get = (host: string, timeoutMs: number) => {
    const target = { container: { name: 'app' }, podIp: '127.0.0.1', userAgent: 'test' };
    return httpGet(httpGetRequest({ port, host }, target), {
      clock: systemClock,
      timeoutMs,
      signal: undefined,
    });
  };
  const hostile = ['h1.test', 'h2.test', 'h3.test'].map((host) => get(host, 50).catch(String));
  expect(await Promise.all(hostile)).toEqual(hostile.map(() => expect.stringContaining('i/o timeout')));
  expect(asked.map(({ name }) => name)).toEqual(['h1.test']);
  const good = get('good.test', 5_000);
  asked[0]?.answer(Object.assign(new Error('no'), { code: 'EAI_AGAIN' }), '', 0);
  await expect.poll(() => asked.map(({ name }) => name)).toEqual(['h1.test', 'good.test']);
  // Node asks for all addresses, and then expects a list of them.
  const all = [{ address: '127.0.0.1', family: 4 }] as unknown as string;
  asked[1]?.answer(null, all, 4);
  expect(await good).toEqual({ status: 200, body: 'ok' });
  await new Promise((resolve) => server.close(resolve));
});

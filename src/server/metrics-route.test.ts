import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { metricsRoute } from './metrics-route.js';
import { isStreamed, type RouteResponse } from './responses.js';

const parts = ['# HELP a b\n', 'a 1\n', 'ä 2\n'];

function* made(seen: string[] = []): Generator<string> {
  for (const part of parts) {
    seen.push(part);
    yield part;
  }
}

async function ask(text: Parameters<typeof metricsRoute>[1], encoding?: string): Promise<RouteResponse> {
  const route = metricsRoute('/metrics', text);
  if (route.kind !== 'plain') throw new Error('the route has one path');
  return route.handle({
    method: 'GET',
    path: '/metrics',
    query: new URLSearchParams(),
    headers: encoding === undefined ? {} : { 'accept-encoding': encoding },
  });
}

it('compresses a text in parts', async () => {
  const { status, headers, body } = await ask(() => made(), 'gzip');
  expect(status).toBe(200);
  expect(headers['Content-Encoding']).toBe('gzip');
  expect(gunzipSync(body as Uint8Array).toString()).toBe(parts.join(''));
});

it('compresses long texts whole, also where characters have several bytes', async () => {
  const long = [1, 60_000, 7, 400_000, 300_000, 2].map((length, at) => `${'ä€x'.repeat(length)} ${at}\n`);
  const { body } = await ask(() => long, 'gzip');
  expect(gunzipSync(body as Uint8Array).toString()).toBe(long.join(''));
});

it('sends a text in parts as it is made, no faster than it is read', async () => {
  const seen: string[] = [];
  const { body } = await ask(() => made(seen));
  expect(seen).toEqual([]);
  const sent: string[] = [];
  if (!isStreamed(body)) throw new Error('not streamed');
  const write = async (bytes: Buffer): Promise<void> => {
    expect(seen).toHaveLength(sent.length + 1);
    sent.push(bytes.toString());
  };
  await body.stream({ write }, new AbortController().signal);
  expect(sent).toEqual(parts);
});

it.each(['gzip', undefined])('a part that cannot be made is an error, encoding %s', async (encoding) => {
  const broken = function* (): Generator<string> {
    yield 'a 1\n';
    throw new Error('no more');
  };
  const response = await ask(broken, encoding);
  const failed = isStreamed(response.body) ? response.body.failed(new Error('no more')) : response;
  expect(failed).toMatchObject({
    status: 500,
    body: 'An error has occurred while serving metrics:\n\nno more\n',
  });
});

it('an empty text is compressed, too', async () => {
  const { body } = await ask(() => '', 'gzip');
  expect(gunzipSync(body as Uint8Array).toString()).toBe('');
});

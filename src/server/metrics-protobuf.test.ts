import { describe, expect, it } from 'vitest';
import { WireReader, WireType } from '../grpc/index.js';
import { Registry } from '../metrics/index.js';
import { prefersProtobuf, protobufContentType, protobufOf } from './metrics-protobuf.js';
import { metricsRoute } from './metrics-route.js';

const family = 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited';

it.each<[accept: string | undefined, prefers: boolean]>([
  [undefined, false],
  ['*/*', false],
  ['text/plain;version=0.0.4', false],
  [family, true],
  [`${family};q=0.6,text/plain;version=0.0.4;q=0.2,*/*;q=0.1`, true],
  [`text/plain;q=0.6, ${family}; q=0.2`, false],
  [`${family};q=0`, false],
  ['application/vnd.google.protobuf', false],
  ['application/vnd.google.protobuf;proto=x.Other;encoding=delimited', false],
])('a client that accepts %s gets protobuf: %s', (accept, expected) => {
  expect(prefersProtobuf(accept)).toBe(expected);
});

type Tree = Record<number, unknown[]>;

/** The fields of a message by number, read by the shape that each path has. */
function read(bytes: Uint8Array, shapes: Readonly<Record<string, string>>, path = ''): Tree {
  const reader = new WireReader(bytes);
  const end = reader.length;
  const tree: Tree = {};
  while (reader.position < end) {
    const tag = reader.uint32(end);
    const [fieldNumber, wireType] = [tag >>> 3, tag & 7];
    const at = `${path}${fieldNumber}`;
    const values = tree[fieldNumber] ?? [];
    tree[fieldNumber] = values;
    if (wireType === WireType.FIXED64) values.push(reader.double(end));
    else if (wireType === WireType.VARINT) values.push(reader.int64(end));
    else {
      const inner = reader.bytes(end);
      if (shapes[at] === 'text') values.push(Buffer.from(inner).toString());
      else if (shapes[at] === 'varints') values.push([...inner]);
      else values.push(read(inner, shapes, `${at}.`));
    }
  }
  return tree;
}

const shapes = {
  '1': 'text',
  '2': 'text',
  '4.1.1': 'text',
  '4.1.2': 'text',
  '4.7.10': 'varints',
  '4.7.13': 'varints',
};

function familiesOf(bytes: Uint8Array): Tree[] {
  const reader = new WireReader(bytes);
  const found: Tree[] = [];
  while (reader.position < reader.length) found.push(read(reader.bytes(reader.length), shapes));
  return found;
}

describe('a page in protobuf', () => {
  it('has values, labels and times as the text has them', () => {
    const page = [
      '# HELP pods_total Pods \\\\ of\\nnodes.\n# TYPE pods_total counter\npods_total{a="x\\"y",b="c,d"} 3 170',
      '0\n# HELP empty Nothing.\n# TYPE empty gauge\n# HELP load Load.\n# TYPE load gauge\nload NaN\n',
    ];
    expect(familiesOf(protobufOf(page, new Map()))).toEqual([
      {
        1: ['pods_total'],
        2: ['Pods \\ of\nnodes.'],
        3: [0],
        4: [
          {
            1: [
              { 1: ['a'], 2: ['x"y'] },
              { 1: ['b'], 2: ['c,d'] },
            ],
            3: [{ 1: [3] }],
            6: [1700],
          },
        ],
      },
      { 1: ['load'], 2: ['Load.'], 3: [1], 4: [{ 2: [{ 1: [Number.NaN] }] }] },
    ]);
  });

  it('has the narrow buckets of a histogram beside the usual ones', () => {
    const registry = new Registry({ nativeHistograms: true });
    const calls = registry.histogram('calls_seconds', 'Calls.', ['verb'], [1, 5]);
    for (const seconds of [0, 1, 2, 2, 2.1]) calls.observe(seconds, { verb: 'get' });
    const [found] = familiesOf(protobufOf([registry.text()], registry.natives()));
    expect(found?.[3]).toEqual([4]);
    expect(found?.[4]).toEqual([
      {
        1: [{ 1: ['verb'], 2: ['get'] }],
        7: [
          {
            1: [5],
            2: [7.1],
            3: [
              { 1: [2], 2: [1] },
              { 1: [5], 2: [5] },
            ],
            5: [6],
            6: [2 ** -128],
            7: [1],
            // Bucket 0, then 8 and 9: their counts are 1, 2 and 1.
            12: [
              { 1: [0], 2: [1] },
              { 1: [14], 2: [2] },
            ],
            13: [[2, 2, 1]],
          },
        ],
      },
    ]);
  });

  it('marks a histogram without observations as one with narrow buckets', () => {
    const registry = new Registry({ nativeHistograms: true });
    registry.histogram('idle_seconds', 'Idle.', [], [1]);
    const [found] = familiesOf(protobufOf([registry.text()], registry.natives()));
    expect(found?.[4]).toMatchObject([{ 7: [{ 1: [0], 5: [6], 12: [{ 1: [0], 2: [0] }] }] }]);
  });

  it('is served to those who ask, and text to others', async () => {
    const registry = new Registry({ nativeHistograms: true });
    registry.histogram('calls_seconds', 'Calls.').observe(1);
    const route = metricsRoute('/metrics', () => registry.text(), { natives: () => registry.natives() });
    if (route.kind !== 'plain') throw new Error('the route is not plain');
    const ask = async (headers: Record<string, string>) =>
      route.handle({ method: 'GET', headers } as unknown as Parameters<typeof route.handle>[0]);
    const asked = await ask({ accept: family });
    expect(asked.headers).toEqual({ 'Content-Type': protobufContentType });
    expect(Buffer.from(asked.body as Buffer)).toEqual(protobufOf([registry.text()], registry.natives()));
    expect((await ask({ accept: family, 'accept-encoding': 'gzip' })).headers).toEqual({
      'Content-Type': protobufContentType,
      'Content-Encoding': 'gzip',
    });
    expect((await ask({})).headers).toEqual({ 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' });
  });
});

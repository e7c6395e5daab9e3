import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { TerminalSizeReader, terminalSizes } from './terminal-sizes.js';

describe('sizes', () => {
  it.each<[string, string[], object[]]>([
    ['one object', ['{"Width":120,"Height":40}'], [{ width: 120, height: 40 }]],
    [
      'objects in a row, with or without space between',
      ['{"Width":1,"Height":2}{"Width":3,"Height":4}\n{"Width":5,"Height":6}'],
      [
        { width: 1, height: 2 },
        { width: 3, height: 4 },
        { width: 5, height: 6 },
      ],
    ],
    ['an object in pieces', ['{"Wid', 'th":7,"Hei', 'ght":8}'], [{ width: 7, height: 8 }]],
    [
      'nonsense is dropped',
      ['nope}{"Width":1}{"Width":-1,"Height":2}{"Width":9,"Height":9}'],
      [{ width: 9, height: 9 }],
    ],
    [
      'text without an end is dropped',
      ['x'.repeat(5000), '{"Width":1,"Height":1}'],
      [{ width: 1, height: 1 }],
    ],
  ])('%s', (_, texts, sizes) => {
    const reader = new TerminalSizeReader();
    expect(texts.flatMap((text) => [...reader.read(text)])).toEqual(sizes);
  });

  it('that were not read in time are skipped', async () => {
    const stream = new PassThrough();
    const sizes = terminalSizes(stream);
    const first = sizes.next();
    stream.write('{"Width":1,"Height":1}');
    expect((await first).value).toEqual({ width: 1, height: 1 });
    stream.write('{"Width":2,"Height":2}');
    stream.end('{"Width":3,"Height":3}');
    await new Promise((resolve) => setImmediate(resolve));
    expect((await sizes.next()).value).toEqual({ width: 3, height: 3 });
    expect((await sizes.next()).done).toBe(true);
  });

  it('of an absent stream end at once', async () => {
    expect((await terminalSizes(undefined).next()).done).toBe(true);
  });
});

/** The files of a record: whole, cut, damaged, hostile, full; and what happens to a disk that does not keep up. */
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { VirtualClock } from '../async/index.js';
import { readEntry } from './entries.js';
import { recordLimits } from './limits.js';
import type { RecordDirectory } from './record-directory.js';
import { blockOf, fileHead, recordFileName, recordVersion } from './record-file.js';
import { generationsIn, readLines } from './record-reader.js';
import { type RecordEnd, RecordWriter } from './record-writer.js';
import { fromJson, toJson } from './values.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'record-'));
});
afterEach(() => rm(dir, { recursive: true }));

const first = recordFileName({ generation: 1, part: 1 });

async function write(lines: readonly string[], limitBytes = 1 << 26): Promise<RecordEnd[]> {
  const ends: RecordEnd[] = [];
  const writer = new RecordWriter({ dir, limitBytes, onEnd: (end) => ends.push(end) });
  for (const line of lines) writer.write(line);
  await writer.close();
  return ends;
}

async function read(generation = 1): Promise<{ lines: string[]; cutAt: string | undefined }> {
  const files = (await generationsIn(dir)).get(generation) ?? [];
  const { lines, cutAt } = readLines(dir, files);
  const found: string[] = [];
  for await (const line of lines) found.push(line);
  return { lines: found, cutAt: cutAt() };
}

describe('a record on disk', () => {
  it('is read as it was written, and nobody else may read it', async () => {
    const lines = Array.from({ length: 2000 }, (_, index) =>
      JSON.stringify({ k: 'go', n: `é${index}`, t: [index, 0] }),
    );
    await write(lines);
    expect((await read()).lines).toEqual(lines);
    expect((await stat(path.join(dir, first))).mode & 0o777).toBe(0o600);
  });

  it('has what is no news with the news that come soon, and by itself after a while', async () => {
    const clock = new VirtualClock();
    const written: number[] = [];
    const writer = new RecordWriter({
      dir,
      limitBytes: 1 << 26,
      clock,
      onEnd: () => {},
      onWritten: (bytes) => written.push(bytes),
    });
    writer.write('timer', false);
    await clock.advance(recordLimits.quietBlockMs - 2_000);
    writer.write('decision');
    await clock.advance(recordLimits.blockMs);
    await vi.waitFor(() => expect(written).toHaveLength(1));
    writer.write('timer', false);
    await clock.advance(recordLimits.quietBlockMs - 1);
    writer.write('timer', false);
    await clock.advance(1);
    await vi.waitFor(() => expect(written).toHaveLength(2));
    await writer.close();
    expect(written).toHaveLength(2);
    expect((await read()).lines).toEqual(['timer', 'decision', 'timer', 'timer']);
  });

  it('begins a generation with each start', async () => {
    await write(['one']);
    await write(['two']);
    expect([...(await generationsIn(dir)).keys()]).toEqual([1, 2]);
    expect((await read(2)).lines).toEqual(['two']);
  });

  it('drops the oldest generations, and ends when one alone fills its bound', async () => {
    const noise = (length: number): string[] =>
      Array.from({ length }, () => Array.from({ length: 8 }, () => Math.random().toString(36)).join(''));
    expect(await write(noise(500), 45_000)).toEqual([]);
    expect(await write(noise(500), 45_000)).toEqual([]);
    expect([...(await generationsIn(dir)).keys()]).toEqual([2]);
    expect(await write(noise(20_000), 45_000)).toEqual(['limit']);
    const sizes = await Promise.all(
      (await readdir(dir)).map(async (name) => (await stat(path.join(dir, name))).size),
    );
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(45_000);
  });

  it('is whole up to its last whole block, wherever it was cut', async () => {
    await write(['{"k":"one"}']);
    await writeFile(
      path.join(dir, first),
      Buffer.concat([await readFile(path.join(dir, first)), await block('{"k":"two"}\n')]),
    );
    const whole = await readFile(path.join(dir, first));
    const firstEnd = whole.length - (await block('{"k":"two"}\n')).length;
    for (let bytes = 0; bytes < whole.length; bytes++) {
      await writeFile(path.join(dir, first), whole.subarray(0, bytes));
      const { lines, cutAt } = await read();
      expect(lines).toEqual(bytes >= firstEnd ? ['{"k":"one"}'] : []);
      expect(cutAt === undefined).toBe(bytes === firstEnd || bytes === fileHead().length);
    }
  });

  it.each<[string, (whole: Buffer) => Buffer | Promise<Buffer>, string]>([
    ['is another file', () => Buffer.from('#!/bin/sh\nexit 0\n'), 'is no file of a record'],
    [
      'has another version',
      (whole) => {
        whole.writeUInt32LE(recordVersion + 1, 8);
        return whole;
      },
      `has version ${recordVersion + 1} of the format`,
    ],
    [
      'has a changed byte in a block',
      (whole) => {
        whole[whole.length - 3] = (whole.at(-3) ?? 0) ^ 1;
        return whole;
      },
      'is damaged',
    ],
    [
      'has a block of an impossible size',
      (whole) => {
        whole.writeUInt32LE(0xffff_ffff, 12);
        return whole;
      },
      'has a size that no block has',
    ],
    [
      'has a block that unpacks to more than it says',
      () => Buffer.concat([fileHead(), blockOf(deflateRawSync(Buffer.alloc(50_000_000)), 10)]),
      'is damaged',
    ],
  ])('that %s is refused by name', async (_, damage, message) => {
    await write(['{"k":"one"}']);
    await writeFile(path.join(dir, first), await damage(await readFile(path.join(dir, first))));
    await expect(read()).rejects.toThrow(message);
    await expect(read()).rejects.toThrow(first);
  });

  it('that lacks a file is refused by the name of the file', async () => {
    await write(['{"k":"one"}']);
    const second = recordFileName({ generation: 1, part: 3 });
    await writeFile(path.join(dir, second), await readFile(path.join(dir, first)));
    await expect(read()).rejects.toThrow(`${recordFileName({ generation: 1, part: 2 })} is missing`);
  });

  it('that is not there is told', async () => {
    await expect(generationsIn(path.join(dir, 'none'))).rejects.toThrow('cannot be read');
    await expect(generationsIn(dir)).rejects.toThrow('has no record');
  });
});

describe('a disk', () => {
  const disk = (append: () => Promise<void>): RecordDirectory => ({
    list: async () => [],
    create: async () => ({ append, appendNow: () => {}, close: async () => {} }),
    remove: async () => {},
  });

  it.each<[string, () => Promise<void>, number, RecordEnd]>([
    ['is full', () => Promise.reject(new Error('ENOSPC: no space left on device')), 1, 'disk'],
    ['hangs', () => new Promise(() => {}), 40, 'slow disk'],
  ])('that %s ends the recording, and nobody waits for it', async (_, append, lines, end) => {
    const ends: RecordEnd[] = [];
    const clock = new VirtualClock();
    const writer = new RecordWriter({
      dir,
      limitBytes: 1e12,
      clock,
      directory: disk(append),
      onEnd: (why) => ends.push(why),
    });
    const line = 'x'.repeat(1 << 20);
    for (let count = 0; count < lines; count++) writer.write(line);
    await vi.waitFor(() => expect(ends).toHaveLength(1), { timeout: 5_000 });
    expect(ends).toEqual([end]);
    writer.write('more');
    await writer.close();
    expect(ends).toEqual([end]);
  });

  it('that does not answer ends the recording after its time', async () => {
    const ends: RecordEnd[] = [];
    const clock = new VirtualClock();
    let asked: () => void = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const hangs = (): Promise<void> => {
      asked();
      return new Promise(() => {});
    };
    const writer = new RecordWriter({
      dir,
      limitBytes: 1e12,
      clock,
      directory: disk(hangs),
      onEnd: (why) => ends.push(why),
    });
    writer.write('line');
    await clock.advance(2_000);
    await isAsked;
    await clock.advance(31_000);
    expect(ends).toEqual(['disk']);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('values', () => {
  it('are the same after a record', () => {
    const value = {
      text: 'a',
      big: 12n ** 20n,
      bytes: new Uint8Array([1, 2, 3]),
      odd: [Number.NaN, Number.POSITIVE_INFINITY, -0, undefined, null],
      map: new Map([['a', { b: 1n }]]),
      set: new Set([1]),
      date: new Date(5),
      $mark: { $n: 'no number' },
    };
    expect(fromJson(JSON.parse(JSON.stringify(toJson(value))))).toEqual(value);
  });

  it('never change the prototype of anything', () => {
    const read = fromJson(
      JSON.parse('{"__proto__":{"isAdmin":true},"$o":[["__proto__",{"isAdmin":true}]],"a":1}'),
    );
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    const marked = fromJson(JSON.parse('{"$o":[["__proto__",{"isAdmin":true}],["constructor",1]]}'));
    expect(Object.getPrototypeOf(marked)).toBe(Object.prototype);
    expect('isAdmin' in {}).toBe(false);
    expect('isAdmin' in (marked as object)).toBe(false);
  });

  it.each([
    '{"$n":"1e9"}',
    '{"$b":5}',
    '{"$m":[1]}',
    '{"$x":1}',
    '{"$e":1}',
    `${'['.repeat(200)}${']'.repeat(200)}`,
  ])('with a mark on what cannot have it are refused: %s', (text) => {
    expect(() => fromJson(JSON.parse(text))).toThrow(/^a value |an error /);
  });
});

it.each([
  '',
  '[]',
  '{"k":"toString"}',
  '{"k":"ok"}',
  '{"k":"at","m":[1,2],"t":[1,1]}',
  '{"k":"cb","c":1,"a":"0","v":{},"t":[1,1]}',
])('an entry that is none is refused: %s', (line) => {
  expect(() => readEntry(line)).toThrow(/^an entry /);
});

async function block(text: string): Promise<Buffer> {
  const bytes = Buffer.from(text);
  return blockOf(deflateRawSync(bytes), bytes.length);
}

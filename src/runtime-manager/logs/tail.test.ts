import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { linuxHost, openRegular } from '../../host/index.js';
import { findTail } from './tail.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tail-'));
});
afterEach(() => rm(dir, { recursive: true }));

const long = Array.from({ length: 500 }, (_, index) => `line ${index} ${'x'.repeat(index)}\n`).join('');

it.each([
  ['the last two', 'a\nb\nc\n', 2, 'b\nc\n'],
  ['none', 'a\nb\n', 0, ''],
  ['more than there are', 'a\nb\n', 5, 'a\nb\n'],
  ['exactly all', 'a\nb\n', 2, 'a\nb\n'],
  ['everything', 'a\nb\n', undefined, 'a\nb\n'],
  ['an unterminated line is not counted', 'a\nb\nc', 1, 'b\nc'],
  ['of an empty file', '', 3, ''],
  ['over several blocks', long, 300, long.split('\n').slice(200).join('\n')],
  ['a line that begins at a block', `${'a'.repeat(1023)}\n${'b'.repeat(1023)}\n`, 1, `${'b'.repeat(1023)}\n`],
])('%s', async (_, content, lines, expected) => {
  const path = join(dir, 'log');
  await writeFile(path, content);
  const file = await openRegular(linuxHost(), path);
  try {
    const { position, missing } = await findTail(file, lines);
    expect(content.slice(position)).toBe(expected);
    const has = content.split('\n').length - 1;
    expect(missing).toBe(Math.max(0, (lines ?? 0) - has));
  } finally {
    await file.close();
  }
});

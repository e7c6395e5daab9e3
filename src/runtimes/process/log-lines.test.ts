import { describe, expect, it } from 'vitest';
import { LogLines, longestRecordBytes } from './log-lines.js';

const long = 'x'.repeat(longestRecordBytes);

const rows: [string, string[], string[]][] = [
  ['a line is a record', ['a\n'], ['F a']],
  ['an empty line is a record', ['\n'], ['F ']],
  ['a chunk may hold many lines', ['a\nb\nc\n'], ['F a', 'F b', 'F c']],
  ['a line may come in many chunks', ['a', 'b', 'c\nd', '\n'], ['F abc', 'F d']],
  ['what has no newline is a record at the end', ['a\nb'], ['F a', 'F b']],
  ['a line of just the longest length is whole', [`${long}\n`], [`F ${long}`]],
  ['a longer line comes in parts', [`${long}yz\n`], [`P ${long}`, 'F yz']],
  ['parts are written before the line ends', [`${long}y`, 'z\n'], [`P ${long}`, 'F yz']],
  ['a very long line has many parts', [`${long}${long}y\n`], [`P ${long}`, `P ${long}`, 'F y']],
  ['a newline right after a full part', [long, '\n'], [`F ${long}`]],
  ['nothing is nothing', [''], []],
];

describe('log lines', () => {
  it.each(rows)('%s', (_, chunks, expected) => {
    const lines = new LogLines();
    const records = chunks.flatMap((chunk) => [...lines.add(Buffer.from(chunk))]);
    const all = [...records, ...lines.end(), ...lines.end()];
    expect(all.map(({ tag, content }) => `${tag} ${content.toString()}`)).toEqual(expected);
  });

  it('keep bytes that are not text', () => {
    const bytes = Buffer.from([0xff, 0x00, 0xfe, 0x0a]);
    expect([...new LogLines().add(bytes)][0]?.content).toEqual(bytes.subarray(0, 3));
  });
});

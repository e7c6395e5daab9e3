import { describe, expect, it } from 'vitest';
import { detectFormat, formatRecordTime, parseLogLine } from './format.js';

const time = '2026-01-02T03:04:05.123456789Z';

describe('CRI lines', () => {
  it.each([
    ['a full record keeps its newline', `${time} stdout F hello\n`, 'hello\n'],
    ['a partial record loses it', `${time} stdout P hello\n`, 'hello'],
    ['later tags are ignored', `${time} stderr P:x:y hello\n`, 'hello'],
    ['spaces belong to the content', `${time} stdout F  a b \n`, ' a b \n'],
    ['the content may be empty', `${time} stdout F \n`, '\n'],
    ['without newline there is none', `${time} stdout F cut`, 'cut'],
  ])('%s', (_, line, content) => {
    expect(parseLogLine('cri', Buffer.from(line))?.content.toString()).toBe(content);
  });
  it.each([
    ['no time', 'hello\n'],
    ['a bad time', 'yesterday stdout F x\n'],
    ['an unknown stream', `${time} stdin F x\n`],
    ['no tag', `${time} stdout\n`],
  ])('%s is not a record', (_, line) => {
    expect(parseLogLine('cri', Buffer.from(line))).toBeUndefined();
  });
  it('keeps bytes that are not text', () => {
    const line = Buffer.concat([Buffer.from(`${time} stdout F `), Buffer.from([0xff, 0xfe, 0x0a])]);
    expect([...(parseLogLine('cri', line)?.content ?? [])]).toEqual([0xff, 0xfe, 0x0a]);
  });
});

describe('detectFormat', () => {
  it.each([
    [`${time} stdout F x\n`, 'cri'],
    [`{"log":"x\\n","stream":"stderr","time":"${time}"}\n`, 'docker'],
    ['something\n', undefined],
  ])('%s', (line, format) => {
    expect(detectFormat(Buffer.from(line))).toBe(format);
  });
  it('reads a Docker record', () => {
    const line = Buffer.from(`{"log":"x\\n","stream":"stderr","time":"${time}"}\n`);
    const record = parseLogLine('docker', line);
    expect([record?.stream, record?.content.toString()]).toEqual(['stderr', 'x\n']);
  });
});

it.each([
  ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000000000Z'],
  ['2026-01-02T03:04:05.12+02:00', '2026-01-02T03:04:05.120000000+02:00'],
  ['2026-01-02T03:04:05.1234567891Z', '2026-01-02T03:04:05.123456789Z'],
  ['2026-01-02T03:04:05.5+00:00', '2026-01-02T03:04:05.500000000Z'],
])('%s is shown as %s', (timestamp, shown) => {
  expect(formatRecordTime(timestamp)).toBe(shown);
});

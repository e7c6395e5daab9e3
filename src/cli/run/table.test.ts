import { describe, expect, it } from 'vitest';
import { cutTo, cutToHeight, tableLines } from './table.js';

const header = ['POD', 'STATUS', 'WAITS FOR'];
const rows = [
  [{ text: 'web' }, { text: 'Running', tone: 'good' as const }, { text: '' }],
  [{ text: 'crash' }, { text: 'Error' }, { text: 'app: next try at 10:00:00' }],
];

describe('tableLines', () => {
  it('lines up the columns', () => {
    expect(tableLines(header, rows, 80, false)).toEqual([
      'POD     STATUS    WAITS FOR',
      'web     Running',
      'crash   Error     app: next try at 10:00:00',
    ]);
  });
  it.each([80, 40, 33, 25, 12, 5, 1])('is never wider than %d columns', (columns) => {
    for (const line of tableLines(header, rows, columns, false))
      expect([...line].length).toBeLessThanOrEqual(columns);
  });
  it('hides the last column without enough space', () => {
    expect(tableLines(header, rows, 25, false)[2]).toBe('crash   Error');
  });
  it('cuts a long name instead of the other columns', () => {
    const long = [[{ text: 'a-pod-with-a-rather-long-name' }, { text: 'Running' }, { text: '' }]];
    expect(tableLines(header, long, 25, false)).toEqual([
      'POD               STATUS',
      'a-pod-with-a-r…   Running',
    ]);
  });
  it('hides an empty last column', () => {
    expect(tableLines(header, rows.slice(0, 1), 80, false)[0]).toBe('POD   STATUS');
  });
  it('colours only cells with a tone', () => {
    const [, first, second] = tableLines(header, rows, 80, true);
    expect(first).toContain('\u001b[32mRunning\u001b[0m');
    expect(second).not.toContain('\u001b[3');
  });
  it('removes control characters', () => {
    const [, line] = tableLines(
      header,
      [[{ text: 'a\u001b[2Jb\nc' }, { text: '' }, { text: '' }]],
      80,
      false,
    );
    expect(line).toMatch(/^a \[2Jb c/);
  });
});

it.each([
  ['short', 10, 'short'],
  ['exactly', 7, 'exactly'],
  ['too long', 5, 'too …'],
  ['x', 0, ''],
])('cutTo(%s, %d)', (text, width, cut) => {
  expect(cutTo(text, width)).toBe(cut);
});

it.each<[string[], number, string[]]>([
  [['h', 'a', 'b'], 3, ['h', 'a', 'b']],
  [['h', 'a', 'b', 'c'], 3, ['h', 'a', '… 2 more pods']],
  [['h', 'a'], 1, ['… 2 more pods']],
])('cutToHeight(%j, %d)', (lines, height, cut) => {
  expect(cutToHeight(lines, height, lines.length, 'pods')).toEqual(cut);
});

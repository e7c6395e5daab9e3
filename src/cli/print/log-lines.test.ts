import { describe, expect, it } from 'vitest';
import { cleanLogLine, lastExits, lastLinesQuery, lastLogLines, shownOfLog } from './log-lines.js';

describe('cleanLogLine', () => {
  it.each([
    ['plain words', 'plain words', 'plain words'],
    ['colours', '\u001b[1;31mred\u001b[0m', 'red'],
    ['moves of the cursor', 'a\u001b[2J\u001b[Hb', 'ab'],
    ['the title of a terminal', '\u001b]0;owned\u0007text', 'text'],
    ['a title that does not end', '\u001b]0;owned', ''],
    ['other control characters', 'a\u0000b\u0008c\u009bd', 'a\ufffdb\ufffdc\ufffdd'],
    ['text that would run backwards', '\u202etxt.exe', '\ufffdtxt.exe'],
    ['a tab and the end of a Windows line', 'a\tb\r', 'a    b'],
    ['a carriage return that would hide what came before', 'secret\rshown', 'secret\ufffdshown'],
  ])('%s', (_, line, shown) => {
    expect(cleanLogLine(line)).toBe(shown);
  });
});

describe('lastLogLines', () => {
  it.each<[string, string, string[]]>([
    ['nothing', '', []],
    ['the last ones', '1\n2\n3\n4\n5\n6\n7\n', ['3', '4', '5', '6', '7']],
    ['a last one without an end', 'a\nb', ['a', 'b']],
    ['long ones cut', 'x'.repeat(9000), [`${'x'.repeat(shownOfLog.lineChars)}…`]],
  ])('shows %s', (_, text, shown) => {
    expect(lastLogLines(text)).toEqual(shown);
  });
});

describe('lastExits', () => {
  const running = { running: {} };
  const ended = (exitCode: number) => ({ terminated: { exitCode } });
  it.each([
    ['one that never ran', {}, []],
    ['one that runs', { state: running }, []],
    ['one that ended', { state: ended(1) }, [{ container: 'c', exitCode: 1, previous: false }]],
    [
      'one that waits to be tried again',
      { state: {}, lastState: ended(2) },
      [{ container: 'c', exitCode: 2, previous: false }],
    ],
    [
      'one that runs again',
      { state: running, lastState: ended(3) },
      [{ container: 'c', exitCode: 3, previous: true }],
    ],
    ['one that did its work and runs again', { state: running, lastState: ended(0) }, []],
  ])('%s', (_, status, exits) => {
    expect(lastExits([{ name: 'c', ...status }])).toEqual(exits);
  });
});

it('asks for no more than is shown', () => {
  expect(lastLinesQuery(true)).toBe('tailLines=5&limitBytes=16384&previous=true');
});

/** The order of words in a command line. */
import { describe, expect, it } from 'vitest';
import { absolutePath, BadProgramWord, checkedWord, linkName } from './checked-word.js';
import { CommandLine } from './command-line.js';

const hostile = ['-T/x', '--help', '--', '', 'a\nb', ';reboot', '$(id)', 'a b', 'LABEL=x', '../x', 'é'];

describe('command lines', () => {
  it.each(hostile)('%j is an operand, whatever it looks like', (value) => {
    const { words } = CommandLine.of('umount').literal('-f').operands(value, value);
    expect(words).toEqual(['-f', '--', value, value]);
  });

  it.each(hostile)('%j is the value of its option', (value) =>
    expect(CommandLine.of('journalctl').option('--grep', value).words).toEqual([`--grep=${value}`]),
  );

  it('a program without `--` takes checked words', () => {
    const device = checkedWord(absolutePath, 'device', '/dev/-x');
    expect(CommandLine.of('fsck').literal('-a').operands(device).words).toEqual(['-a', '/dev/-x']);
    const bridge = checkedWord(linkName, 'bridge', 'br0');
    expect(CommandLine.of('ip').literal('link', 'delete', 'dev').operands(bridge).words).toEqual([
      ...['link', 'delete', 'dev', 'br0'],
    ]);
  });

  it.each(['a\0b', 'x'.repeat(200_000)])('an operand that no program can receive is refused', (value) => {
    expect(() => CommandLine.of('umount').operands(value)).toThrow(BadProgramWord);
    expect(() => CommandLine.of('journalctl').option('--grep', value)).toThrow(/argument 1 of journalctl: /);
    expect(() => CommandLine.given('x', [value])).toThrow(BadProgramWord);
    expect(() => CommandLine.given(value, [])).toThrow(BadProgramWord);
  });

  it('only text written in the source is a literal', () => {
    const text: string = '-x';
    const line = CommandLine.of('mount');
    // @ts-expect-error Arbitrary text could be a foreign option.
    line.literal(text);
    // @ts-expect-error So could partly known text.
    line.literal(`--unit=${text}`);
    // @ts-expect-error So could an option's name.
    line.option(`--${text}`, 'x');
    // @ts-expect-error A word after a short option must be checked.
    line.optionWord('-t', text);
    // @ts-expect-error So must an operand of a program without `--`.
    CommandLine.of('fsck').operands(text);
    // @ts-expect-error Only listed programs are started by name.
    expect(CommandLine.of('sh').program).toBe('sh');
  });

  it('is shown in one line', () =>
    expect(String(CommandLine.of('umount').operands('/a b', '', 'a\n"'))).toBe(
      'umount -- "/a b" "" "a\\n\\""',
    ));
});

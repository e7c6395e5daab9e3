import { describe, expect, it } from 'vitest';
import { type Program, parseProgram } from './program.js';

const print = (line: string, stream: 'stdout' | 'stderr' = 'stdout') => ({ do: 'print', stream, line });
const pause = (durationMs: number, interruptible = false) => ({ do: 'sleep', durationMs, interruptible });
const exit = (code: number) => ({ do: 'exit', code });
const sh = (text: string) => ['/bin/sh', '-c', text];

describe('parseProgram', () => {
  const cases: [rule: string, argv: string[], steps: object[] | undefined, onTerm?: Program['onTerm']][] = [
    ['a command alone', ['sleep', '5'], [pause(5000)]],
    ['a command by its path', ['/bin/sleep', '0.5'], [pause(500)]],
    ['units of sleep', ['sleep', '2m'], [pause(120_000)]],
    ['sleep without end', ['sleep', 'infinity'], [pause(Number.POSITIVE_INFINITY)]],
    ['true exits with 0', ['true'], []],
    ['false exits with 1', ['false'], [exit(1)]],
    ['cat echoes its input', ['cat'], [{ do: 'copy-input' }]],
    ['cat of files is not understood', ['cat', '/etc/hosts'], undefined],
    ['only the last status counts', sh('false; true'), []],
    ['a script in a shell', sh('echo hi; sleep 1 && exit 3'), [print('hi'), pause(1000), exit(3)]],
    ['lines of a script', sh('echo a\necho b'), [print('a'), print('b')]],
    ['quotes keep words together', sh(`echo "a  b" 'c;d'`), [print('a  b c;d')]],
    ['standard error', sh('echo oops >&2; echo o 1>&2'), [print('oops', 'stderr'), print('o', 'stderr')]],
    ['exec is transparent', sh('exec sleep 1'), [pause(1000)]],
    [
      'a background sleep that is waited for can be interrupted',
      sh('sleep 1 & wait $!'),
      [pause(1000, true)],
    ],
    ['exit codes are bytes', sh('exit 256'), [exit(0)]],
    ['an empty trap ignores', sh("trap '' TERM; sleep 1"), [pause(1000)], 'ignore'],
    ['an unknown program is not understood', ['nginx', '-g', 'daemon off;'], undefined],
    ['an unknown word in a script is not understood', sh('while true; do sleep 1; done'), undefined],
    ['variables are not understood', sh('echo "$HOME"'), undefined],
    ['pipes are not understood', sh('echo a | cat'), undefined],
    ['redirection to a file is not understood', sh('echo a >/tmp/x'), undefined],
    ['a shell without a script is not understood', ['sh'], undefined],
    ['other background work is not understood', sh('sleep 1 & echo hi'), undefined],
  ];
  it.each(cases)('%s', (_, argv, steps, onTerm) => {
    const program = parseProgram(argv);
    expect(program?.steps).toEqual(steps);
    if (onTerm !== undefined) expect(program?.onTerm).toEqual(onTerm);
  });
  it('a trap runs its action on TERM', () => {
    const program = parseProgram(sh("trap 'echo bye; exit 4' TERM INT; sleep 9 & wait"));
    expect(program?.onTerm).toEqual([print('bye'), exit(4)]);
  });
});

/** A container's words reach its own command and no program on the way to it. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import { CommandLine, plainEnvironment, runProgram } from '../../programs/index.js';
import { asUser, type CommandSurroundings } from './as-user.js';
import { CommandNotStarted, startCommand } from './command-process.js';
import { coverWords } from './covers.js';
import { onTerminal, quoted, resizeTerminal } from './terminal.js';

const hostile = ['-T/x', '--help', '--', '', 'a\nb', ';reboot', '$(id)', 'a b', 'LABEL=x', '../x', "it's"];
const unfit = ['a\0b', 'x'.repeat(200_000)];
const surroundings: CommandSurroundings = { env: { PATH: '/usr/bin:/bin' }, workingDir: '/' };
const limits = { clock: systemClock, limitMs: 20_000, outputLimitBytes: 10_000 };

describe.runIf(process.platform === 'linux')('a container’s words', () => {
  const ways: readonly [way: string, how: Partial<CommandSurroundings>][] = [
    ['without new privileges', { noNewPrivileges: true }],
    ['as a user with groups', { user: { uid: 1, gid: 1, groups: [2] } }],
    [
      'as a user who sees what is closed to others',
      { user: { uid: 1, gid: 1 }, covers: [{ directory: '/closed', shows: ['/closed/--help'] }] },
    ],
  ];
  it.each(ways.flatMap(([way, how]) => hostile.map((word) => ({ way, how, word }))))(
    '$word stands behind the end of options $way',
    ({ how, word }) => {
      const { args } = asUser({ path: '/bin/echo', args: [word] }, { ...surroundings, ...how });
      const command = args.lastIndexOf('/bin/echo');
      expect(args.slice(command)).toEqual(['/bin/echo', word]);
      expect(args.indexOf('--')).toBeLessThan(command);
    },
  );

  it.each(hostile)('%j is quoted for the shell of a terminal', (word) => {
    const { args } = onTerminal({ path: '/bin/echo', args: [word], env: {} });
    expect(args).toEqual(['-qefc', `unset SHELL; exec '/bin/echo' ${quoted(word)}`, '/dev/null']);
  });

  it.each(hostile)('the command gets %j unchanged', async (word) => {
    const { child, exited } = await startCommand(surroundings, {
      argv: ['sh', '-c', 'printf "<%s>" "$1"', 'sh', word],
      stdin: false,
      tty: false,
    });
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const closed = new Promise((resolve) => child.once('close', resolve));
    expect(await exited).toBe(0);
    await closed;
    expect(text).toBe(`<${word}>`);
  });

  it.each(unfit)('a word that cannot be an argument keeps the command from starting', (word) =>
    expect(startCommand(surroundings, { argv: ['sh', word], stdin: false, tty: false })).rejects.toThrow(
      CommandNotStarted,
    ),
  );

  it.each(['-S/bin/false', '-i', '--help', '-u'])(
    'a variable called %j is no option of env',
    async (name) => {
      const { path, args, env } = asUser(
        { path: '/usr/bin/printenv', args: ['PLAIN'] },
        {
          ...surroundings,
          env: { ...surroundings.env, PLAIN: 'kept', [name]: 'x' },
          user: { uid: 1, gid: 1, groups: [2] },
        },
      );
      const end = await runProgram(CommandLine.given(path, args), { ...limits, env });
      expect(end).toMatchObject({ kind: 'exited', exitCode: 0, stdout: 'kept\n' });
    },
  );
});

describe('paths and sizes that programs of the machine are given', () => {
  it.each([...hostile, ...unfit])('%j is neither covered nor shown', (path) => {
    expect(() => coverWords([{ directory: path, shows: [] }])).toThrow('a covered directory: ');
    expect(() => coverWords([{ directory: '/a', shows: [path] }])).toThrow('a mounted path: ');
  });

  it.each([...hostile, ...unfit])('%j is not a terminal', (device) =>
    expect(resizeTerminal(device, { width: 1, height: 1 })).rejects.toThrow('the terminal: '),
  );

  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('%d is not a terminal size', async (size) => {
    await expect(resizeTerminal('/dev/null', { width: size, height: 1 })).rejects.toThrow('cols of stty: ');
    await expect(resizeTerminal('/dev/null', { width: 1, height: size })).rejects.toThrow('rows of stty: ');
  });

  it('a device that is not a terminal is an error', () =>
    expect(resizeTerminal('/dev/null', { width: 1, height: 1 })).rejects.toThrow(
      'cannot be set: exit status 1',
    ));

  it('system programs get nothing of the agent’s environment', () =>
    expect(Object.keys(plainEnvironment())).toEqual(['PATH', 'LC_ALL']));
});

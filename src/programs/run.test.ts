/** Programs that run to their end, and programs that do not. */
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Cancelled, systemClock } from '../async/index.js';
import { CommandLine } from './command-line.js';
import { plainEnvironment } from './environment.js';
import { endText, type ProgramRunOptions, runProgram, runProgramSync, streamProgram } from './run.js';

const defaults = { clock: systemClock, limitMs: 20_000, env: plainEnvironment(), outputLimitBytes: 10_000 };
const shell = (script: string): CommandLine => CommandLine.given('sh', ['-c', script]);
const run = (script: string, options: Partial<ProgramRunOptions> = {}) =>
  runProgram(shell(script), { ...defaults, ...options });

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'nodelet-programs-'));
});
afterAll(() => rmSync(dir, { recursive: true }));

/** A program that records the pid of its child; neither ends. */
const twoForever = (name: string): string => `sleep 1000 & echo $! > ${dir}/${name}; wait`;
const noted = async (name: string): Promise<number> => {
  await vi.waitFor(() =>
    expect(existsSync(join(dir, name)) && readFileSync(join(dir, name), 'utf8')).toMatch(/\n/),
  );
  return Number(readFileSync(join(dir, name), 'utf8'));
};
const isGone = (pid: number): Promise<void> =>
  vi.waitFor(() => {
    // Zombies count as dead; whoever inherits them reaps them.
    const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : '(x) Z';
    expect(stat).toMatch(/\) Z/);
  });

describe('runProgram', () => {
  it('returns exit code and outputs', async () =>
    expect(await run('echo out; echo err >&2; exit 3')).toEqual({
      kind: 'exited',
      exitCode: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    }));

  it('writes the input', async () =>
    expect(await run('cat', { input: 'asked' })).toMatchObject({ exitCode: 0, stdout: 'asked' }));

  it('a program that does not read its input is no failure', async () =>
    expect(await run('exit 0', { input: 'x'.repeat(1_000_000) })).toMatchObject({ exitCode: 0 }));

  it('stdin is empty without input', async () =>
    expect(await run('cat; exit 4')).toMatchObject({ exitCode: 4, stdout: '' }));

  it('passes only the given environment and starts in the root directory', async () => {
    const end = await run('env; pwd', { env: { PATH: '/usr/bin:/bin', WORD: 'x' } });
    const others = /^(PWD|OLDPWD|SHLVL|_)=/;
    const lines = end.stdout.split('\n').filter((entry) => !others.test(entry));
    expect(new Set(lines)).toEqual(new Set(['PATH=/usr/bin:/bin', 'WORD=x', '/', '']));
  });

  it('passes open files', async () => {
    const file = openSync(join(dir, 'passed'), 'w');
    expect(await run('echo written >&3', { files: [file] })).toMatchObject({ exitCode: 0 });
    closeSync(file);
    expect(readFileSync(join(dir, 'passed'), 'utf8')).toBe('written\n');
  });

  it('passes words unchanged', async () => {
    const words = ["it's", '$HOME `id`', 'a\nb', '', '-x', '--'];
    const line = CommandLine.given('sh', ['-c', 'printf "%s|" "$@"', 'sh', ...words]);
    expect(await runProgram(line, defaults)).toMatchObject({ stdout: `${words.join('|')}|` });
  });

  it('reports a program killed by someone else', async () => {
    const end = await run('kill -9 $$');
    expect(end).toMatchObject({ kind: 'killed', by: 'SIGKILL' });
    expect(endText(end)).toBe('killed by SIGKILL');
  });

  it('reports a missing program', async () => {
    const end = await runProgram(CommandLine.given('/no/such/program', []), defaults);
    expect(end).toMatchObject({ kind: 'not-started', code: 'ENOENT' });
    expect(endText(end)).toBe('no such program (ENOENT)');
  });

  it('kills the program and its children at the limit', async () => {
    const end = await run(twoForever('limit'), { limitMs: 500 });
    expect(end).toMatchObject({ kind: 'timed-out' });
    expect(endText(end)).toBe('did not end within 0.5s');
    await isGone(await noted('limit'));
  });

  it('kills both when cancelled', async () => {
    const controller = new AbortController();
    const running = run(twoForever('cancelled'), { signal: controller.signal });
    const pid = await noted('cancelled');
    controller.abort();
    await expect(running).rejects.toThrow(Cancelled);
    await isGone(pid);
    await expect(run('true', { signal: controller.signal })).rejects.toThrow(Cancelled);
  });

  it.each(['', '>&2'])('kills both for too much output %s', async (where) => {
    const end = await run(`${twoForever(`output${where.length}`).replace('wait', `yes ${where}`)}`);
    expect(end).toMatchObject({ kind: 'too-much-output', limitBytes: 10_000 });
    expect(end.stdout.length + end.stderr.length).toBe(10_000);
    await isGone(await noted(`output${where.length}`));
  });

  it('does not wait for children left running', async () => {
    const end = await run(`sleep 1000 & echo $! > ${dir}/left; echo done`);
    expect(end).toMatchObject({ exitCode: 0, stdout: 'done\n' });
    process.kill(await noted('left'));
  });
});

describe('streamProgram', () => {
  it('streams both outputs with back-pressure', async () => {
    let text = '';
    await streamProgram(shell('for i in 1 2 3; do echo $i; echo $i >&2; done'), {
      env: plainEnvironment(),
      signal: new AbortController().signal,
      write: async (chunk) => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        text += chunk.toString();
      },
    });
    expect(text.replaceAll('\n', '').split('').sort().join('')).toBe('112233');
  });

  it('fails if the program does not exist', () =>
    expect(
      streamProgram(CommandLine.given('/no/such/program', []), {
        env: plainEnvironment(),
        signal: new AbortController().signal,
        write: async () => {},
      }),
    ).rejects.toMatchObject({ code: 'ENOENT' }));

  it('ends with its signal, children included', async () => {
    const controller = new AbortController();
    const running = streamProgram(shell(twoForever('streamed')), {
      env: plainEnvironment(),
      signal: controller.signal,
      write: async () => {},
    });
    const pid = await noted('streamed');
    controller.abort();
    await expect(running).rejects.toThrow();
    await isGone(pid);
  });

  it('ends when no one takes its output', async () => {
    const failed = streamProgram(shell(`echo x; ${twoForever('refused')}`), {
      env: plainEnvironment(),
      signal: new AbortController().signal,
      write: async () => {
        await noted('refused');
        throw new Error('gone');
      },
    });
    await expect(failed).rejects.toThrow('gone');
    await isGone(await noted('refused'));
  });
});

describe('runProgramSync', () => {
  const options = { env: plainEnvironment(), limitMs: 20_000, outputLimitBytes: 1_000 };
  it('returns the output', () => expect(runProgramSync(shell('echo x'), options)).toBe('x\n'));
  it.each(['exit 1', 'kill -9 $$', 'yes'])('returns undefined on failure: %s', (script) =>
    expect(runProgramSync(shell(script), options)).toBeUndefined(),
  );
  it('returns undefined at the limit', () =>
    expect(runProgramSync(shell('exec sleep 1000'), { ...options, limitMs: 200 })).toBeUndefined());
});

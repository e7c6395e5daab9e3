/** Programs run through shells, within limits. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Cancelled, systemClock, VirtualClock } from '../async/index.js';
import { CommandLine } from './command-line.js';
import { Shells } from './shells.js';

describe('Shells', () => {
  const shells = new Shells(systemClock);
  const run = (script: string, limitMs = 5_000, signal?: AbortSignal) =>
    shells.run(CommandLine.given('sh', ['-c', script]), { limitMs, signal });

  it('success is silent', async () => expect(await run('echo fine')).toBeUndefined());

  it('a failure has the status and all output', async () =>
    expect(await run('echo out; echo err >&2; exit 32')).toEqual({
      status: 'exit status 32',
      exitCode: 32,
      output: expect.stringMatching(/out\nerr\n|err\nout\n/),
      timedOut: false,
    }));

  it('a signal is reported', async () =>
    expect(await run('kill -9 $$')).toMatchObject({ status: 'signal: SIGKILL', timedOut: false }));

  it('a program that does not end is not awaited', async () => {
    const start = performance.now();
    expect(await run('exec sleep 30', 50)).toMatchObject({
      status: 'did not end within 0.05s',
      timedOut: true,
    });
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  it('a cancelled program is not awaited', async () => {
    const controller = new AbortController();
    const running = run('exec sleep 30', 30_000, controller.signal);
    setTimeout(() => controller.abort(), 20);
    await expect(running).rejects.toThrow(Cancelled);
    await expect(run('true', 1_000, AbortSignal.abort())).rejects.toThrow(Cancelled);
  });

  it('output is bounded', async () => {
    const failure = await run('head -c 1000000 /dev/zero | tr "\\0" x; exit 1');
    expect(failure?.output.length).toBeLessThan(200_000);
  });

  it('a missing command fails', async () => {
    const failure = await shells.run(CommandLine.given('no-such-command', []), { limitMs: 5_000 });
    expect(failure).toMatchObject({
      status: 'exit status 127',
      output: expect.stringContaining('no-such-command: not found'),
      timedOut: false,
    });
  });

  it('words are passed unchanged', async () => {
    const failure = await shells.run(
      CommandLine.given('sh', ['-c', 'printf "%s|" "$@"; exit 1', 'sh', "it's", '$HOME `id`', 'a\nb', '']),
      { limitMs: 5_000 },
    );
    expect(failure?.output).toBe("it's|$HOME `id`|a\nb||");
  });

  it('concurrent programs keep their outputs apart', async () => {
    const ran = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        run(`echo ${index}; sleep 0.0${index % 5}; exit ${index + 1}`),
      ),
    );
    expect(ran.map((failure) => [failure?.status, failure?.output])).toEqual(
      Array.from({ length: 12 }, (_, index) => [`exit status ${index + 1}`, `${index}\n`]),
    );
  });

  it('a burst of programs is run by few shells', async () => {
    const own = new Shells(new VirtualClock());
    const dir = mkdtempSync(join(tmpdir(), 'nodelet-shells-'));
    const parent = CommandLine.given('sh', ['-c', `echo $PPID >> ${dir}/shells`]);
    await Promise.all(Array.from({ length: 40 }, () => own.run(parent, { limitMs: 10_000 })));
    const shellPids = readFileSync(join(dir, 'shells'), 'utf8').trim().split('\n');
    expect(shellPids.length).toBe(40);
    expect(new Set(shellPids).size).toBeLessThanOrEqual(availableParallelism() + 2);
    rmSync(dir, { recursive: true });
  });

  it('slow programs do not hold up others', async () => {
    const clock = new VirtualClock();
    const own = new Shells(clock);
    const controller = new AbortController();
    const slow = Array.from({ length: availableParallelism() + 8 }, () =>
      own.run(CommandLine.given('sleep', ['30']), { limitMs: 30_000, signal: controller.signal }),
    );
    const cancelled = Promise.all(slow.map((one) => expect(one).rejects.toThrow(Cancelled)));
    const quick = own.run(CommandLine.given('true', []), { limitMs: 5_000 });
    await clock.advance(1_000);
    expect(await quick).toBeUndefined();
    controller.abort();
    await cancelled;
  });

  it('an abandoned command is killed', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'nodelet-killed-'));
    await run(`sleep 0.3; touch ${dir}/late`, 50);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(readdirSync(dir)).toEqual([]);
    rmSync(dir, { recursive: true });
  });

  it("the agent's environment does not reach a program", async () => {
    process.env.LIBMOUNT_FSTAB = '/tmp/fstab';
    try {
      const failure = await run('env; exit 1');
      expect(failure?.output).toContain('LC_ALL=C\n');
      expect(failure?.output).not.toContain('LIBMOUNT_FSTAB');
    } finally {
      delete process.env.LIBMOUNT_FSTAB;
    }
  });
});

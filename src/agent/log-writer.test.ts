/** The log of an agent whose reader is gone, stuck or full. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../async/index.js';
import { type LogBatch, LogWriter } from './log-writer.js';

const failure = (code: string): Error => Object.assign(new Error(`${code}: write`), { code });

function world(maxHeldBytes = 100, batch?: LogBatch) {
  const clock = new VirtualClock();
  const told: string[] = [];
  let text = '';
  let calls = 0;
  let behave: (bytes: Uint8Array) => number | Promise<number> = (bytes) => bytes.length;
  const writer = new LogWriter({
    clock,
    maxHeldBytes,
    batch,
    sink: {
      write: async (bytes) => {
        calls++;
        const count = await behave(bytes);
        text += Buffer.from(bytes.subarray(0, count)).toString();
        return count;
      },
      writeNow: (bytes) => {
        text += Buffer.from(bytes).toString();
        return bytes.length;
      },
    },
    onFailing: (error) => told.push(`failing ${error instanceof Error ? error.message : ''}`),
    onRecovered: (lost) => told.push(`recovered ${lost}`),
  });
  return {
    clock,
    writer,
    told,
    text: () => text,
    calls: () => calls,
    behave: (next: typeof behave) => {
      behave = next;
    },
  };
}

describe('the log writer', () => {
  it('keeps lines back until they are many or old, or somebody wants them out', async () => {
    const { clock, writer, text } = world(100, { bytes: 10, periodMs: 5_000 });
    writer.write('a\n');
    await turn();
    expect(text()).toBe('');
    await clock.advance(5_000);
    expect(text()).toBe('a\n');
    writer.write('0123456789\n');
    await turn();
    await turn();
    expect(text()).toBe('a\n0123456789\n');
    writer.write('b\n');
    await writer.flush();
    expect(text()).toBe('a\n0123456789\nb\n');
    writer.write('c\n');
    writer.writeRest();
    expect(text()).toBe('a\n0123456789\nb\nc\n');
  });
  it('never keeps back more than half of what it may hold', async () => {
    const { writer, text } = world(100, { bytes: 1_000_000, periodMs: 5_000 });
    for (let at = 0; at < 5; at++) writer.write('0123456789\n');
    await turn();
    await turn();
    expect(text().length).toBe(55);
  });
  it('writes the lines of one turn at once, and goes on where a sink took a part', async () => {
    const { writer, text, calls, behave } = world();
    behave((bytes) => Math.min(bytes.length, 7));
    for (const line of ['first\n', 'second\n', 'third\n']) writer.write(line);
    await writer.flush();
    expect(text()).toBe('first\nsecond\nthird\n');
    expect(calls()).toBe(3);
  });

  it.each(['EPIPE', 'EIO', 'ENOSPC'])(
    '%s: told once, bounded, and written again afterwards',
    async (code) => {
      const { writer, clock, told, text, calls, behave } = world();
      behave(() => Promise.reject(failure(code)));
      for (let n = 0; n < 1000; n++) {
        writer.write(`line ${n}\n`);
        if (n % 100 === 0) await turn();
      }
      await clock.advance(600_000);
      expect(calls()).toBeLessThan(80);
      expect(told).toEqual([`failing ${code}: write`]);
      await expect(writer.flush()).rejects.toThrow(code);
      behave((bytes) => bytes.length);
      await clock.advance(20_000);
      await writer.flush();
      expect(text().endsWith('line 998\nline 999\n')).toBe(true);
      expect(text().length).toBeLessThanOrEqual(100);
      expect(told[1]).toBe(`recovered ${1000 - text().split('\n').length + 1}`);
      await writer.close();
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it('EAGAIN is no failure: all lines come, a moment later', async () => {
    const { writer, clock, told, text, behave } = world();
    behave(() => Promise.reject(failure('EAGAIN')));
    writer.write('line\n');
    await turn();
    behave((bytes) => bytes.length);
    await clock.advance(1_000);
    expect(text()).toBe('line\n');
    expect(told).toEqual([]);
  });

  it('a reader that is stuck costs lines and no memory, and the end does not wait for it', async () => {
    const { writer, clock, told, text, behave } = world();
    let release: (count: number) => void = () => {};
    behave(() => new Promise((resolve) => (release = resolve)));
    writer.write('stuck\n');
    await turn();
    for (let n = 0; n < 1000; n++) writer.write(`line ${n}\n`);
    const closing = writer.close();
    await clock.advance(2_000);
    await closing;
    writer.writeRest();
    expect(text()).toBe('');
    behave((bytes) => bytes.length);
    release(6);
    await writer.flush();
    expect(text().length).toBeLessThanOrEqual(210);
    expect(told).toEqual([expect.stringMatching(/^recovered 9\d\d$/)]);
  });

  it('what is held at the end of the process is written then', () => {
    const { writer, text } = world();
    writer.write('last words\n');
    writer.writeRest();
    expect(text()).toBe('last words\n');
  });
});

describe('a process', () => {
  it.each<[string, NodeJS.ProcessEnv, (child: ChildProcess) => void]>([
    ['whose reader is gone', {}, (child) => void child.stderr?.destroy()],
    [
      'whose reader is gone, where others write, too,',
      { SPEAKS_ITSELF: '1' },
      (child) => void child.stderr?.destroy(),
    ],
    ['whose reader is stuck', {}, (child) => void child.stderr?.pause()],
  ])(
    '%s lives and its event loop turns',
    async (_, environment, spoil) => {
      const child = start(environment);
      await once(child.stdout ?? child, 'data');
      spoil(child);
      child.stdin?.write('go');
      const [answer] = await once(child.stdout ?? child, 'data');
      expect(String(answer)).toContain('alive');
      child.stdin?.end();
      const [code] = await once(child, 'exit');
      expect(code).toBe(0);
    },
    30_000,
  );
});

/** Writes far more than a pipe holds, and then says on its other output that it is alive. */
function start(environment: NodeJS.ProcessEnv): ChildProcess {
  const module = JSON.stringify(path.resolve(import.meta.dirname, 'log-writer.ts'));
  const program = `
    const { LogWriter, descriptorSink, ignoreOutputErrors } = await import(${module});
    ignoreOutputErrors();
    const writer = new LogWriter({ sink: descriptorSink(2) });
    process.on('exit', () => writer.writeRest());
    process.stdout.write('ready');
    process.stdin.once('data', () => {
      let n = 0;
      const timer = setInterval(() => {
        if (process.env.SPEAKS_ITSELF) process.stderr.write('a warning of Node\\n');
        for (let i = 0; i < 200; i++) writer.write('x'.repeat(1000) + '\\n');
        if (++n < 20) return;
        clearInterval(timer);
        process.stdout.write('alive');
      }, 5);
    });
    process.stdin.on('end', async () => {
      await writer.close();
      process.exit(0);
    });
  `;
  return spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
}

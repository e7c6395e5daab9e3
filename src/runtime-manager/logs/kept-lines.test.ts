import { describe, expect, it } from 'vitest';
import { settle } from '../../async/index.js';
import { SimMemoryLog } from '../../runtimes/sim/memory-log.js';
import { readKeptLog } from './kept-lines.js';
import { type LogRequest, logOptions } from './options.js';

const startMs = Date.UTC(2026, 0, 1);

/** Lines `line0` to `lineN`, one a second, errors on stderr. */
function kept(limitBytes = 10_000) {
  let second = 0;
  const log = new SimMemoryLog(limitBytes, () => BigInt(startMs + second * 1000) * 1_000_000n);
  const write = (text: string, stream: 'stdout' | 'stderr' = 'stdout'): void => {
    log.write(stream, text);
    second++;
  };
  return { log, write };
}

function read(log: SimMemoryLog, request: LogRequest = {}, signal?: AbortSignal) {
  const out = { text: '' };
  const sink = {
    async write(bytes: Buffer): Promise<void> {
      out.text += bytes.toString();
    },
  };
  const options = logOptions(request, startMs);
  const done = readKeptLog({ log, options, sinks: { stdout: sink, stderr: sink }, signal });
  return { out, done };
}

describe('a log that is kept in memory', () => {
  it.each<[string, LogRequest, string]>([
    ['all lines', {}, 'line0\nline1\nline2\n'],
    ['the last ones', { tailLines: 2 }, 'line1\nline2\n'],
    ['since a time', { sinceTimeMs: startMs + 2000 }, 'line2\n'],
    ['a number of bytes', { limitBytes: 8 }, 'line0\nli'],
    ['with times', { tailLines: 1, timestamps: true }, '2026-01-01T00:00:02.000000000Z line2\n'],
  ])('%s', async (_, request, expected) => {
    const { log, write } = kept();
    for (const text of ['line0', 'line1', 'line2']) write(text);
    const { out, done } = read(log, request);
    await done;
    expect(out.text).toBe(expected);
  });

  it('the oldest lines make room for new ones', async () => {
    const { log, write } = kept(300);
    for (let index = 0; index < 100; index++) write(`line${index}`);
    const { out, done } = read(log);
    await done;
    expect(out.text).toBe('line96\nline97\nline98\nline99\n');
    expect(log.from(0).next).toBe(100);
  });

  it('a line that is longer than all of it is cut', async () => {
    const { log, write } = kept(100);
    write('x'.repeat(1000));
    expect(log.from(0).lines[0]?.text.length).toBe(36);
  });

  it('is followed to the end of the container', async () => {
    const { log, write } = kept();
    write('first');
    const { out, done } = read(log, { follow: true });
    await settle();
    write('second');
    await settle();
    expect(out.text).toBe('first\nsecond\n');
    write('last');
    log.close();
    await done;
    expect(out.text).toBe('first\nsecond\nlast\n');
  });

  it('following ends with its signal', async () => {
    const { log } = kept();
    const stop = new AbortController();
    const { done } = read(log, { follow: true }, stop.signal);
    await settle();
    stop.abort();
    await expect(done).rejects.toThrow('context cancelled');
  });
});

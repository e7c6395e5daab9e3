import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pauseProgram } from './pause-program.js';

const canRun = process.platform === 'linux' && (process.arch === 'x64' || process.arch === 'arm64');

describe.runIf(canRun)('pauseProgram, run', () => {
  let dir: string;
  let file: string;
  beforeAll(() => {
    dir = mkdtempSync(path.join(tmpdir(), 'nodelet-pause-'));
    file = path.join(dir, 'pause');
    writeFileSync(file, pauseProgram(process.arch as 'x64' | 'arm64'), { mode: 0o755 });
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it.each(['SIGTERM', 'SIGINT'] as const)('waits, and exits cleanly on %s', async (signal) => {
    const child = spawn(file, { stdio: 'ignore' });
    const exited = once(child, 'exit');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(child.exitCode).toBeNull();
    child.kill(signal);
    expect(await exited).toEqual([0, null]);
  });
  it('reaps orphans', async () => {
    const child = spawn(file, { stdio: 'ignore' });
    await new Promise((resolve) => setTimeout(resolve, 50));
    child.kill('SIGCHLD');
    await new Promise((resolve) => setTimeout(resolve, 50));
    const ignored = spawnSync('grep', ['SigIgn', `/proc/${child.pid}/status`], { encoding: 'utf8' }).stdout;
    expect(BigInt(`0x${ignored.split(/\s+/)[1]}`) & (1n << 16n)).toBe(1n << 16n);
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
});

describe('pauseProgram', () => {
  it.each([
    ['x64', 62],
    ['arm64', 183],
  ] as const)('is an ELF file for %s', (arch, machine) => {
    const program = pauseProgram(arch);
    expect(program.subarray(0, 4).toString('latin1')).toBe('\x7fELF');
    expect(program.readUInt16LE(18)).toBe(machine);
    expect(Number(program.readBigUInt64LE(96))).toBe(program.length);
  });
});

/** Runs programs of the virtual machine, waits for what they do, and says how far it is. */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const patienceMs = 8 * 60_000;

export const run = promisify(execFile);

export async function command(file: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(file, args, { timeout: 300_000, maxBuffer: 8 << 20 });
  return stdout;
}

export async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const endMs = performance.now() + patienceMs;
  let last: unknown;
  while (performance.now() < endMs) {
    try {
      const seen = await look();
      if (seen !== undefined) return seen;
    } catch (error) {
      last = error;
    }
    await sleep(500);
  }
  throw new Error(`timed out: ${what}`, { cause: last });
}

export function say(text: string): void {
  console.log(`${new Date().toISOString()} ${text}`);
}

export function write(file: string, content: string): void {
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, content);
}

export async function show(unit: string): Promise<Record<string, string>> {
  const names = [
    ...['ActiveState', 'Description', 'Wants', 'Slice', 'Transient', 'MainPID', 'NRestarts', 'SubState'],
    ...['MemoryMax', 'CPUWeight', 'CPUQuotaPerSecUSec', 'TasksMax', 'MemoryAccounting', 'CPUAccounting'],
    ...['LoadState', 'Result', 'UnitFileState', 'Type', 'WatchdogUSec'],
    ...['IOAccounting', 'TasksAccounting', 'DefaultDependencies', 'WatchdogTimestampMonotonic'],
  ];
  const text = await command('systemctl', 'show', unit, ...names.map((name) => `--property=${name}`));
  const lines = text.split('\n').filter((line) => line.includes('='));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

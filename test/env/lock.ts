/** One holder at a time over all processes of the machine; the kernel frees the lock when its holder dies. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { environmentDir } from './directories.js';

/** Runs `action` while holding the lock called `name`; waits without limit, as the holders' work is limited. */
export async function withLock<T>(name: string, action: () => Promise<T>): Promise<T> {
  const file = join(environmentDir(), `${name}.lock`);
  // The lock lives as long as `cat`, and that as long as this process keeps its end of the pipe open.
  const holder = spawn('flock', ['--exclusive', file, 'sh', '-c', 'echo held; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'close');
  const held = await Promise.race([once(holder.stdout, 'data').then(() => true), ended.then(() => false)]);
  if (!held) {
    throw new Error(`cannot lock ${file}`);
  }
  try {
    return await action();
  } finally {
    holder.stdin.end();
    await ended;
  }
}

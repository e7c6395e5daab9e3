/** Whether this machine lets us lower a process's OOM score. */
import { readFile, writeFile } from 'node:fs/promises';

const file = '/proc/self/oom_score_adj';
const lowest = -1000;

/** If not, as in many containers, runc must not be asked to. */
export async function mayLowerOomScore(): Promise<boolean> {
  try {
    const current = Number(await readFile(file, 'utf8'));
    if (current <= lowest) return true;
    await writeFile(file, String(current - 1));
    await writeFile(file, String(current));
    return true;
  } catch {
    return false;
  }
}

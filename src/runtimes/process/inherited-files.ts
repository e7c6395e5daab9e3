/** Closes the files that this process inherited, so that no program it starts inherits them in turn. */
import { closeSync, readdirSync, readFileSync } from 'node:fs';

const closedOnExec = 0o2000000;

/** Node closes the first sixteen, and never passes on the files it opened itself. */
export function closeInheritedFiles(): void {
  if (process.platform !== 'linux') return;
  for (const name of readdirSync('/proc/self/fd')) {
    const fd = Number(name);
    if (fd > 2 && isHandedDown(fd)) closeSync(fd);
  }
}

function isHandedDown(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & closedOnExec) === 0;
  } catch {
    // The directory listing's own.
    return false;
  }
}

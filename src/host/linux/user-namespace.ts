/** Tells whether this process is root of the machine or only of a user namespace. */
import { readFileSync } from 'node:fs';

/** Whether the process is in a user namespace other than the machine's first one; unknown counts as no. */
export function isInUserNamespace(uidMap = '/proc/self/uid_map'): boolean {
  try {
    return !/^\s*0\s+0\s+4294967295\s*$/.test(readFileSync(uidMap, 'utf8'));
  } catch {
    return false;
  }
}

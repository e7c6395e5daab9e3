/** Has two versions of an object share what is the same in both: most of an object stays as it is when it changes. */
import { setOwn } from './deep-equal.js';

/**
 * The newer of two JSON values, with each part that equals the older one's replaced by it; the older one itself if all does.
 * Neither is changed. Lists are compared by place.
 */
export function sharingWith<T>(older: unknown, newer: T): T {
  // A part of the older value is returned only where it has the very content of the newer one.
  return share(older, newer) as T;
}

function share(older: unknown, newer: unknown): unknown {
  if (older === newer || typeof older !== 'object' || typeof newer !== 'object') return newer;
  if (older === null || newer === null) return newer;
  if (Array.isArray(older)) return Array.isArray(newer) ? shareList(older, newer) : newer;
  if (Array.isArray(newer)) return newer;
  // Neither is a list or null.
  return shareMapping(older as Record<string, unknown>, newer as Record<string, unknown>);
}

function shareList(older: readonly unknown[], newer: readonly unknown[]): readonly unknown[] {
  let isSame = older.length === newer.length;
  let hasShared = false;
  const shared = newer.map((member, index) => {
    const result = index < older.length ? share(older[index], member) : member;
    if (result !== member) hasShared = true;
    if (result !== older[index]) isSame = false;
    return result;
  });
  if (isSame) return older;
  return hasShared ? shared : newer;
}

function shareMapping(
  older: Record<string, unknown>,
  newer: Record<string, unknown>,
): Record<string, unknown> {
  const keys = Object.keys(newer);
  let isSame = keys.length === Object.keys(older).length;
  let hasShared = false;
  const results: unknown[] = [];
  for (const key of keys) {
    const member = newer[key];
    const before = Object.hasOwn(older, key) ? older[key] : undefined;
    const result = share(before, member);
    if (result !== member) hasShared = true;
    // Absent and undefined are the same to whoever reads it, but not to whoever counts the members.
    if (result !== before || !Object.hasOwn(older, key)) isSame = false;
    results.push(result);
  }
  if (isSame) return older;
  if (!hasShared) return newer;
  const shared: Record<string, unknown> = {};
  for (const [index, key] of keys.entries()) setOwn(shared, key, results[index]);
  return shared;
}

/** Who follows the names in the directories of a simulated machine. */
import type { DirectoryWatch } from '../host.js';

/** By the entry of the directory; a watch ends with it. */
const watches = new WeakMap<object, Set<() => void>>();

export function watchNames(directory: object, onChange: () => void): DirectoryWatch {
  const listeners = watches.get(directory) ?? new Set();
  watches.set(directory, listeners);
  // A function of its own, so that one listener can watch twice.
  const listener = (): void => onChange();
  listeners.add(listener);
  return { close: () => void listeners.delete(listener) };
}

/** Told later, as the kernel does: never within the call that changes a name. */
export function namesChanged(directory: object): void {
  const listeners = watches.get(directory);
  if (listeners === undefined || listeners.size === 0) return;
  queueMicrotask(() => {
    for (const listener of [...listeners]) if (listeners.has(listener)) listener();
  });
}

/** Follows the names in a directory by notifications of the kernel. */
import { watch } from 'node:fs';
import { toHostError } from '../errors.js';
import type { DirectoryWatch } from '../host.js';

export function watchDirectory(directory: string, onChange: () => void): DirectoryWatch {
  try {
    // The slash refuses anything but a directory: a single file could be watched, too.
    const watcher = watch(`${directory}/`, { persistent: false }, (kind) => {
      if (kind === 'rename') onChange();
    });
    // A watch that breaks tells once, so that its owner looks and watches anew.
    watcher.on('error', () => {
      watcher.close();
      onChange();
    });
    return { close: () => watcher.close() };
  } catch (error) {
    throw toHostError(error, directory);
  }
}

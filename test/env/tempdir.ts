/** Temporary directories for tests and demos, and the list of what must be undone at their end. */
import { chmodSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './command.js';
import { dropOwnDirIfEmpty, ownDir } from './directories.js';
import { removeTree } from './mounts.js';

/** What was started, in order; undone in the opposite order, each step even if another failed. */
export class CleanupStack {
  readonly #steps: { readonly name: string; readonly undo: () => Promise<void> }[] = [];

  defer(name: string, undo: () => Promise<void>): void {
    this.#steps.push({ name, undo });
  }

  async run(): Promise<void> {
    const failures: Error[] = [];
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step.undo();
      } catch (cause) {
        failures.push(new Error(`cleaning up ${step.name} failed: ${String(cause)}`, { cause }));
      }
    }
    if (failures.length === 1) {
      throw failures[0];
    }
    if (failures.length > 1) {
      throw new AggregateError(failures, failures.map(({ message }) => message).join('\n'));
    }
  }
}

export interface TempDirOptions {
  /** Removes the directory when it is run. */
  readonly cleanups?: CleanupStack;
  /** Make it a shared mount, so that mounts below it reach containers (`HostToContainer`, `Bidirectional`). */
  readonly shared?: boolean;
  /** Default 0755. */
  readonly mode?: number;
}

export interface TempDir {
  readonly path: string;
  /** Unmounts what is mounted below, then removes the directory; may be called again. */
  remove(): Promise<void>;
}

/** A new empty directory that the next run removes if this process dies without doing so. */
export async function createTempDir(name: string, options: TempDirOptions = {}): Promise<TempDir> {
  const path = mkdtempSync(join(ownDir(), `${name}-`));
  chmodSync(path, options.mode ?? 0o755);
  const tempDir: TempDir = {
    path,
    remove: async () => {
      await removeTree(path);
      dropOwnDirIfEmpty();
    },
  };
  options.cleanups?.defer(path, tempDir.remove);
  if (options.shared) {
    await runCommand('mount', ['--bind', path, path]);
    await runCommand('mount', ['--make-shared', path]);
  }
  return tempDir;
}

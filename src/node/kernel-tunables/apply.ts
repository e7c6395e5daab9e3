/** Gives the kernel the settings that a node needs, or refuses to start where it must not. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';
import { kernelTunables, tunableChanges, tunableProblem } from './plan.js';

export interface KernelTunablesOptions {
  readonly timeline: Timeline;
  /** Whether a setting that differs is an error instead of being changed. */
  readonly protect: boolean;
  /** Whether a setting that cannot be changed is left: root of a user namespace may not. */
  readonly toleratesRefusal: boolean;
  /** Where the settings are found; tests have them elsewhere. */
  readonly root?: string;
}

/** Throws if the node cannot run with this kernel. */
export function applyKernelTunables(options: KernelTunablesOptions): void {
  const { timeline, protect, toleratesRefusal, root = '/proc/sys' } = options;
  const actual = new Map(
    kernelTunables.map(({ name }) => [name, Number(readFileSync(join(root, name), 'utf8').trim())]),
  );
  const changes = tunableChanges(actual);
  if (protect) {
    const problem = tunableProblem(changes);
    if (problem !== undefined) throw new Error(problem);
    return;
  }
  for (const { name, from, to } of changes) {
    try {
      writeFileSync(join(root, name), String(to));
    } catch (error) {
      if (!toleratesRefusal) throw error;
      const message = `the kernel setting ${name} stays at ${from}: ${errorText(error)}`;
      timeline.record({ kind: 'problem', what: 'node.kernel', message, data: { name, from, to }, error });
      continue;
    }
    timeline.record({
      kind: 'effect',
      what: 'node.kernel',
      message: `changed the kernel setting ${name} from ${from} to ${to}`,
      because: 'nodes need it, and protectKernelDefaults is off',
      data: { name, from, to },
    });
  }
}

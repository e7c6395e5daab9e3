/** The V8 flags that nodelet sets, by the version of Node: V8 prints an error for each flag that it does not know. */
import { setFlagsFromString } from 'node:v8';

interface V8Flag {
  readonly flag: string;
  /** The versions of Node that know the flag, both included. */
  readonly fromMajor: number;
  readonly toMajor: number;
}

/** The newest version of Node that was asked for its flags (`node --v8-options`). */
const newestMajor = 26;

const everyCommand: readonly V8Flag[] = [
  // After a burst one collection gives the memory back; V8 would do more in a row, each as long, and they find nothing.
  { flag: '--memory-reducer-single-gc', fromMajor: 20, toMajor: 20 },
  { flag: '--memory-reducer-gc-count=1', fromMajor: 22, toMajor: newestMajor },
];

/** An agent lives long beside the pods of a node, so memory counts for more than the last bit of speed. */
const agent: readonly V8Flag[] = [
  { flag: '--semi-space-growth-factor=1', fromMajor: 20, toMajor: newestMajor },
  // Code that runs in bursts is not worth optimizing as soon as V8 would: the work competes with the pods being started.
  { flag: '--interrupt-budget=1500000', fromMajor: 20, toMajor: 20 },
];

const flags = { everyCommand, agent };

/** What to set in this process; `nodeVersion` is `process.versions.node`. The agent gets its own flags in addition. */
export function v8Flags(nodeVersion: string, scope: keyof typeof flags): string[] {
  const major = Number.parseInt(nodeVersion, 10);
  return flags[scope]
    .filter(({ fromMajor, toMajor }) => fromMajor <= major && major <= toMajor)
    .map(({ flag }) => flag);
}

/** Sets them in this process. */
export function setV8Flags(scope: keyof typeof flags): void {
  for (const flag of v8Flags(process.versions.node, scope)) setFlagsFromString(flag);
}

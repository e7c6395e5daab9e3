/** The V8 flags that nodelet sets, by Node version: V8 prints an error for every unknown flag. */
import { setFlagsFromString } from 'node:v8';

interface V8Flag {
  readonly flag: string;
  /** The first and the last version of Node that knows the flag. */
  readonly fromMajor: number;
  readonly toMajor: number;
}

/** The newest version of Node whose flags were checked (`node --v8-options`). */
const newestMajor = 26;

const everyCommand: readonly V8Flag[] = [
  // One collection after a burst frees the memory. V8 would run several, which take as long and find nothing.
  { flag: '--memory-reducer-single-gc', fromMajor: 20, toMajor: 20 },
  { flag: '--memory-reducer-gc-count=1', fromMajor: 22, toMajor: newestMajor },
];

/** The agent runs for long beside the pods of a node, so memory matters more than top speed. */
const agent: readonly V8Flag[] = [
  { flag: '--semi-space-growth-factor=1', fromMajor: 20, toMajor: newestMajor },
  // Optimizes later than V8 would: compilation competes with the pods that are starting.
  { flag: '--interrupt-budget=1500000', fromMajor: 20, toMajor: 20 },
];

const flags = { everyCommand, agent };

/** Returns the flags to set; `nodeVersion` is `process.versions.node`. The agent sets both scopes. */
export function v8Flags(nodeVersion: string, scope: keyof typeof flags): string[] {
  const major = Number.parseInt(nodeVersion, 10);
  return flags[scope]
    .filter(({ fromMajor, toMajor }) => fromMajor <= major && major <= toMajor)
    .map(({ flag }) => flag);
}

/** Sets the flags of the scope in this process. */
export function setV8Flags(scope: keyof typeof flags): void {
  for (const flag of v8Flags(process.versions.node, scope)) setFlagsFromString(flag);
}

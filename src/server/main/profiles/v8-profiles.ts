/** Turns the profiles of V8, which are trees of calls, into stacks with values. */
import { fileURLToPath } from 'node:url';
import type { ProfiledFrame, ProfileSample, StackProfile } from './pprof.js';

export interface V8CallFrame {
  readonly functionName: string;
  readonly url: string;
  /** The first line is 0; -1 if unknown. */
  readonly lineNumber: number;
}

/** As in a `.cpuprofile` file. Times are in microseconds. */
export interface V8CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: V8CallFrame;
    readonly children?: readonly number[] | undefined;
  }[];
  readonly startTime: number;
  readonly endTime: number;
  /** Ids of nodes. */
  readonly samples?: readonly number[] | undefined;
  /** For each sample the time since the one before; the first counts from the start. */
  readonly timeDeltas?: readonly number[] | undefined;
}

export interface V8HeapNode {
  readonly callFrame: V8CallFrame;
  readonly selfSize: number;
  readonly children: readonly V8HeapNode[];
}

/** As in a `.heapprofile` file. */
export interface V8HeapProfile {
  readonly head: V8HeapNode;
}

/** When and how a profile was taken. */
export interface ProfileTaking {
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly comment: string;
}

const microsecondNs = 1000;
/** V8's name for time in which nothing runs, which is not CPU time. */
const idle = '(idle)';
const root = '(root)';

export function cpuStacks(
  profile: V8CpuProfile,
  samplingIntervalMs: number,
  taking: ProfileTaking,
): StackProfile {
  const { nodes, samples = [], timeDeltas = [], startTime, endTime } = profile;
  const parents = new Map<number, number>();
  for (const { id, children = [] } of nodes) for (const child of children) parents.set(child, id);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const sums = new Map<number, { count: number; microseconds: number }>();
  let atUs = startTime;
  for (const [index, id] of samples.entries()) {
    atUs += timeDeltas[index] ?? 0;
    // A sample stands for the time until the next one.
    const nextDelta = timeDeltas[index + 1];
    const microseconds = Math.max(0, nextDelta ?? endTime - atUs);
    const sum = sums.get(id);
    if (sum === undefined) sums.set(id, { count: 1, microseconds });
    else {
      sum.count++;
      sum.microseconds += microseconds;
    }
  }
  const stackOf = (leaf: number): ProfiledFrame[] => {
    const stack: ProfiledFrame[] = [];
    for (let id: number | undefined = leaf; id !== undefined; id = parents.get(id)) {
      const node = byId.get(id);
      if (node !== undefined && node.callFrame.functionName !== root) stack.push(frameOf(node.callFrame));
    }
    return stack;
  };
  return {
    ...taking,
    valueTypes: [
      { type: 'samples', unit: 'count' },
      { type: 'cpu', unit: 'nanoseconds' },
    ],
    period: { type: 'cpu', unit: 'nanoseconds', value: samplingIntervalMs * 1e6 },
    samples: [...sums].flatMap(([id, { count, microseconds }]): ProfileSample[] => {
      const name = byId.get(id)?.callFrame.functionName;
      if (name === undefined || name === idle || name === root) return [];
      return [{ stack: stackOf(id), values: [count, microseconds * microsecondNs] }];
    }),
  };
}

/** `space`: the name of the value, for example `inuse_space`. */
export function heapStacks(
  { head }: V8HeapProfile,
  space: string,
  samplingIntervalBytes: number,
  taking: ProfileTaking,
): StackProfile {
  const samples: ProfileSample[] = [];
  const stack: ProfiledFrame[] = [];
  // No deeper than the stack of calls that it was sampled from.
  const visit = (node: V8HeapNode): void => {
    const isRoot = node.callFrame.functionName === root;
    if (!isRoot) stack.unshift(frameOf(node.callFrame));
    if (node.selfSize > 0 && stack.length > 0) samples.push({ stack: [...stack], values: [node.selfSize] });
    for (const child of node.children) visit(child);
    if (!isRoot) stack.shift();
  };
  visit(head);
  return {
    ...taking,
    valueTypes: [{ type: space, unit: 'bytes' }],
    period: { type: 'space', unit: 'bytes', value: samplingIntervalBytes },
    samples,
  };
}

function frameOf({ functionName, url, lineNumber }: V8CallFrame): ProfiledFrame {
  const line = lineNumber + 1;
  return { line, function: { name: functionName || '(anonymous)', file: fileOf(url), startLine: line } };
}

function fileOf(url: string): string {
  try {
    return url.startsWith('file:') ? fileURLToPath(url) : url;
  } catch {
    return url;
  }
}

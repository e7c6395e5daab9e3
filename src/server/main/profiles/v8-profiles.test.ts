import { describe, expect, it } from 'vitest';
import { cpuStacks, heapStacks, type V8CallFrame, type V8HeapNode } from './v8-profiles.js';

const call = (functionName: string, url = 'file:///app/a%20b.js', lineNumber = 9): V8CallFrame => ({
  functionName,
  url,
  lineNumber,
});
const taking = { startedAtMs: 5, durationMs: 7, comment: 'a comment' };

describe('cpuStacks', () => {
  const nodes = [
    { id: 1, callFrame: call('(root)', '', -1), children: [2, 3, 4] },
    { id: 2, callFrame: call('main'), children: [5] },
    { id: 3, callFrame: call('(idle)', '', -1) },
    { id: 4, callFrame: call('(garbage collector)', '', -1) },
    { id: 5, callFrame: call('', 'node:internal/timers', 0) },
  ];
  const stacks = cpuStacks(
    {
      nodes,
      startTime: 1000,
      endTime: 10_000,
      samples: [2, 5, 3, 5, 4],
      timeDeltas: [500, 1000, 1000, 2000, 1500],
    },
    1,
    taking,
  );

  it('gives each stack its samples and the time until the next one, without idle time', () => {
    const told = stacks.samples.map(({ stack, values }) => [
      stack.map(({ function: { name } }) => name),
      values,
    ]);
    expect(told).toEqual([
      [['main'], [1, 1_000_000]],
      [
        ['(anonymous)', 'main'],
        [2, 2_500_000],
      ],
      [['(garbage collector)'], [1, 3_000_000]],
    ]);
  });

  it('names files and lines as people count them', () => {
    expect(stacks.samples[1]?.stack).toEqual([
      { line: 1, function: { name: '(anonymous)', file: 'node:internal/timers', startLine: 1 } },
      { line: 10, function: { name: 'main', file: '/app/a b.js', startLine: 10 } },
    ]);
  });

  it('says how it was taken', () => {
    expect(stacks).toMatchObject({ ...taking, period: { unit: 'nanoseconds', value: 1_000_000 } });
  });

  it('is empty without samples', () => {
    expect(cpuStacks({ nodes, startTime: 0, endTime: 1 }, 1, taking).samples).toEqual([]);
  });
});

it('heapStacks gives each stack the bytes that it allocated itself', () => {
  const node = (name: string, selfSize: number, children: readonly V8HeapNode[] = []): V8HeapNode => ({
    callFrame: call(name),
    selfSize,
    children,
  });
  const head = node('(root)', 0, [node('a', 0, [node('b', 30), node('c', 0)]), node('d', 5)]);
  const { samples, valueTypes } = heapStacks({ head }, 'inuse_space', 1024, taking);
  expect(valueTypes).toEqual([{ type: 'inuse_space', unit: 'bytes' }]);
  expect(samples.map(({ stack, values }) => [stack.map(({ function: { name } }) => name), values])).toEqual([
    [['b', 'a'], [30]],
    [['d'], [5]],
  ]);
});

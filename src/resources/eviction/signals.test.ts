import { describe, expect, it } from 'vitest';
import type { NodeStatsSummary } from '../stats/index.js';
import { type NodeFigures, readSignals } from './signals.js';
import { gi } from './test-pods.js';

const time = '2026-01-01T00:00:00Z';
const atMs = Date.parse(time);
const nowMs = atMs + 500;

function read(node: Partial<NodeStatsSummary>, more: Partial<NodeFigures> = {}) {
  return readSignals({
    node: { nodeName: 'n', startTime: time, ...node },
    memoryLimitBytes: 8 * gi,
    podsMemoryLimitBytes: undefined,
    hugePagesBytes: 0,
    nowMs,
    ...more,
  });
}
const memory = (workingSetBytes: number) => ({ time, workingSetBytes });
const pods = (workingSetBytes: number) => [
  { name: 'pods', startTime: time, memory: { time, workingSetBytes } },
];

describe('memory', () => {
  it.each([
    ['what the working set leaves', 5, 0, 3, 8],
    ['huge pages are nobody else’s', 5, 2, 1, 6],
    ['huge pages leave no less than nothing', 7, 2, 0, 7],
  ])('%s', (_rule, usedGi, hugeGi, availableGi, capacityGi) => {
    const found = read({ memory: memory(usedGi * gi) }, { hugePagesBytes: hugeGi * gi });
    expect(found.get('memory.available')).toEqual({
      available: availableGi * gi,
      capacity: capacityGi * gi,
      atMs,
    });
  });

  it('of all pods: more used than allowed is less than nothing, and the capacity stays the limit', () => {
    const found = read({ systemContainers: pods(4.5 * gi) }, { podsMemoryLimitBytes: 4 * gi });
    expect(found.get('allocatableMemory.available')).toEqual({
      available: -0.5 * gi,
      capacity: 4 * gi,
      atMs,
    });
  });

  it('of all pods without a limit: there is no such signal', () => {
    expect(read({ systemContainers: pods(gi) }).has('allocatableMemory.available')).toBe(false);
  });
});

it('disks and inodes come from their file systems, each with its own time', () => {
  const fs = { time, availableBytes: 10, capacityBytes: 100, inodesFree: 3, inodes: 30 };
  const later = { ...fs, time: '2026-01-01T00:00:09Z', availableBytes: 20 };
  const found = read({ fs, runtime: { imageFs: later, containerFs: later } });
  expect(found.get('nodefs.available')).toEqual({ available: 10, capacity: 100, atMs });
  expect(found.get('nodefs.inodesFree')).toEqual({ available: 3, capacity: 30, atMs });
  expect(found.get('imagefs.available')).toEqual({ available: 20, capacity: 100, atMs: atMs + 9000 });
  expect(found.get('containerfs.inodesFree')).toEqual({ available: 3, capacity: 30, atMs: atMs + 9000 });
});

it('processes: what the limit leaves, as of now', () => {
  const found = read({ rlimit: { time, maxpid: 1000, curproc: 400 } });
  expect(found.get('pid.available')).toEqual({ available: 600, capacity: 1000, atMs: nowMs });
});

it('what was not measured is no signal', () => {
  expect([...read({}).keys()]).toEqual([]);
  expect([...read({ fs: { time: null, availableBytes: 1 } }).keys()]).toEqual([]);
});

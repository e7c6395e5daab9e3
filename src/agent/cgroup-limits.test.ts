/** What is left for pods when the system and Kubernetes have their share. */

import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';
import type { KubeletConfiguration } from '../config/index.js';
import { cpuCount, unreservedLimits } from './cgroup-limits.js';
import { limitsOfPods } from './cgroup-settings.js';

const gibi = 1024 ** 3;
const machine = { milliCpu: 4000, memoryBytes: 8 * gibi, pids: 1000, hugePages: new Map([['2MB', 4096]]) };

it.each([
  ['nothing', {}, {}, machine],
  [
    'for the system and for Kubernetes',
    { cpu: '200m', memory: '512Mi', pid: '100' },
    { cpu: '100m', memory: '512Mi' },
    { ...machine, milliCpu: 3700, memoryBytes: 7 * gibi, pids: 900 },
  ],
  ['more than there is', { memory: '9Gi' }, {}, { ...machine, memoryBytes: 0 }],
])('reserved: %s', (_, systemReserved, kubeReserved, expected) => {
  expect(unreservedLimits(machine, { systemReserved, kubeReserved })).toEqual(expected);
});

it.each([
  ['0-3', 4],
  ['0-1,8', 3],
  ['?', availableParallelism()],
  [undefined, availableParallelism()],
])('the CPUs of the list %s are %d', (list, count) => expect(cpuCount(list)).toBe(count));

it.each<[enforced: KubeletConfiguration['enforceNodeAllocatable'], memoryBytes: number]>([
  [['pods'], 7 * gibi],
  [['pods', 'system-reserved'], 7 * gibi],
  [['none'], 8 * gibi],
  [[], 8 * gibi],
  [['system-reserved'], 8 * gibi],
])('enforced %j: all pods may use %d bytes', (enforceNodeAllocatable, memoryBytes) => {
  const config = { enforceNodeAllocatable, systemReserved: { memory: '1Gi' }, kubeReserved: {} };
  expect(limitsOfPods({ config }, machine).memoryBytes).toBe(memoryBytes);
});

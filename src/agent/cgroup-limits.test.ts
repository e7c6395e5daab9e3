/** What is left for pods when the system and Kubernetes have their share. */
import { expect, it } from 'vitest';
import { unreservedLimits } from './cgroup-limits.js';

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

import { expect, it } from 'vitest';
import type { PodSpec } from '../types/pod.js';
import { withBuiltInPriority } from './priority.js';

it.each<[rule: string, given: Omit<PodSpec, 'containers'>, priority: number | undefined]>([
  ['the class of what nodes need', { priorityClassName: 'system-node-critical' }, 2_000_001_000],
  ['the class of what clusters need', { priorityClassName: 'system-cluster-critical' }, 2_000_000_000],
  ['a number of its own', { priorityClassName: 'system-node-critical', priority: 7 }, 7],
  ['a number that is zero', { priorityClassName: 'system-node-critical', priority: 0 }, 0],
  ['a class that only a cluster knows', { priorityClassName: 'shop' }, undefined],
  ['an empty class', { priorityClassName: '' }, undefined],
  ['no class', {}, undefined],
])('%s', (_, given, priority) => {
  const spec = { containers: [], ...given };
  expect(withBuiltInPriority(spec).priority).toBe(priority);
  expect(spec).toEqual({ containers: [], ...given });
});

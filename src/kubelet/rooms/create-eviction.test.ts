/** What eviction takes from the configuration. */
import { expect, it } from 'vitest';
import { type EvictionConfig, evictionSettings } from './create-eviction.js';

const config: EvictionConfig = {
  evictionHard: { 'memory.available': '100Mi', 'pid.available': '10' },
  evictionSoft: { 'memory.available': '1Gi' },
  evictionSoftGracePeriod: { 'memory.available': '1m' },
  evictionMinimumReclaim: { 'memory.available': '1Mi' },
  enforceNodeAllocatable: ['pods'],
  evictionPressureTransitionPeriod: 300_000,
  evictionMaxPodGracePeriod: 0,
  localStorageCapacityIsolation: true,
  kernelMemcgNotification: false,
};

it.each<[enforced: EvictionConfig['enforceNodeAllocatable'], bounds: boolean, copies: number]>([
  [['pods'], true, 1],
  [['pods', 'kube-reserved'], true, 1],
  [['none'], true, 0],
  [[], true, 0],
  [['pods'], false, 0],
])('enforced %j, bounds %s: %d thresholds of the memory of all pods', (enforced, bounds, copies) => {
  const { thresholds } = evictionSettings({ ...config, enforceNodeAllocatable: enforced }, bounds);
  const ofPods = thresholds.filter(({ signal }) => signal === 'allocatableMemory.available');
  expect(ofPods).toHaveLength(copies);
});

it('a threshold that cannot be read is named with its field', () => {
  const broken = { ...config, evictionHard: { 'memory.available': '150%' } };
  expect(() => evictionSettings(broken, true)).toThrow(
    'evictionHard: eviction percentage threshold memory.available must be <= 100%: 150%',
  );
});

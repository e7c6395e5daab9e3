import { describe, expect, it } from 'vitest';
import { baselineConfiguration, type KubeletConfiguration, resolveFeatureGates } from '../config/index.js';
import { cgroupTable } from './cgroup-settings.js';

const { gates: featureGates } = resolveFeatureGates({});
const capacity = { milliCpu: 4000, memoryBytes: 8000, pids: 1000, hugePages: new Map<string, number>() };
const table = (config: Partial<KubeletConfiguration>, standalone = false, explicit: string[] = []) =>
  Object.fromEntries(
    cgroupTable(
      {
        config: { ...baselineConfiguration(featureGates), ...config },
        featureGates,
        standalone,
        explicit: new Set(explicit),
      },
      { capacity, version: 2 },
      [{ metadata: { name: 'web', namespace: 'default', uid: 'u' }, spec: { containers: [] } }],
    ),
  );

describe('cgroupTable', () => {
  it('has what is left of the machine for all pods, and the limits of each', () => {
    expect(table({ systemReserved: { memory: '1000' }, podPidsLimit: 50 })).toMatchObject({
      'all pods': { 'memory limit': '7000', 'process limit': '1000', 'CPU shares': '4096' },
      'pod default/web': { 'process limit': '50' },
    });
  });
  it('has the whole machine where nothing is enforced', () => {
    const config = { systemReserved: { memory: '1000' }, enforceNodeAllocatable: [] };
    expect(table(config)['all pods']).toMatchObject({ 'memory limit': '8000' });
  });
  it.each([
    ['no cgroups are wanted', {}, true, []],
    ['they are switched off', { cgroupsPerQOS: false }, false, []],
  ] as const)('is empty where %s', (_, config, standalone, explicit) => {
    expect(table(config, standalone, [...explicit])).toEqual({});
  });
});

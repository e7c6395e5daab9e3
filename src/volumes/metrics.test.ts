import { expect, it } from 'vitest';
import { Registry } from '../metrics/index.js';
import { samples } from '../metrics/test-samples.js';
import { registerVolumeCounts } from './metrics.js';

it('volumes are counted as they are when the metrics are read', () => {
  const registry = new Registry();
  const desired = new Map<string, number>();
  registerVolumeCounts(registry, () => ({ desired, actual: new Map([['kubernetes.io/secret', 1]]) }));
  desired.set('kubernetes.io/empty-dir', 2);
  const series = (plugin: string, state: string): string =>
    `volume_manager_total_volumes{plugin_name="kubernetes.io/${plugin}",state="${state}_state_of_world"}`;
  expect(samples(registry)).toEqual({
    [series('empty-dir', 'desired')]: 2,
    [series('empty-dir', 'actual')]: 0,
    [series('secret', 'desired')]: 0,
    [series('secret', 'actual')]: 1,
  });
});

it('a plugin whose volumes are gone has none', () => {
  const registry = new Registry();
  let actual = new Map([['kubernetes.io/csi:d', 1]]);
  registerVolumeCounts(registry, () => ({ desired: new Map(), actual }));
  registry.text();
  actual = new Map();
  const series =
    'volume_manager_total_volumes{plugin_name="kubernetes.io/csi:d",state="actual_state_of_world"}';
  expect(samples(registry)[series]).toBe(0);
});

import { describe, expect, it } from 'vitest';
import { registerBuildInfo, registerFeatureGates, registerMetricCounts } from './component.js';
import { Registry } from './registry.js';
import { samples } from './test-samples.js';

describe('what a component tells of itself', () => {
  it('its build, by the parts of its version', () => {
    const registry = new Registry();
    registerBuildInfo(registry, { version: 'v1.36.4', runtime: 'nodev20.0.0', platform: 'linux/amd64' });
    expect(samples(registry)).toEqual({
      'kubernetes_build_info{major="1",minor="36",git_version="v1.36.4",git_commit="",git_tree_state="",build_date="",go_version="nodev20.0.0",compiler="",platform="linux/amd64"}': 1,
    });
  });
  it('its gates, with no stage for those that are done', () => {
    const registry = new Registry();
    registerFeatureGates(registry, [
      { name: 'Old', stage: 'GA', enabled: true },
      { name: 'New', stage: 'ALPHA', enabled: false },
    ]);
    expect(samples(registry)).toEqual({
      'kubernetes_feature_enabled{name="Old",stage=""}': 1,
      'kubernetes_feature_enabled{name="New",stage="ALPHA"}': 0,
    });
  });
  it('its metrics by stability, as they are when read', () => {
    const registry = new Registry();
    registerMetricCounts(registry);
    registry.gauge('process_a', '[NONE] Not one of ours.');
    registry.gauge('a', 'One.');
    expect(samples(registry)).toMatchObject({
      'registered_metrics_total{stability_level="BETA",deprecated_version=""}': 3,
      'registered_metrics_total{stability_level="ALPHA",deprecated_version=""}': 1,
      hidden_metrics_total: 0,
      disabled_metrics_total: 0,
    });
    registry.gauge('b', 'Two.');
    expect(samples(registry)).toMatchObject({
      'registered_metrics_total{stability_level="ALPHA",deprecated_version=""}': 2,
    });
  });
});

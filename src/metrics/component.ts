/** What every Kubernetes component tells of itself: its build, its feature gates, and its metrics. */
import type { Registry } from './registry.js';

export interface BuildInfo {
  /** Of Kubernetes: `v1.36.4`. */
  readonly version: string;
  /** What runs it. */
  readonly runtime: string;
  /** `linux/amd64`. */
  readonly platform: string;
}

/** The labels are those of a Go build; what this build cannot know is left empty. */
export function registerBuildInfo(registry: Registry, { version, runtime, platform }: BuildInfo): void {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  const info = registry.gauge('kubernetes_build_info', '[BETA] The build that runs; always 1.', [
    'major',
    'minor',
    'git_version',
    'git_commit',
    'git_tree_state',
    'build_date',
    'go_version',
    'compiler',
    'platform',
  ]);
  info.set(1, {
    major,
    minor,
    git_version: version,
    git_commit: '',
    git_tree_state: '',
    build_date: '',
    go_version: runtime,
    compiler: '',
    platform,
  });
}

export interface GateState {
  readonly name: string;
  /** `ALPHA`, `BETA`, `GA` or `DEPRECATED`. */
  readonly stage: string;
  readonly enabled: boolean;
}

export function registerFeatureGates(registry: Registry, gates: readonly GateState[]): void {
  const enabled = registry.gauge('kubernetes_feature_enabled', '[BETA] Whether a feature gate is on.', [
    'name',
    'stage',
  ]);
  for (const { name, stage, enabled: isOn } of gates)
    enabled.set(isOn ? 1 : 0, { name, stage: stage === 'GA' ? '' : stage });
}

/** Counts the metrics of the registry when it is read. None of them is hidden for its age, and none can be switched off. */
export function registerMetricCounts(registry: Registry): void {
  const registered = registry.counter(
    'registered_metrics_total',
    '[BETA] Metrics that this component has, by stability.',
    ['stability_level', 'deprecated_version'],
  );
  registry.counter('hidden_metrics_total', '[BETA] Deprecated metrics that are no longer shown.');
  registry.counter('disabled_metrics_total', '[BETA] Metrics that were switched off.');
  registry.onCollect(() => {
    const counts = new Map<string, number>();
    for (const { stability } of registry.metrics())
      if (stability !== 'NONE') counts.set(stability, (counts.get(stability) ?? 0) + 1);
    for (const [stability, count] of counts) {
      const labels = { stability_level: stability, deprecated_version: '' };
      registered.inc(labels, count - registered.value(labels));
    }
  });
}

/** Decides which feature gates are on, from the defaults and the user's settings. */
import { nearestName } from '../flags/index.js';
import { ConfigurationError, joinProblems } from './config-error.js';
import { type FeatureGate, featureGateDependencies, featureGateSpecs } from './feature-gate-table.js';

export interface FeatureGates {
  enabled(gate: FeatureGate): boolean;
  /** Every known gate with its state, sorted by name, for metrics and debugging pages. */
  all(): readonly { readonly name: string; readonly stage: string; readonly enabled: boolean }[];
}

export interface ResolvedFeatureGates {
  readonly gates: FeatureGates;
  readonly warnings: readonly string[];
}

const stageSwitches: ReadonlyMap<string, 'ALPHA' | 'BETA'> = new Map([
  ['AllAlpha', 'ALPHA'],
  ['AllBeta', 'BETA'],
]);

/** Refuses unknown gates, and values that a locked gate does not allow. */
export function checkFeatureGateNames(requested: Readonly<Record<string, boolean>>): void {
  for (const [name, value] of Object.entries(requested)) {
    if (stageSwitches.has(name)) continue;
    const spec = featureGateSpecs.get(name);
    if (spec === undefined) {
      const nearest = nearestName(name, featureGateSpecs.keys());
      throw new ConfigurationError(`unrecognized feature gate: ${name}`, {
        ...(nearest !== undefined && { hint: `did you mean ${nearest}?` }),
      });
    }
    if (spec.locked && value !== spec.default) {
      throw new ConfigurationError(
        `cannot set feature gate ${name} to ${value}, feature is locked to ${spec.default}`,
      );
    }
  }
}

/** Throws when gates cannot be set as requested. The error names every gate whose dependencies are off. */
export function resolveFeatureGates(requested: Readonly<Record<string, boolean>>): ResolvedFeatureGates {
  checkFeatureGateNames(requested);
  // Only what differs from the defaults: every kubelet of a process has gates of its own.
  const enabled = new Map<string, boolean>();
  for (const [name, stage] of stageSwitches) {
    const value = requested[name];
    if (value === undefined) continue;
    for (const [gate, spec] of featureGateSpecs) if (spec.stage === stage) enabled.set(gate, value);
  }
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(requested)) {
    const spec = featureGateSpecs.get(name);
    if (spec === undefined) continue;
    enabled.set(name, value);
    if (spec.stage === 'GA' || spec.stage === 'DEPRECATED') {
      const stage = spec.stage === 'GA' ? 'GA' : 'deprecated';
      warnings.push(
        `feature gate ${name} is ${stage} and will be removed; setting it to ${value} can be dropped`,
      );
    }
  }
  const problems: string[] = [];
  for (const [gate, needed] of featureGateDependencies) {
    if (!isEnabled(enabled, gate)) continue;
    const off = needed.filter((name) => !isEnabled(enabled, name));
    if (off.length > 0) {
      problems.push(`${gate} is enabled, but depends on features that are disabled: [${off.join(' ')}]`);
    }
  }
  if (problems.length > 0) throw new ConfigurationError(joinProblems(problems));
  return { gates: createFeatureGates(enabled), warnings };
}

function isEnabled(requested: ReadonlyMap<string, boolean>, gate: string): boolean {
  return requested.get(gate) ?? featureGateSpecs.get(gate)?.default === true;
}

function createFeatureGates(requested: ReadonlyMap<string, boolean>): FeatureGates {
  return {
    enabled: (gate) => isEnabled(requested, gate),
    all: () =>
      [...featureGateSpecs]
        .map(([name, spec]) => ({ name, stage: spec.stage, enabled: isEnabled(requested, name) }))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

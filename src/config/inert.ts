/** Finds settings that this build does not act on, so that the agent can name them at start-up. */

import { isDeepStrictEqual } from 'node:util';
import { type FeatureGate, featureGateSpecs } from './feature-gate-table.js';
import { configFields } from './fields.js';
import { defaultKubeletFlags, flagSpecs, type KubeletFlags } from './flag-table.js';

export interface InertSettings {
  /** In the order of the field table. */
  readonly paths: readonly string[];
  /** One line for the log at start-up; undefined when every setting has an effect. */
  readonly line: string | undefined;
}

/** `actedOn` names fields (`maxPods`) or whole structures (`logging`) that the build reads. */
export function inertSettings(explicit: ReadonlySet<string>, actedOn: ReadonlySet<string>): InertSettings {
  const paths = configFields
    .map((field): string => field.path)
    .filter((path) => explicit.has(path) && !isActedOn(path, actedOn));
  const line = paths.length === 0 ? undefined : `settings without effect in this build: ${paths.join(', ')}`;
  return { paths, line };
}

/**
 * Paths of the gates that differ from their default although the build does not read them. A gate that is set to its
 * default changes nothing.
 */
export function inertGates(
  requested: Readonly<Record<string, boolean>>,
  actedOn: ReadonlySet<FeatureGate>,
): string[] {
  const read: ReadonlySet<string> = actedOn;
  return Object.entries(requested)
    .filter(([name, value]) => {
      const spec = featureGateSpecs.get(name);
      return spec !== undefined && spec.default !== value && !read.has(name);
    })
    .map(([name]) => `featureGates.${name}`);
}

/** The flags of `among` whose value is not the default: `--node-labels`. */
export function changedFlags(flags: KubeletFlags, among: ReadonlySet<keyof KubeletFlags>): string[] {
  return flagSpecs.flatMap(({ name, target }) =>
    target.to === 'kubelet' &&
    among.has(target.key) &&
    !isDeepStrictEqual(flags[target.key], defaultKubeletFlags[target.key])
      ? [`--${name}`]
      : [],
  );
}

function isActedOn(path: string, actedOn: ReadonlySet<string>): boolean {
  const parts = path.split('.');
  return parts.some((_, index) => actedOn.has(parts.slice(0, index + 1).join('.')));
}

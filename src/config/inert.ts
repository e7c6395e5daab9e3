/** Says which settings a user made that this build does not act on, so that none is ignored in silence. */

import { isDeepStrictEqual } from 'node:util';
import { type FeatureGate, featureGateSpecs } from './feature-gate-table.js';
import { configFields } from './fields.js';
import { defaultKubeletFlags, flagSpecs, type KubeletFlags } from './flag-table.js';

export interface InertSettings {
  /** Paths in the order of the field table. */
  readonly paths: readonly string[];
  /** One line for the log at start-up; undefined when everything that was set has an effect. */
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
 * The gates that were set against their default and that the build does not read, as paths. A gate
 * that is set to its default asks for nothing that is not so already.
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

/** Those of the flags that have another value than by default, as a user writes them. */
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

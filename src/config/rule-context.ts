/** What the validation rules may know besides the configuration itself. */
import type { FeatureGates } from './feature-gates.js';
import { fieldsByPath } from './fields.js';
import type { ConfigPath, KubeletConfiguration } from './types.js';

/** Facts of the machine; a fact that is absent leaves its rules out. */
export interface ConfiguredHost {
  readonly cgroupVersion?: 1 | 2;
  readonly onlineCpus?: readonly number[];
}

export interface RuleContext {
  readonly config: KubeletConfiguration;
  readonly gates: FeatureGates;
  readonly host: ConfiguredHost;
  /** There is no API server to ask. */
  readonly standalone: boolean;
}

/** `maxPods (--max-pods)`, or the path alone where no flag exists. */
export function named(path: ConfigPath): string {
  const flag = fieldsByPath.get(path)?.flag;
  return flag === undefined ? path : `${path} (--${flag})`;
}

/** `"a", "b" or "c"`. */
export function alternatives(values: readonly string[]): string {
  const quoted = values.map((value) => `"${value}"`);
  const last = quoted.pop() ?? '';
  return quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`;
}

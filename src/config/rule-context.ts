/** The input of validation rules: the configuration, its gates and the machine. */
import type { FeatureGates } from './feature-gates.js';
import { fieldsByPath } from './fields.js';
import type { ConfigPath, KubeletConfiguration } from './types.js';

/** What is known about the machine. A rule whose fact is absent is skipped. */
export interface ConfiguredHost {
  readonly cgroupVersion?: 1 | 2;
  readonly onlineCpus?: readonly number[];
}

export interface RuleContext {
  readonly config: KubeletConfiguration;
  readonly gates: FeatureGates;
  readonly host: ConfiguredHost;
  /** The kubelet has no API server. */
  readonly standalone: boolean;
}

/** `maxPods (--max-pods)`, or only the path when the field has no flag. */
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

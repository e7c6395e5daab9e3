/** Compares two configurations field by field, and two sets of gates. */
import { isDeepStrictEqual } from 'node:util';
import { formatDuration } from '../kube/index.js';
import { type ConfigTree, isRecord, readPath } from './config-path.js';
import type { FeatureGates } from './feature-gates.js';
import { type ConfigField, configFields } from './fields.js';
import { maskedValue } from './serialize.js';
import type { KubeletConfiguration } from './types.js';

/** One setting whose value differs, as a user would write it. */
export interface SettingChange {
  /** `maxPods`, `authentication.anonymous.enabled`, `evictionHard[memory.available]` or `featureGates.NAME`. */
  readonly field: string;
  readonly before: string;
  readonly after: string;
}

/** In the order of the field table; gates come one by one, by their effect. Secrets are masked. */
export function settingChanges(
  before: { readonly config: KubeletConfiguration; readonly gates: FeatureGates },
  after: { readonly config: KubeletConfiguration; readonly gates: FeatureGates },
): SettingChange[] {
  const fields = configFields.flatMap((field): SettingChange[] => {
    if (field.path === 'featureGates') return [];
    const [old, fresh] = [readPath(before.config, field.path), readPath(after.config, field.path)];
    if (isDeepStrictEqual(old, fresh)) return [];
    if (field.kind === 'stringMap' && isRecord(old) && isRecord(fresh)) return keyChanges(field, old, fresh);
    return [{ field: field.path, before: valueText(field, old), after: valueText(field, fresh) }];
  });
  const oldGates = new Map(before.gates.all().map(({ name, enabled }) => [name, enabled]));
  const gates = after.gates.all().flatMap(({ name, enabled }): SettingChange[] => {
    const old = oldGates.get(name);
    return old === enabled
      ? []
      : [{ field: `featureGates.${name}`, before: String(old), after: String(enabled) }];
  });
  return [...fields, ...gates];
}

function keyChanges(field: ConfigField, old: ConfigTree, fresh: ConfigTree): SettingChange[] {
  return [...new Set([...Object.keys(old), ...Object.keys(fresh)])]
    .filter((key) => old[key] !== fresh[key])
    .map((key) => ({
      field: `${field.path}[${key}]`,
      before: valueText(field, old[key]),
      after: valueText(field, fresh[key]),
    }));
}

/** A value is long enough to be told apart, and short enough for a line. */
const longestValue = 500;

function valueText({ kind, secret }: ConfigField, value: unknown): string {
  if (value === undefined) return 'unset';
  if (secret === true) return maskedValue;
  if ((kind === 'duration' || kind === 'durationOrNanos') && typeof value === 'number')
    return formatDuration(value);
  const text = JSON.stringify(value);
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text;
}

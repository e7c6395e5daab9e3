/** Every flag with its value in force, as text in the form that the flag takes: what `/flagz` shows. */
import { formatDuration } from '../kube/index.js';
import { isRecord, readPath } from './config-path.js';
import { fieldsByPath } from './fields.js';
import { flagSpecs, type KubeletFlag, type KubeletFlags } from './flag-table.js';
import { durationType } from './flag-types.js';
import type { KubeletConfiguration } from './types.js';

/** What is shown in place of a value that may hold a secret. */
export const classifiedValue = 'CLASSIFIED';

/**
 * A flag of a configuration field has the value of the field, whoever set it: a flag that a file overrode would mislead.
 */
export function shownFlags(flags: KubeletFlags, config: KubeletConfiguration): Record<string, string> {
  const shown = flagSpecs.map((flag) => [flag.name, textOf(flag, flags, config)] as const);
  return Object.fromEntries(shown.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

function textOf({ target, type }: KubeletFlag, flags: KubeletFlags, config: KubeletConfiguration): string {
  switch (target.to) {
    case 'help':
      return 'false';
    case 'version':
      return flags.reportedVersion === '' ? 'false' : flags.reportedVersion;
    case 'kubelet':
      return valueText(flags[target.key], type === durationType);
    case 'config': {
      const kind = fieldsByPath.get(target.path)?.kind;
      const value = readPath(config, target.path);
      // The headers of the URL of static pods carry credentials.
      if (kind === 'headerMap') return isEmpty(value) ? '' : classifiedValue;
      if (target.path === 'staticPodURL' && holdsCredentials(config.staticPodURL)) return classifiedValue;
      return valueText(value, kind === 'duration' || kind === 'durationOrNanos');
    }
  }
}

/** A password, or a query, which may hold a token. */
function holdsCredentials(text: string): boolean {
  if (!URL.canParse(text)) return text !== '';
  const { username, password, search } = new URL(text);
  return username !== '' || password !== '' || search !== '';
}

function isEmpty(value: unknown): boolean {
  return !isRecord(value) || Object.keys(value).length === 0;
}

function valueText(value: unknown, isDuration: boolean): string {
  if (value === undefined || value === null) return '';
  if (isDuration && typeof value === 'number') return formatDuration(value);
  if (Array.isArray(value)) return value.map((item: unknown) => itemText(item)).join(',');
  if (isRecord(value)) return pairsText(value);
  return String(value);
}

const pairsText = (pairs: object): string =>
  Object.entries(pairs)
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(',');

/** Taints, reserved memory and verbosities of files have forms of their own. */
function itemText(item: unknown): string {
  if (!isRecord(item)) return String(item);
  const { key, value, effect, numaNode, limits, filePattern, verbosity } = item;
  if (effect !== undefined) return `${String(key)}=${String(value ?? '')}:${String(effect)}`;
  if (isRecord(limits)) return `${String(numaNode)}:${pairsText(limits)}`;
  if (filePattern !== undefined) return `${String(filePattern)}=${String(verbosity)}`;
  return pairsText(item);
}

/** Prints objects as kubectl does with `-o json`, `-o yaml` and `-o name`. */
import type { Pod } from '../../kube/types/index.js';

export const outputFormats = ['json', 'yaml', 'name', 'wide'] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** Returns the object itself, or a List. */
export function podObject(pods: readonly Pod[], single: boolean): unknown {
  const [only] = pods;
  if (single && only !== undefined) return sortKeys(only);
  return sortKeys({ apiVersion: 'v1', items: pods, kind: 'List', metadata: { resourceVersion: '' } });
}

export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, undefined, 4)}\n`;
}

export async function yamlText(value: unknown): Promise<string> {
  const yaml = await import('./yaml.js');
  return yaml.yamlText(value);
}

export function nameText(pods: readonly Pod[]): string {
  return pods.map(({ metadata }) => `pod/${metadata.name}\n`).join('');
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, member]) => [name, sortKeys(member)]),
  );
}

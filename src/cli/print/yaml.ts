/** YAML as kubectl writes it; apart, since only `-o yaml` needs to load it. */
import { stringify } from 'yaml';

export function yamlText(value: unknown): string {
  return stringify(value, { indentSeq: false, lineWidth: 0, aliasDuplicateObjects: false });
}

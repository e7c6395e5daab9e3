/** Formats YAML as kubectl does. A file of its own, because only `-o yaml` loads the library. */
import { stringify } from 'yaml';

export function yamlText(value: unknown): string {
  return stringify(value, { indentSeq: false, lineWidth: 0, aliasDuplicateObjects: false });
}

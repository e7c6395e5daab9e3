/** The syntax of label keys and values, shared by node labels and taints. */

const name = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Returns what is wrong with a label key (`name` or `prefix/name`); empty when it is valid. */
export function labelKeyProblems(key: string): string[] {
  const parts = key.split('/');
  if (parts.length > 2) return ['must be a name, or a DNS prefix and a name with one slash between them'];
  const problems: string[] = [];
  const namePart = parts.at(-1) ?? '';
  if (parts.length === 2) {
    const prefix = parts[0] ?? '';
    if (prefix === '') problems.push('prefix part must not be empty');
    else if (prefix.length > 253 || !subdomain.test(prefix)) {
      problems.push('prefix part must be a lower-case DNS subdomain of at most 253 characters');
    }
  }
  if (namePart === '') problems.push('name part must not be empty');
  else if (namePart.length > 63) problems.push('name part must be at most 63 characters');
  else if (!name.test(namePart)) {
    problems.push(
      'name part must be alphanumeric characters, "-", "_" or ".", with an alphanumeric one at both ends',
    );
  }
  return problems;
}

/** Returns what is wrong with a label value; empty when it is valid. */
export function labelValueProblems(value: string): string[] {
  if (value === '') return [];
  if (value.length > 63) return ['value must be at most 63 characters'];
  if (name.test(value)) return [];
  return [
    'value must be empty or alphanumeric characters, "-", "_" or ".", with an alphanumeric one at both ends',
  ];
}

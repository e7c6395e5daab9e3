/** Matches labels against a label selector. */
import type { LabelSelector, LabelSelectorRequirement } from '../types/meta.js';

/** A missing selector matches nothing, an empty one everything. */
export function selectorMatches(
  selector: LabelSelector | undefined,
  labels: Readonly<Record<string, string>>,
): boolean {
  if (selector === undefined) return false;
  const named = Object.entries(selector.matchLabels ?? {}).every(
    ([key, value]) => labelOf(labels, key) === value,
  );
  return named && (selector.matchExpressions ?? []).every((requirement) => meets(requirement, labels));
}

function meets(
  { key, operator, values = [] }: LabelSelectorRequirement,
  labels: Readonly<Record<string, string>>,
): boolean {
  const label = labelOf(labels, key);
  switch (operator) {
    case 'In':
      return label !== undefined && values.includes(label);
    case 'NotIn':
      return label === undefined || !values.includes(label);
    case 'Exists':
      return label !== undefined;
    case 'DoesNotExist':
      return label === undefined;
    default:
      throw new Error(
        `${JSON.stringify(operator)} is not a valid label selector operator; use In, NotIn, Exists or DoesNotExist`,
      );
  }
}

function labelOf(labels: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

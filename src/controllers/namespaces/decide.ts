/** Decides how far the end of a namespace is, from what is left in it. */
import { formatTimestamp } from '../../kube/index.js';
import type { Namespace, NamespaceCondition } from '../../kube-client/index.js';
import { controllerLimits } from '../limits.js';

export const contentFinalizer = 'kubernetes';

/** What is left of one kind. */
export interface RemainingContent {
  /** Such as `pods` or `jobs.batch`. */
  readonly kind: string;
  readonly count: number;
  /** The finalizers of what is left. */
  readonly finalizers: readonly string[];
}

export interface NamespaceEndInput {
  readonly namespace: Namespace;
  readonly remaining: readonly RemainingContent[];
  /** What could not be deleted, and why. */
  readonly failures: readonly string[];
  readonly nowMs: number;
}

export type NamespaceEnd =
  | { readonly kind: 'finalize' }
  | { readonly kind: 'wait'; readonly status: NonNullable<Namespace['status']> };

export function decideNamespaceEnd(input: NamespaceEndInput): NamespaceEnd {
  const { remaining, failures } = input;
  if (remaining.length === 0 && failures.length === 0) return { kind: 'finalize' };
  const content = remaining.map(({ kind, count }) => `${kind}. has ${count} resource instances`);
  const finalizers = new Map<string, number>();
  for (const entry of remaining)
    for (const name of entry.finalizers) finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
  const held = [...finalizers].map(([name, count]) => `${name} in ${count} resource instances`);
  const facts: readonly [
    type: string,
    problems: readonly string[],
    bad: readonly [string, string],
    good: readonly [string, string],
  ][] = [
    [
      'NamespaceDeletionContentFailure',
      failures,
      ['ContentDeletionFailed', 'Failed to delete all resource types'],
      ['ContentDeleted', 'All content successfully deleted, may be waiting on finalization'],
    ],
    [
      'NamespaceContentRemaining',
      content,
      ['SomeResourcesRemain', 'Some resources are remaining'],
      ['ContentRemoved', 'All content successfully removed'],
    ],
    [
      'NamespaceFinalizersRemaining',
      held,
      ['SomeFinalizersRemain', 'Some content in the namespace has finalizers remaining'],
      ['ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
    ],
  ];
  const conditions = facts.map(([type, problems, bad, good]) => {
    const [reason, text] = problems.length > 0 ? bad : good;
    const listed = problems.slice(0, controllerLimits.namesInMessage).join(', ');
    const message = problems.length > 0 ? `${text}: ${listed}` : text;
    return condition(input, { type, status: problems.length > 0 ? 'True' : 'False', reason, message });
  });
  return { kind: 'wait', status: { phase: 'Terminating', conditions } };
}

function condition({ namespace, nowMs }: NamespaceEndInput, facts: NamespaceCondition): NamespaceCondition {
  const known = namespace.status?.conditions?.find(({ type }) => type === facts.type);
  const now = formatTimestamp(nowMs);
  return {
    ...facts,
    lastTransitionTime: known?.status === facts.status ? (known.lastTransitionTime ?? now) : now,
  };
}

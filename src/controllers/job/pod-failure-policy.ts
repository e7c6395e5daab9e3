/** Decides what the failure of a pod means to its Job, by the Job's own rules. */
import type { Job, Pod, PodFailurePolicyRule } from '../../kube/index.js';

export type PodFailure =
  | { readonly action: 'Count' | 'Ignore' | 'FailIndex' }
  | { readonly action: 'FailJob'; readonly message: string };

/** The first rule that matches decides; without one the failure counts. */
export function podFailure({ spec }: Job, pod: Pod): PodFailure {
  for (const [index, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const match = exitCodeMatch(rule, pod) ?? conditionMatch(rule, pod);
    if (match === undefined) continue;
    if (rule.action !== 'FailJob') return { action: rule.action };
    return { action: 'FailJob', message: `${match} matching FailJob rule at index ${index}` };
  }
  return { action: 'Count' };
}

function exitCodeMatch({ onExitCodes }: PodFailurePolicyRule, { metadata, status }: Pod): string | undefined {
  if (onExitCodes === undefined) return undefined;
  const { containerName, operator, values = [] } = onExitCodes;
  for (const { name, state } of [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
  ]) {
    const exitCode = state?.terminated?.exitCode ?? 0;
    if (exitCode === 0 || (containerName !== undefined && containerName !== name)) continue;
    if (values.includes(exitCode) === (operator === 'In'))
      return `Container ${name} for pod ${metadata.namespace}/${metadata.name} failed with exit code ${exitCode}`;
  }
  return undefined;
}

function conditionMatch(
  { onPodConditions }: PodFailurePolicyRule,
  { metadata, status }: Pod,
): string | undefined {
  const found = onPodConditions?.find((wanted) =>
    status?.conditions?.some((one) => one.type === wanted.type && one.status === (wanted.status ?? 'True')),
  );
  return found === undefined
    ? undefined
    : `Pod ${metadata.namespace}/${metadata.name} has condition ${found.type}`;
}

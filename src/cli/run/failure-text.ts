/** Says why a pod failed, for the user of the run. */
import type { ContainerStatus, PodStatus } from '../../kube/index.js';

/** Empty when the status gives no reason. */
export function failureText(status: PodStatus | undefined): string {
  if (status === undefined) return '';
  const own = status.message || status.reason;
  if (own) return own;
  return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
    .flatMap(containerFailure)
    .join('; ');
}

function containerFailure({ name, state }: ContainerStatus): string[] {
  const ended = state?.terminated;
  if (ended === undefined || ended.exitCode === 0) return [];
  const how = ended.signal ? `was killed by signal ${ended.signal}` : `exited with code ${ended.exitCode}`;
  const reason = ended.reason && ended.reason !== 'Error' ? ` (${ended.reason})` : '';
  const message = ended.message?.trim();
  return [`container ${name} ${how}${reason}${message ? `: ${message}` : ''}`];
}

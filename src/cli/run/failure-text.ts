/** Says why a pod failed, for the user of the run. */
import type { ContainerStatus, Pod, PodStatus } from '../../kube/index.js';
import { refusalRemedy } from '../../timeline/index.js';

/** What is said of a failed pod when the run ends. */
export function failureLines({ metadata: { namespace, name }, status }: Pod): string[] {
  const why = failureText(status);
  const failed = `pod ${namespace}/${name} failed${why === '' ? '' : `: ${why}`}`;
  const help = status?.containerStatuses === undefined ? remedyOf(status?.reason) : undefined;
  return help === undefined ? [failed] : [failed, `  what would help: ${help}`];
}

/** Only for reasons that the node itself refuses pods for; others say themselves what is wrong. */
function remedyOf(reason: string | undefined): string | undefined {
  return reason !== undefined && /^(OutOf|NodeAffinity)/.test(reason) ? refusalRemedy(reason) : undefined;
}

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

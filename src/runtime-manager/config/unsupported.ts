/** Rejects pods with fields that this build cannot honour, instead of running them without those fields. */
import { type AnyContainer, formatPod, type Pod } from '../../kube/index.js';

/** Throws if the pod asks for something unsupported. */
export function rejectUnsupportedPod(pod: Pod, { preparesClaims = false } = {}): void {
  if (!preparesClaims && (pod.spec.resourceClaims ?? []).length > 0) {
    throw new Error(
      `pod "${formatPod(pod)}": spec.resourceClaims is set, but this build does not prepare dynamic resources yet without a cluster; remove the claims or run the pod on another node`,
    );
  }
}

/** Throws if a container asks for something unsupported. */
export function rejectUnsupportedContainer(
  pod: Pod,
  container: AnyContainer,
  { preparesClaims = false } = {},
): void {
  const where = `pod "${formatPod(pod)}", container ${container.name}`;
  if (!preparesClaims && (container.resources?.claims ?? []).length > 0) {
    throw new Error(
      `${where}: resources.claims is set, but this build does not prepare dynamic resources yet without a cluster; remove the claims or run the pod on another node`,
    );
  }
}

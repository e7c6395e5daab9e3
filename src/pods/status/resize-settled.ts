/** Decides whether a status tells how a resize of the pod ended. */
import { type PodStatus, semanticEqual } from '../../kube/index.js';

/** Whoever asked for a resize waits for its end. That it is under way is mostly over within moments. */
export function settlesResize(status: PodStatus, shown: PodStatus | undefined): boolean {
  if (verdictsOf(status) !== verdictsOf(shown)) return true;
  if (isResizing(status)) return false;
  return isResizing(shown) || changesResources(status, shown);
}

/** Why resizes wait or fail. */
function verdictsOf(status: PodStatus | undefined): string {
  const verdicts = (status?.conditions ?? []).filter(
    ({ type, reason = '' }) =>
      (type === 'PodResizePending' || type === 'PodResizeInProgress') && reason !== '',
  );
  return verdicts.map(({ type, reason }) => `${type} ${reason}`).join();
}

function isResizing(status: PodStatus | undefined): boolean {
  return status?.conditions?.some(({ type }) => type === 'PodResizeInProgress') ?? false;
}

/** Whether a container that runs on has other resources. */
function changesResources(status: PodStatus, shown: PodStatus | undefined): boolean {
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const before = [...(shown?.initContainerStatuses ?? []), ...(shown?.containerStatuses ?? [])];
  return statuses.some(({ name, containerID, state, resources }) => {
    if (state?.running === undefined) return false;
    const old = before.find((one) => one.name === name && one.containerID === containerID);
    return old !== undefined && !semanticEqual(old.resources ?? {}, resources ?? {});
  });
}

/** Gives back the claims of a pod: the last pod of a claim has its drivers unprepare it. */
import { errorText, isCausedByCancellation } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import type { CachedClaim } from './claim-cache.js';
import { driversOf } from './judge-claim.js';
import { claimsOfPod } from './pod-claims.js';
import { byDriver, type ClaimPorts, record } from './prepare-pod.js';

/** Rejects with the text that follows `unprepare dynamic resources: `; then all is as before and can be tried again. */
export async function unpreparePod(
  ports: ClaimPorts,
  podUid: string,
  pod: Pod | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { cache, calls, metrics } = ports;
  const last: CachedClaim[] = [];
  const claims = cache.ofPod(podUid);
  for (const claim of claims) {
    if (claim.podUids.size > 1) cache.leave(claim, podUid);
    else {
      cache.setBeingUnprepared(claim);
      last.push(claim);
    }
  }
  for (const [driver, batch] of byDriver(last, 'NodeUnprepareResources', metrics.unprepareSkips)) {
    await calls.unprepare(driver, batch, signal);
    record(ports, pod, 'dra.unprepare', driver, batch);
  }
  for (const claim of last) cache.delete(claim);
  if (claims.length > 0) {
    await ports.written().catch((error: unknown) => {
      throw new Error(`checkpoint ResourceClaim state: ${errorText(error)}`, { cause: error });
    });
  }
}

/**
 * Learns from the cluster which claims a pod uses, where the file that said so is lost. Every pod of the node that shares
 * such a claim gets its reference, so that it is not unprepared under it.
 */
export async function adoptClaims(
  ports: ClaimPorts,
  pod: Pod,
  pods: () => readonly Pod[],
  signal: AbortSignal,
): Promise<void> {
  const { api, cache } = ports;
  const named = claimsOfPod(pod);
  if (api === undefined || named.kind === 'unnamed') return;
  const { namespace } = pod.metadata;
  for (const { name } of named.claims) {
    if (cache.get(namespace, name) !== undefined) continue;
    try {
      const { metadata, status } = await api.claim(namespace, name, signal);
      const drivers = driversOf(status?.allocation?.devices?.results ?? []);
      const users = new Set((status?.reservedFor ?? []).map(({ uid }) => uid));
      const sharing = pods().filter(
        (other) => users.has(other.metadata.uid) && usesClaim(other, namespace, name),
      );
      for (const { metadata: user } of [pod, ...sharing]) {
        cache.join({ uid: metadata.uid ?? '', name, namespace }, drivers, user.uid);
      }
    } catch (error) {
      if (isCausedByCancellation(error) || !api.isGone(error)) throw error;
    }
  }
}

function usesClaim(pod: Pod, namespace: string, name: string): boolean {
  const named = claimsOfPod(pod);
  return (
    pod.metadata.namespace === namespace &&
    named.kind === 'named' &&
    named.claims.some((claim) => claim.name === name)
  );
}

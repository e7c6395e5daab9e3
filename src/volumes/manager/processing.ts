/** Turns a pod into its wanted mounts, resolving the claims of its volumes. */
import { errorText } from '../../async/index.js';
import type { Pod, Volume } from '../../kube/index.js';
import type { ClaimStore, ResolvedClaim, VolumePlugin } from '../contracts.js';
import { mergeWanted, namesClaim, usedVolumes, wantedMount } from './desired-state.js';
import type { WantedMount } from './states.js';

/** What an event has room for. */
export const maxProblems = 10;

export interface ProcessedPod {
  /** By `mountKey`. */
  readonly mounts: ReadonlyMap<string, WantedMount>;
  /** Why some volumes have no mount; distinct texts. */
  readonly problems: readonly string[];
}

export async function processPod(
  pod: Pod,
  plugins: readonly VolumePlugin[],
  claims: ClaimStore | undefined,
  signal: AbortSignal,
): Promise<ProcessedPod> {
  const mounts: WantedMount[] = [];
  const problems = new Set<string>();
  for (const volume of usedVolumes(pod)) {
    try {
      const claim = namesClaim(volume) ? await resolveClaim(pod, volume, claims, signal) : undefined;
      const wanted = wantedMount(pod, volume, claim, plugins);
      const attaching = plugins.find(({ name }) => name === wanted.pluginName)?.attaching;
      await attaching?.ready(wanted.spec, signal);
      mounts.push(wanted);
    } catch (error) {
      if (problems.size < maxProblems) problems.add(errorText(error));
    }
  }
  return { mounts: mergeWanted(mounts), problems: [...problems] };
}

async function resolveClaim(
  pod: Pod,
  volume: Volume,
  claims: ClaimStore | undefined,
  signal: AbortSignal,
): Promise<ResolvedClaim> {
  if (claims !== undefined) return claims.resolve(pod, volume, signal);
  const claim = volume.persistentVolumeClaim?.claimName ?? `${pod.metadata.name}-${volume.name}`;
  throw new Error(
    `error processing PVC ${pod.metadata.namespace}/${claim}: this node has no claims; give it a directory with PersistentVolumes and PersistentVolumeClaims`,
  );
}

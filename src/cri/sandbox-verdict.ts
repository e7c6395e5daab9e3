/** Decides whether a pod can keep the sandbox it has or needs a new one. */
import { isHostNetwork, type Pod } from '../kube/index.js';
import type { ObservedSandboxStatus } from './observed.js';

export interface SandboxVerdict {
  readonly changed: boolean;
  /** The attempt of the sandbox that the pod will have. */
  readonly attempt: number;
  /** The sandbox to keep, or the one that is replaced; empty when there is none to speak of. */
  readonly sandboxId: string;
  readonly because: string;
}

/** `sandboxes` are those of the pod, newest first. */
export function sandboxVerdict(pod: Pod, sandboxes: readonly ObservedSandboxStatus[]): SandboxVerdict {
  const newest = sandboxes[0];
  if (newest === undefined) {
    return { changed: true, attempt: 0, sandboxId: '', because: 'the pod has no sandbox yet' };
  }
  const replace = (because: string, sandboxId = newest.id): SandboxVerdict => ({
    changed: true,
    attempt: newest.attempt + 1,
    sandboxId,
    because,
  });
  const ready = sandboxes.filter((sandbox) => sandbox.ready).length;
  if (ready > 1) return replace(`${ready} sandboxes are ready at the same time`);
  if (!newest.ready) return replace('the newest sandbox is not ready');
  if (newest.hostNetwork !== isHostNetwork(pod)) {
    return replace(
      `the sandbox has ${newest.hostNetwork ? "the node's" : 'its own'} network, the pod does not`,
      '',
    );
  }
  if (!isHostNetwork(pod) && newest.network?.ip === '') return replace('the sandbox has no IP address');
  return { changed: false, attempt: newest.attempt, sandboxId: newest.id, because: 'the sandbox is ready' };
}

/** Decides whether a pod can keep its sandbox or needs a new one. */
import { isHostNetwork, type Pod } from '../kube/index.js';
import type { SandboxReason } from '../timeline/index.js';
import type { ObservedSandboxStatus } from './observed.js';

interface SandboxFacts {
  /** The attempt of the sandbox that the pod will have. */
  readonly attempt: number;
  /** The sandbox to keep, or the one to replace; empty when the pod has none, or has one of another network. */
  readonly sandboxId: string;
}

export interface NewSandbox extends SandboxFacts {
  readonly changed: true;
  readonly cause: SandboxReason;
}

export interface KeptSandbox extends SandboxFacts {
  readonly changed: false;
}

export type SandboxVerdict = NewSandbox | KeptSandbox;

/** `sandboxes` are those of the pod, newest first. */
export function sandboxVerdict(pod: Pod, sandboxes: readonly ObservedSandboxStatus[]): SandboxVerdict {
  const newest = sandboxes[0];
  if (newest === undefined) {
    return { changed: true, attempt: 0, sandboxId: '', cause: { reason: 'NoSandbox' } };
  }
  const replace = (cause: SandboxReason, sandboxId = newest.id): SandboxVerdict => ({
    changed: true,
    attempt: newest.attempt + 1,
    sandboxId,
    cause,
  });
  const ready = sandboxes.filter((sandbox) => sandbox.ready).length;
  if (ready > 1) return replace({ reason: 'SeveralSandboxesReady', sandboxes: ready });
  if (!newest.ready) return replace({ reason: 'SandboxNotReady' });
  if (newest.hostNetwork !== isHostNetwork(pod)) {
    return replace({ reason: newest.hostNetwork ? 'SandboxOnHostNetwork' : 'SandboxOffHostNetwork' }, '');
  }
  if (!isHostNetwork(pod) && newest.network?.ip === '') return replace({ reason: 'SandboxWithoutIP' });
  return { changed: false, attempt: newest.attempt, sandboxId: newest.id };
}

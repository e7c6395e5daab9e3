/** What the draft of a pod promises to each of its containers. */
import type { SimContainer } from '../../src/runtimes/sim/index.js';
import type { NodeDraft } from '../plan/step.js';
import { exclusiveCpusOf } from '../world/pod-of-draft.js';
import type { Users } from '../world/users.js';
import type { Promised } from './holders.js';

const first = 'app';
const nothing: Promised = { cpus: undefined, devices: 0, hostPort: undefined, isForced: false };

export function promisedTo(container: SimContainer, node: NodeDraft, users: Users): Promised {
  const uid = container.sandbox.config.metadata?.uid ?? '';
  const pod = users.pods.get(uid);
  // Pods of manifests ask for nothing.
  if (pod === undefined) return nothing;
  const { name, draft } = pod;
  const isFirst = container.config.metadata?.name === first;
  // A resize may make it one that shares.
  const isExclusive = node.cpuManager && !users.resized.has(name);
  return {
    cpus: isExclusive ? exclusiveCpusOf(draft) : undefined,
    devices: isFirst ? (draft.devices ?? 0) : 0,
    hostPort: isFirst ? draft.hostPort : undefined,
    isForced: users.forced.has(uid),
  };
}

export function claimOf({ sandbox, config }: SimContainer, users: Users): string | undefined {
  if (config.metadata?.name === 'setup') return undefined;
  return users.pods.get(sandbox.config.metadata?.uid ?? '')?.draft.claim;
}

/** Ensures that the cluster has this kubelet's node object, retrying as long as it takes. */
import { type Clock, errorText, isCancelled, sleep } from '../../async/index.js';
import type { Node } from '../../kube/index.js';
import { isAlreadyExists, isForbidden, type KubeApi, resources } from '../../kube-client/index.js';
import type { Timeline } from '../../timeline/index.js';
import { nodeStatusPatch } from '../status/report.js';
import { reconcileNode } from './reconcile.js';

export interface RegistrationOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly nodeName: string;
  /** The node to create. */
  readonly build: () => Promise<Node>;
  /** Whether devices of earlier runs are unknown. */
  readonly resetExtendedResources: () => boolean;
  /** Whether only AlreadyExists, not also Forbidden, leads to a lookup of an existing node. */
  readonly getOnExistsOnly: boolean;
}

export interface RegisteredNode {
  readonly node: Node;
  /** Whether this kubelet created it. */
  readonly created: boolean;
}

const firstWaitMs = 100;
const longestWaitMs = 7_000;

/** Resolves once the node exists; rejects with Cancelled. */
export async function registerNode(
  options: RegistrationOptions,
  signal: AbortSignal,
): Promise<RegisteredNode> {
  const { clock, timeline, nodeName } = options;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    await sleep(clock, waitMs, signal);
    try {
      const registered = await tryRegister(options, signal);
      timeline.record({
        kind: 'transition',
        what: 'node.register',
        message: `the node ${nodeName} is registered`,
        because: registered.created ? 'it was created' : 'it existed',
        data: { created: registered.created },
      });
      return registered;
    } catch (error) {
      if (isCancelled(error)) throw error;
      const message = `cannot register the node ${nodeName} yet: ${errorText(error)}`;
      timeline.record({ kind: 'problem', what: 'node.register', message });
    }
  }
}

async function tryRegister(options: RegistrationOptions, signal: AbortSignal): Promise<RegisteredNode> {
  const { api, nodeName, getOnExistsOnly } = options;
  const built = await options.build();
  try {
    return { node: await api.create(resources.nodes, built, { signal }), created: true };
  } catch (error) {
    // A kubelet that may not create nodes may have one made for it.
    if (!isAlreadyExists(error) && (getOnExistsOnly || !isForbidden(error))) throw error;
  }
  const existing = await api.get(resources.nodes, { name: nodeName }, { signal });
  return { node: await adopt(options, existing, built, signal), created: false };
}

async function adopt(
  { api, timeline, nodeName, resetExtendedResources }: RegistrationOptions,
  existing: Node,
  built: Node,
  signal: AbortSignal,
): Promise<Node> {
  const { node, changes } = reconcileNode({
    existing,
    built,
    resetExtendedResources: resetExtendedResources(),
  });
  if (changes.length === 0) return existing;
  timeline.record({
    kind: 'decision',
    what: 'node.reconcile',
    message: `updated the existing node ${nodeName}`,
    because: changes.join(', '),
  });
  const patch = { type: 'strategic', body: nodeStatusPatch(existing, node) } as const;
  return await api.patch(resources.nodes, { name: nodeName }, patch, { subresource: 'status', signal });
}

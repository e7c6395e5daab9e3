/** The scheduler of one node: gives pods to the node when they fit, and tells what they wait for when they do not. */
import { formatTimestamp, type Pod, type PodCondition } from '../../kube/index.js';
import { isConflict, isNotFound, resources, subresources } from '../../kube-client/index.js';
import { type Controller, type ControllerContext, queueOf } from '../driver/context.js';
import type { KeyOutcome } from '../driver/key-queue.js';
import { keyOfObject, refOf, refOfKey } from '../driver/kind-cache.js';
import { conditionOf, isFinished } from '../pods/pod-facts.js';
import { type BindDecision, decideBinding, schedulerName } from './decide.js';
import { selectedNodeAnnotation } from './volume-fit.js';

export function createNodeBinder(context: ControllerContext): Controller {
  const { api, clock, caches, events, nodeName } = context;
  const pods = caches.of(resources.pods);
  const nodes = caches.of(resources.nodes);
  const claims = caches.of(resources.persistentVolumeClaims);
  const volumes = caches.of(resources.persistentVolumes);
  const classes = caches.of(resources.storageClasses);
  const namespaces = caches.of(resources.namespaces);
  /** Pods that were given to the node and are not seen there yet, by UID. */
  const assumed = new Map<string, Pod>();

  const queue = queueOf(context, { name: 'node binder', keys: resources.pods, sync });
  const retryAll = (): void => {
    for (const pod of pods.list()) if (isWaiting(pod)) queue.add(keyOfObject(pod));
  };
  nodes.onChange(({ before, after }) => {
    if (after === undefined || !isSameForPods(before, after)) retryAll();
  });
  pods.onChange(({ before, after }) => {
    const { uid } = (after ?? before)?.metadata ?? { uid: '' };
    if (after === undefined || after.spec.nodeName) assumed.delete(uid);
    const hasLeft =
      before?.spec.nodeName && (after === undefined || (isFinished(after) && !isFinished(before)));
    const isNewHere = after?.spec.nodeName && !before?.spec.nodeName;
    // A pod that left makes room; one that came may be whom another waits to be with.
    if (hasLeft || isNewHere) retryAll();
  });
  for (const cache of [claims, volumes, classes]) cache.onChange(retryAll);

  async function sync(key: string, signal: AbortSignal): Promise<KeyOutcome> {
    const pod = pods.get(refOfKey(key));
    if (pod === undefined || assumed.has(pod.metadata.uid)) return {};
    const onNode = pods.list().filter((other) => other.spec.nodeName === nodeName && !isFinished(other));
    const decision = decideBinding({
      pod,
      node: nodes.get({ name: nodeName }),
      nodeName,
      others: [...onNode, ...assumed.values()],
      volumes: {
        claim: (namespace, name) => claims.get({ namespace, name }),
        volume: (name) => volumes.get({ name }),
        storageClass: (name) => classes.get({ name }),
      },
      namespaceLabels: (name) => namespaces.get({ name })?.metadata.labels,
    });
    await apply(pod, decision, signal);
    return {};
  }

  async function apply(pod: Pod, decision: BindDecision, signal: AbortSignal): Promise<void> {
    switch (decision.kind) {
      case 'ignore':
        return;
      case 'bind':
        return bind(pod, signal);
      case 'gated':
        return tellCondition(
          pod,
          'SchedulingGated',
          'Scheduling is blocked due to non-empty scheduling gates',
          signal,
        );
      case 'foreign': {
        const message = `no scheduler "${decision.schedulerName}" runs on this node; use "${schedulerName}", or bind the pod yourself`;
        tell(pod, 'Warning', 'FailedScheduling', message);
        return;
      }
      case 'select-node': {
        const body = { metadata: { annotations: { [selectedNodeAnnotation]: decision.nodeName } } };
        for (const claim of decision.claims)
          await api.patch(resources.persistentVolumeClaims, claim, { type: 'merge', body }, { signal });
        return;
      }
      case 'unschedulable':
        tell(pod, 'Warning', 'FailedScheduling', decision.message);
        return tellCondition(pod, 'Unschedulable', decision.message, signal);
    }
  }

  async function bind(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid, name, namespace } = pod.metadata;
    // Noted before the first wait, so that no other decision counts on the same room.
    assumed.set(uid, pod);
    try {
      const target = { apiVersion: 'v1', kind: 'Node', name: nodeName };
      await api.post(
        subresources.binding,
        refOf(pod),
        { metadata: { name, namespace, uid }, target },
        { signal },
      );
    } catch (error) {
      assumed.delete(uid);
      if (isNotFound(error) || isConflict(error)) return;
      tell(
        pod,
        'Warning',
        'FailedScheduling',
        `binding rejected: ${error instanceof Error ? error.message : ''}`,
      );
      throw error;
    }
    const seen = pods.byUid(uid);
    if (pods.hasSeen(uid) && (seen === undefined || seen.spec.nodeName)) assumed.delete(uid);
    tell(pod, 'Normal', 'Scheduled', `Successfully assigned ${namespace}/${name} to ${nodeName}`);
  }

  function tell(object: Pod, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const action = reason === 'Scheduled' ? 'Binding' : 'Scheduling';
    events.record({
      component: schedulerName,
      resource: resources.pods,
      object,
      type,
      reason,
      message,
      action,
    });
  }

  async function tellCondition(
    pod: Pod,
    reason: string,
    message: string,
    signal: AbortSignal,
  ): Promise<void> {
    const known = conditionOf(pod, 'PodScheduled');
    if (known?.status === 'False' && known.reason === reason && known.message === message) return;
    const now = formatTimestamp(clock.now());
    const condition: PodCondition = {
      type: 'PodScheduled',
      status: 'False',
      lastTransitionTime: known?.status === 'False' ? (known.lastTransitionTime ?? now) : now,
      reason,
      message,
    };
    const body = { metadata: { uid: pod.metadata.uid }, status: { conditions: [condition] } };
    try {
      await api.patch(
        resources.pods,
        refOf(pod),
        { type: 'strategic', body },
        { subresource: 'status', signal },
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  return { name: 'node binder', run: (signal) => queue.run(signal) };
}

function isWaiting(pod: Pod): boolean {
  return !pod.spec.nodeName && pod.metadata.deletionTimestamp === undefined && !isFinished(pod);
}

interface BoundNodeFacts {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: unknown;
  readonly status?: { readonly allocatable?: unknown };
}

/** Nodes write a heartbeat every few seconds: only what pods depend on counts. */
function isSameForPods(a: BoundNodeFacts | undefined, b: BoundNodeFacts): boolean {
  const facts = (node: BoundNodeFacts): string =>
    JSON.stringify([node.metadata.labels, node.spec, node.status?.allocatable]);
  return a !== undefined && facts(a) === facts(b);
}

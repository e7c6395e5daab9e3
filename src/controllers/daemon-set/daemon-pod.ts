/** Whether the node is one for a DaemonSet's pod, and how that pod is made. */
import {
  type DaemonSet,
  matchesNodeAffinity,
  type Node,
  type NodeSelectorTerm,
  type Pod,
  type PodManifest,
  type Toleration,
  toleratesTaint,
} from '../../kube/index.js';
import { resources } from '../../kube-client/index.js';
import { podFromTemplate } from '../pods/pod-template.js';
import { revisionHashLabel } from '../revisions/controller-revisions.js';

/** A daemon stays on a node that has troubles: it may be what mends them. */
function daemonTolerations({ hostNetwork }: Pod['spec']): Toleration[] {
  const keys: readonly (readonly [key: string, effect: string])[] = [
    ['node.kubernetes.io/not-ready', 'NoExecute'],
    ['node.kubernetes.io/unreachable', 'NoExecute'],
    ['node.kubernetes.io/disk-pressure', 'NoSchedule'],
    ['node.kubernetes.io/memory-pressure', 'NoSchedule'],
    ['node.kubernetes.io/pid-pressure', 'NoSchedule'],
    ['node.kubernetes.io/unschedulable', 'NoSchedule'],
    ...(hostNetwork === true ? ([['node.kubernetes.io/network-unavailable', 'NoSchedule']] as const) : []),
  ];
  return keys.map(([key, effect]) => ({ key, operator: 'Exists', effect }));
}

/** The pod for the node, with the tolerations of daemons and bound to the node by its name. */
export function daemonPod(set: DaemonSet, nodeName: string, hash: string): PodManifest {
  const { template } = set.spec;
  const pod = podFromTemplate({ template, ownerResource: resources.daemonSets, owner: set });
  pod.metadata.labels = { ...pod.metadata.labels, [revisionHashLabel]: hash };
  const had = pod.spec.tolerations ?? [];
  const isGiven = ({ key, effect }: Toleration): boolean =>
    had.some((one) => one.key === key && one.effect === effect && one.operator === 'Exists');
  pod.spec.tolerations = [...had, ...daemonTolerations(pod.spec).filter((one) => !isGiven(one))];
  const affinity = pod.spec.affinity ?? {};
  // The terms of the template were checked before: the pod is for this node and no other.
  const term: NodeSelectorTerm = {
    matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }],
  };
  pod.spec.affinity = {
    ...affinity,
    nodeAffinity: {
      ...affinity.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] },
    },
  };
  return pod;
}

export interface DaemonFit {
  /** A pod is made for the node. */
  readonly shouldRun: boolean;
  /** A pod that is there may stay. */
  readonly mayStay: boolean;
}

export function daemonFit({ spec }: DaemonSet, node: Node | undefined): DaemonFit {
  const name = node?.metadata.name ?? '';
  const podSpec = spec.template.spec;
  if (node === undefined || (podSpec.nodeName && podSpec.nodeName !== name))
    return { shouldRun: false, mayStay: false };
  const pod = { metadata: { name: '', namespace: '', uid: '' }, spec: podSpec };
  if (!matchesNodeAffinity(pod, { name, labels: node.metadata.labels ?? {} }))
    return { shouldRun: false, mayStay: false };
  const tolerations = [...(podSpec.tolerations ?? []), ...daemonTolerations(podSpec)];
  const refusing = (effects: readonly string[]): boolean =>
    (node.spec?.taints ?? []).some(
      (taint) => effects.includes(taint.effect) && !toleratesTaint(tolerations, taint, true),
    );
  return { shouldRun: !refusing(['NoSchedule', 'NoExecute']), mayStay: !refusing(['NoExecute']) };
}

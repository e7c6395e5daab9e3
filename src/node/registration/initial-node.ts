/** Builds the node object that a kubelet creates. */
import type { Node, Taint } from '../../kube/index.js';

export const attachDetachAnnotation = 'volumes.kubernetes.io/controller-managed-attach-detach';
export const uninitializedTaint: Taint = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
};

export interface RegistrationSettings {
  readonly nodeName: string;
  readonly architecture: string;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly externalCloud: boolean;
  /** Whether the cluster's controller attaches volumes, not the node. */
  readonly controllerAttachDetach: boolean;
  /** Empty for none. */
  readonly providerId: string;
}

/** Without a status; the setters fill that in. */
export function initialNode(settings: RegistrationSettings): Node {
  const { nodeName, architecture, nodeLabels, externalCloud, providerId } = settings;
  const taints = [...settings.taints, ...(externalCloud ? [uninitializedTaint] : [])];
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeName,
      labels: {
        'kubernetes.io/hostname': nodeName,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': architecture,
        'beta.kubernetes.io/os': 'linux',
        'beta.kubernetes.io/arch': architecture,
        ...nodeLabels,
      },
      ...(settings.controllerAttachDetach ? { annotations: { [attachDetachAnnotation]: 'true' } } : {}),
    },
    spec: {
      ...(taints.length === 0 ? {} : { taints }),
      ...(providerId === '' ? {} : { providerID: providerId }),
    },
  };
}

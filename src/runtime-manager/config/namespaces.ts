/** Which kernel namespaces a pod shares with the node, and its containers with each other. */
import { type Init, NamespaceMode, type NamespaceOption } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import type { UserNamespaceMapping } from '../userns/index.js';

/** `users` is the pod's own id mapping, if it has one. */
export function podNamespaces(pod: Pod, users?: UserNamespaceMapping): Init<NamespaceOption> {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace } = pod.spec;
  return {
    network: hostNetwork === true ? NamespaceMode.NODE : NamespaceMode.POD,
    ipc: hostIPC === true ? NamespaceMode.NODE : NamespaceMode.POD,
    pid:
      hostPID === true
        ? NamespaceMode.NODE
        : shareProcessNamespace === true
          ? NamespaceMode.POD
          : NamespaceMode.CONTAINER,
    usernsOptions:
      users === undefined
        ? { mode: NamespaceMode.NODE }
        : { mode: NamespaceMode.POD, uids: [...users.uidMappings], gids: [...users.gidMappings] },
  };
}

/** A debug container sees its target's processes, unless the whole pod shares them anyway. */
export function containerNamespaces(
  pod: Pod,
  targetContainerId?: string,
  users?: UserNamespaceMapping,
): Init<NamespaceOption> {
  const namespaces = podNamespaces(pod, users);
  if (targetContainerId === undefined || namespaces.pid !== NamespaceMode.CONTAINER) return namespaces;
  return { ...namespaces, pid: NamespaceMode.TARGET, targetId: targetContainerId };
}

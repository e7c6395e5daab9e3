/** The user and privileges of a container. */
import type { Init, LinuxContainerSecurityContext, SELinuxOption } from '../../cri/index.js';
import {
  type AnyContainer,
  formatPod,
  type Pod,
  type SELinuxOptions,
  type SecurityContext,
} from '../../kube/index.js';
import type { ImageUser } from '../contracts.js';
import type { UserNamespaceMapping } from '../userns/index.js';
import { appArmorProfile, hiddenPaths, seccompProfile } from './confinement.js';
import { containerNamespaces } from './namespaces.js';
import type { RuntimeSettings } from './settings.js';
import { containerGroups, supplementalGroupsPolicy } from './supplemental-groups.js';

const largestUserId = 2_147_483_647;

/** The container's security context over the pod's. */
export function effectiveSecurityContext(pod: Pod, container: AnyContainer): SecurityContext {
  const podContext = pod.spec.securityContext ?? {};
  const own = container.securityContext ?? {};
  return {
    ...own,
    seLinuxOptions: own.seLinuxOptions ?? podContext.seLinuxOptions,
    runAsUser: own.runAsUser ?? podContext.runAsUser,
    runAsGroup: own.runAsGroup ?? podContext.runAsGroup,
    runAsNonRoot: own.runAsNonRoot ?? podContext.runAsNonRoot,
  };
}

/** Throws if a container that must not run as root would, or might. */
export function verifyRunAsNonRoot(pod: Pod, container: AnyContainer, imageUser: ImageUser): void {
  const { runAsNonRoot, runAsUser } = effectiveSecurityContext(pod, container);
  if (runAsNonRoot !== true) return;
  const where = `(pod: "${formatPod(pod)}", container: ${container.name})`;
  if (runAsUser !== undefined) {
    if (runAsUser === 0) throw new Error(`container's runAsUser breaks non-root policy ${where}`);
    return;
  }
  const user = resolveImageUser(imageUser);
  if (user.uid === undefined) {
    throw new Error(
      `container has runAsNonRoot and image has non-numeric user (${user.username}), cannot verify user is non-root ${where}`,
    );
  }
  if (user.uid === 0) throw new Error(`container has runAsNonRoot and image will run as root ${where}`);
  if (user.uid < 0 || user.uid > largestUserId) {
    throw new Error(
      `container has runAsNonRoot and image has an invalid user id (${user.uid}). (Must be 1-(${largestUserId})): must be between 0 and ${largestUserId}, inclusive ${where}`,
    );
  }
}

export interface SecurityRequest {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly imageUser: ImageUser;
  /** Groups that the pod's persistent volumes require. */
  readonly volumeGroups: readonly number[];
  readonly targetContainerId: string | undefined;
  /** The pod's own id mapping; absent for a pod in the host's user namespace. */
  readonly users?: UserNamespaceMapping | undefined;
  readonly settings: RuntimeSettings;
}

export function containerSecurityContext(request: SecurityRequest): Init<LinuxContainerSecurityContext> {
  const { pod, container, settings } = request;
  const effective = effectiveSecurityContext(pod, container);
  const appArmor = appArmorProfile(pod, container, settings.isAppArmorEnabled);
  return {
    ...runAs(effective, request.imageUser),
    ...(effective.runAsGroup === undefined ? {} : { runAsGroup: { value: effective.runAsGroup } }),
    privileged: effective.privileged ?? false,
    readonlyRootfs: effective.readOnlyRootFilesystem ?? false,
    ...(effective.capabilities === undefined
      ? {}
      : {
          capabilities: {
            addCapabilities: effective.capabilities.add ?? [],
            dropCapabilities: effective.capabilities.drop ?? [],
          },
        }),
    ...(effective.seLinuxOptions === undefined
      ? {}
      : { selinuxOptions: selinuxOptions(effective.seLinuxOptions) }),
    supplementalGroups: containerGroups(pod, request.volumeGroups),
    supplementalGroupsPolicy: supplementalGroupsPolicy(pod),
    noNewPrivs: effective.allowPrivilegeEscalation === false,
    ...hiddenPaths(effective.procMount, settings.thermalThrottlePaths),
    seccomp: seccompProfile(pod, container, settings),
    ...(appArmor === undefined ? {} : { apparmor: appArmor.profile, apparmorProfile: appArmor.text }),
    namespaceOptions: containerNamespaces(pod, request.targetContainerId, request.users),
  };
}

export function selinuxOptions({ user, role, type, level }: SELinuxOptions): Init<SELinuxOption> {
  return { user: user ?? '', role: role ?? '', type: type ?? '', level: level ?? '' };
}

function runAs(
  { runAsUser }: SecurityContext,
  imageUser: ImageUser,
): Pick<Init<LinuxContainerSecurityContext>, 'runAsUser' | 'runAsUsername'> {
  if (runAsUser !== undefined) return { runAsUser: { value: runAsUser } };
  const user = resolveImageUser(imageUser);
  return user.uid === undefined ? { runAsUsername: user.username } : { runAsUser: { value: user.uid } };
}

type ResolvedUser = { uid: number; username?: undefined } | { uid?: undefined; username: string };

function resolveImageUser({ uid, username = '' }: ImageUser): ResolvedUser {
  if (uid !== undefined) return { uid };
  return username === '' ? { uid: 0 } : { username };
}

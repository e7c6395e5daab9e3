/** Seccomp, AppArmor and masked paths: what a container may see and call in the kernel. */
import { join } from 'node:path';
import {
  type Init,
  SecurityProfile_ProfileType as ProfileType,
  type SecurityProfile,
} from '../../cri/index.js';
import { type AnyContainer, type AppArmorProfile, formatPod, type Pod } from '../../kube/index.js';
import type { RuntimeSettings } from './settings.js';

export const runtimeDefaultProfile: Init<SecurityProfile> = { profileType: ProfileType.RuntimeDefault };

/** The container's profile, else the pod's, else the node's default. */
export function seccompProfile(
  pod: Pod,
  container: AnyContainer,
  { seccompDefault, rootDir }: Pick<RuntimeSettings, 'seccompDefault' | 'rootDir'>,
): Init<SecurityProfile> {
  const profile = container.securityContext?.seccompProfile ?? pod.spec.securityContext?.seccompProfile;
  if (profile === undefined) {
    return { profileType: seccompDefault ? ProfileType.RuntimeDefault : ProfileType.Unconfined };
  }
  switch (profile.type) {
    case 'RuntimeDefault':
      return runtimeDefaultProfile;
    case 'Unconfined':
      return { profileType: ProfileType.Unconfined };
    case 'Localhost': {
      const { localhostProfile = '' } = profile;
      if (localhostProfile === '') {
        throw new Error('localhostProfile must be set if seccompProfile type is Localhost.');
      }
      if (localhostProfile.startsWith('/') || localhostProfile.split('/').includes('..')) {
        throw new Error(
          `seccompProfile.localhostProfile "${localhostProfile}" of container ${container.name} in pod "${formatPod(pod)}" must be a path below ${join(rootDir, 'seccomp')}`,
        );
      }
      return {
        profileType: ProfileType.Localhost,
        localhostRef: join(rootDir, 'seccomp', localhostProfile),
      };
    }
    default:
      throw new Error(
        `seccompProfile.type "${profile.type}" of container ${container.name} in pod "${formatPod(pod)}" is not known; use RuntimeDefault, Unconfined or Localhost`,
      );
  }
}

export const appArmorAnnotationPrefix = 'container.apparmor.security.beta.kubernetes.io/';

export interface AppArmor {
  readonly profile: Init<SecurityProfile>;
  /** The same in the notation of runtimes that do not read `profile`. */
  readonly text: string;
}

/** The container's field, else its annotation, else the pod's field; undefined: the runtime chooses. */
export function appArmorProfile(
  pod: Pod,
  container: AnyContainer,
  isAppArmorEnabled: boolean,
): AppArmor | undefined {
  const profile =
    container.securityContext?.appArmorProfile ??
    annotatedProfile(pod.metadata.annotations?.[appArmorAnnotationPrefix + container.name]) ??
    pod.spec.securityContext?.appArmorProfile;
  if (profile === undefined) return undefined;
  switch (profile.type) {
    case 'RuntimeDefault':
      return { profile: runtimeDefaultProfile, text: 'runtime/default' };
    case 'Unconfined':
      return { profile: { profileType: ProfileType.Unconfined }, text: 'unconfined' };
    case 'Localhost': {
      const { localhostProfile = '' } = profile;
      if (localhostProfile === '') throw new Error('missing localhost apparmor profile name');
      if (!isAppArmorEnabled) {
        throw new Error(
          `container ${container.name} in pod "${formatPod(pod)}" wants the AppArmor profile ${localhostProfile}, but AppArmor is not enabled on this node; enable it or run the pod elsewhere`,
        );
      }
      return {
        profile: { profileType: ProfileType.Localhost, localhostRef: localhostProfile },
        text: `localhost/${localhostProfile}`,
      };
    }
    default:
      throw new Error(`unknown apparmor profile type: "${profile.type}"`);
  }
}

function annotatedProfile(value: string | undefined): AppArmorProfile | undefined {
  if (value === 'runtime/default') return { type: 'RuntimeDefault' };
  if (value === 'unconfined') return { type: 'Unconfined' };
  const [, localhostProfile] = /^localhost\/(.+)$/.exec(value ?? '') ?? [];
  return localhostProfile === undefined ? undefined : { type: 'Localhost', localhostProfile };
}

const maskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

export interface HiddenPaths {
  readonly maskedPaths: readonly string[];
  readonly readonlyPaths: readonly string[];
}

export function hiddenPaths(
  procMount: string | undefined,
  thermalThrottlePaths: readonly string[],
): HiddenPaths {
  if (procMount === 'Unmasked') return { maskedPaths: [], readonlyPaths: [] };
  return { maskedPaths: [...maskedPaths, ...thermalThrottlePaths], readonlyPaths };
}

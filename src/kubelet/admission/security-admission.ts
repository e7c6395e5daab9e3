/** Refuses pods that ask to be confined in a way that this node cannot enforce, instead of running them unconfined. */
import { type Pod, podContainers } from '../../kube/index.js';
import { appArmorAnnotationPrefix } from '../../runtime-manager/config/index.js';
import type { Admission, AdmissionRule } from './admission.js';

const admitted: Admission = { admit: true };

/** `isSupported` is asked at every pod: the runtime tells it after the start. */
export function strictGroups(isSupported: () => boolean): AdmissionRule {
  return {
    name: 'supplemental groups',
    admit: ({ pod }) =>
      pod.spec.securityContext?.supplementalGroupsPolicy !== 'Strict' || isSupported()
        ? admitted
        : {
            admit: false,
            reason: 'SupplementalGroupsPolicyNotSupported',
            message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
          },
  };
}

/** Of pods that have begun already it is too late to ask. */
export function appArmor(isEnabled: boolean): AdmissionRule {
  return {
    name: 'AppArmor',
    admit({ pod }) {
      const { phase = 'Pending' } = pod.status ?? {};
      if (phase !== 'Pending' || !asksForAppArmor(pod)) return admitted;
      if (!isEnabled) return refused('AppArmor is not enabled on the host');
      return hasNamelessProfile(pod) ? refused('missing localhost apparmor profile name') : admitted;
    },
  };
}

function refused(why: string): Admission {
  return { admit: false, reason: 'AppArmor', message: `Cannot enforce AppArmor: ${why}` };
}

function profilesOf(pod: Pod) {
  const own = [...podContainers(pod)].map(({ container }) => container.securityContext?.appArmorProfile);
  return [pod.spec.securityContext?.appArmorProfile, ...own].filter((profile) => profile !== undefined);
}

function asksForAppArmor(pod: Pod): boolean {
  if (profilesOf(pod).some(({ type }) => type !== 'Unconfined')) return true;
  return Object.entries(pod.metadata.annotations ?? {}).some(
    ([key, value]) => key.startsWith(appArmorAnnotationPrefix) && value !== 'unconfined',
  );
}

function hasNamelessProfile(pod: Pod): boolean {
  return profilesOf(pod).some(
    ({ type, localhostProfile = '' }) => type === 'Localhost' && localhostProfile.trim() === '',
  );
}

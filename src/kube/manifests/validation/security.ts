/** Validates the security contexts of a pod and its containers. */
import type { PodSpec } from '../../types/pod.js';
import type {
  AppArmorProfile,
  PodSecurityContext,
  SeccompProfile,
  SecurityContext,
} from '../../types/security-context.js';
import type { FieldErrors, LazyFieldPath } from './field-errors.js';
import { localPath, sysctlName } from './names.js';

export const largestId = 2 ** 31 - 1;
const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined'];

export function validatePodSecurityContext(spec: PodSpec, field: LazyFieldPath, errors: FieldErrors): void {
  const context = spec.securityContext;
  if (context === undefined) return;
  validateIds(context, field, errors);
  errors.inRange(field.child('fsGroup'), context.fsGroup, 0, largestId);
  for (const [index, group] of (context.supplementalGroups ?? []).entries()) {
    errors.inRange(field.child('supplementalGroups').child(index), group, 0, largestId);
  }
  errors.oneOf(field.child('supplementalGroupsPolicy'), context.supplementalGroupsPolicy, [
    'Merge',
    'Strict',
  ]);
  errors.oneOf(field.child('fsGroupChangePolicy'), context.fsGroupChangePolicy, ['Always', 'OnRootMismatch']);
  errors.oneOf(field.child('seLinuxChangePolicy'), context.seLinuxChangePolicy, ['MountOption', 'Recursive']);
  validateProfiles(context, field, errors);
  validateSysctls(spec, context, field.child('sysctls'), errors);
  if (spec.os?.name === 'linux' && context.windowsOptions !== undefined) {
    errors.forbidden(field.child('windowsOptions'), 'cannot be set for a linux pod');
  }
}

export function validateSecurityContext(
  context: SecurityContext | undefined,
  spec: PodSpec,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  if (context === undefined) return;
  validateIds(context, field, errors);
  validateProfiles(context, field, errors);
  errors.oneOf(field.child('procMount'), context.procMount, ['Default', 'Unmasked']);
  if (context.procMount === 'Unmasked' && spec.hostUsers !== false) {
    errors.invalid(
      field.child('procMount'),
      context.procMount,
      '`hostUsers` must be false to use "Unmasked"',
    );
  }
  if (context.allowPrivilegeEscalation === false) {
    if (context.privileged === true) {
      errors.invalid(field, summary(context), 'a privileged container cannot forbid privilege escalation');
    }
    if (context.capabilities?.add?.some((name) => name === 'CAP_SYS_ADMIN' || name === 'SYS_ADMIN')) {
      errors.invalid(
        field,
        summary(context),
        'a container with SYS_ADMIN cannot forbid privilege escalation',
      );
    }
  }
  if (spec.os?.name === 'linux' && context.windowsOptions !== undefined) {
    errors.forbidden(field.child('windowsOptions'), 'cannot be set for a linux pod');
  }
}

function summary({ privileged, allowPrivilegeEscalation }: SecurityContext): unknown {
  return { privileged, allowPrivilegeEscalation };
}

function validateIds(
  context: { runAsUser?: number; runAsGroup?: number },
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  errors.inRange(field.child('runAsUser'), context.runAsUser, 0, largestId);
  errors.inRange(field.child('runAsGroup'), context.runAsGroup, 0, largestId);
}

function validateProfiles(
  context: PodSecurityContext | SecurityContext,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  validateProfile(context.seccompProfile, field.child('seccompProfile'), errors);
  validateProfile(context.appArmorProfile, field.child('appArmorProfile'), errors);
}

function validateProfile(
  profile: SeccompProfile | AppArmorProfile | undefined,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  if (profile === undefined) return;
  errors.requiredOneOf(field.child('type'), profile.type, profileTypes);
  const at = field.child('localhostProfile');
  if (profile.type === 'Localhost') {
    if (!profile.localhostProfile) errors.required(at, 'must be set when type is Localhost');
    else errors.check(at, profile.localhostProfile, localPath);
  } else if (profile.localhostProfile !== undefined) {
    errors.invalid(at, profile.localhostProfile, 'may only be set when type is Localhost');
  }
}

function validateSysctls(
  spec: PodSpec,
  context: PodSecurityContext,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  const seen = new Set<string>();
  for (const [index, sysctl] of (context.sysctls ?? []).entries()) {
    const at = field.child(index).child('name');
    errors.requiredCheck(at, sysctl.name, sysctlName);
    const name = sysctl.name.replaceAll('/', '.');
    if (seen.has(name)) errors.duplicate(at, sysctl.name);
    seen.add(name);
    if (spec.hostNetwork === true && name.startsWith('net.')) {
      errors.invalid(at, sysctl.name, 'may not be set when `hostNetwork` is true');
    }
    if (spec.hostIPC === true && isIpcSysctl(name)) {
      errors.invalid(at, sysctl.name, 'may not be set when `hostIPC` is true');
    }
  }
}

function isIpcSysctl(name: string): boolean {
  return name === 'kernel.sem' || /^(kernel\.(shm|msg)|fs\.mqueue\.)/.test(name);
}

/** An agent in a user namespace: what it may not do there, what it leaves, and what helps where it cannot go on. */
import type { FeatureGates } from '../config/index.js';
import { isInUserNamespace } from '../host/index.js';
import type { Timeline } from '../timeline/index.js';

/** `tolerant`: what root of a user namespace may not change stays as it is. `strict`: it ends the start, as on a machine. */
export type UserNamespaceRule = 'machine' | 'tolerant' | 'strict';

export function userNamespaceRule(
  featureGates: Pick<FeatureGates, 'enabled'>,
  inUserNamespace = isInUserNamespace(),
): UserNamespaceRule {
  if (!inUserNamespace) return 'machine';
  return featureGates.enabled('KubeletInUserNamespace') ? 'tolerant' : 'strict';
}

export function announceUserNamespace(rule: UserNamespaceRule, timeline: Timeline): void {
  if (rule === 'machine') return;
  const message =
    rule === 'tolerant'
      ? 'the agent runs in a user namespace: what it may not set (kernel settings, OOM scores) or read (the kernel log) stays as it is, and one line for each says so'
      : 'the agent runs in a user namespace and the feature gate KubeletInUserNamespace is off: a kernel setting that it may not change ends the start';
  timeline.record({ kind: 'notice', what: 'agent.userns', message, level: 'warn' });
}

export type PreparationStep = 'kernel settings' | 'cgroups';

/** What helps a start that failed for want of rights; undefined when a user namespace is not the cause. */
export function userNamespaceRemedy(
  step: PreparationStep,
  rule: UserNamespaceRule,
  error: unknown,
): string | undefined {
  if (rule === 'machine' || !isRefusal(error)) return undefined;
  switch (step) {
    case 'kernel settings':
      return 'root of a user namespace may not change it: set featureGates.KubeletInUserNamespace to true';
    case 'cgroups':
      return (
        'root of a user namespace may not write there: start the agent in a cgroup v2 of its own (systemd: Delegate=yes) ' +
        'and a cgroup namespace, or set cgroupsPerQOS to false and enforceNodeAllocatable to []'
      );
  }
}

const refusals: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'EROFS']);

function isRefusal(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    if ('code' in current && refusals.has(current.code)) return true;
    current = current.cause;
  }
  return false;
}

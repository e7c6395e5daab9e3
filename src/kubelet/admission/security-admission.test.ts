import { describe, expect, it } from 'vitest';
import type { Pod, PodSpec } from '../../kube/index.js';
import type { Admission } from './admission.js';
import { appArmor, strictGroups } from './security-admission.js';

const pod = (spec: Partial<PodSpec>, more: Partial<Pod> = {}): Pod => ({
  metadata: { uid: 'u', name: 'web', namespace: 'shop' },
  spec: { containers: [{ name: 'app', image: 'i' }], ...spec },
  ...more,
});
const reasonOf = (answer: Admission): string | undefined => (answer.admit ? undefined : answer.message);

describe('strict groups', () => {
  const refusal = 'SupplementalGroupsPolicy=Strict is not supported in this node';
  it.each<[string, string | undefined, boolean, string | undefined]>([
    ['nothing is asked for', undefined, false, undefined],
    ['merged groups are for everybody', 'Merge', false, undefined],
    ['the runtime can', 'Strict', true, undefined],
    ['the runtime cannot', 'Strict', false, refusal],
  ])('%s', (_, supplementalGroupsPolicy, isSupported, expected) => {
    const context = supplementalGroupsPolicy === undefined ? {} : { supplementalGroupsPolicy };
    const answer = strictGroups(() => isSupported).admit({
      pod: pod({ securityContext: context }),
      others: [],
      operation: 'add',
    });
    expect(reasonOf(answer)).toBe(expected);
  });
});

describe('AppArmor', () => {
  const off = 'Cannot enforce AppArmor: AppArmor is not enabled on the host';
  const own = (type: string, localhostProfile?: string): Partial<PodSpec> => ({
    containers: [
      {
        name: 'app',
        securityContext: {
          appArmorProfile: { type, ...(localhostProfile === undefined ? {} : { localhostProfile }) },
        },
      },
    ],
  });
  const annotated = (value: string): Partial<Pod> => ({
    metadata: {
      uid: 'u',
      name: 'web',
      namespace: 'shop',
      annotations: { 'container.apparmor.security.beta.kubernetes.io/app': value },
    },
  });
  it.each<[string, Pod, boolean, string | undefined]>([
    ['nothing is asked for', pod({}), false, undefined],
    ['no profile is no demand', pod(own('Unconfined')), false, undefined],
    ['the profile of the runtime', pod(own('RuntimeDefault')), false, off],
    ['a profile of the node', pod(own('Localhost', 'p')), false, off],
    [
      'a profile of the pod',
      pod({ securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } }),
      false,
      off,
    ],
    ['an annotation', pod({}, annotated('runtime/default')), false, off],
    ['an annotation for none', pod({}, annotated('unconfined')), false, undefined],
    [
      'a pod that runs already',
      pod(own('RuntimeDefault'), { status: { phase: 'Running' } }),
      false,
      undefined,
    ],
    ['a node that can', pod(own('Localhost', 'p')), true, undefined],
    [
      'a profile without a name',
      pod(own('Localhost', '')),
      true,
      'Cannot enforce AppArmor: missing localhost apparmor profile name',
    ],
  ])('%s', (_, one, isEnabled, expected) => {
    expect(reasonOf(appArmor(isEnabled).admit({ pod: one, others: [], operation: 'add' }))).toBe(expected);
  });
});

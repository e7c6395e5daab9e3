import { describe, expect, it } from 'vitest';
import type { Container, Pod } from '../../../kube/index.js';
import { podChange } from './pod-change.js';

const app: Container = {
  name: 'app',
  image: 'i:1',
  command: ['a', 'b'],
  resources: { requests: { cpu: '100m' }, limits: { memory: '64Mi' } },
};
const tolerations = [{ key: 'a', operator: 'Exists' as const }];
const base: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u', labels: { app: 'web' } },
  spec: { containers: [app], tolerations, activeDeadlineSeconds: 100 },
};
const withApp = (changed: Partial<Container>): Partial<Pod['spec']> => ({
  containers: [{ ...app, ...changed }],
});
const spec = (changed: Partial<Pod['spec']>): Pod => ({ ...base, spec: { ...base.spec, ...changed } });
const meta = (changed: Partial<Pod['metadata']>): Pod => ({
  ...base,
  metadata: { ...base.metadata, ...changed },
});
const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'o', controller: true };

describe('what a changed manifest means for a running pod', () => {
  it.each<[string, Pod, ReturnType<typeof podChange>]>([
    ['another UID alone', meta({ uid: 'v' }), { kind: 'same' }],
    [
      'an image',
      spec(withApp({ image: 'i:2' })),
      { kind: 'update', because: 'spec.containers[0].image changed' },
    ],
    ['a label', meta({ labels: { app: 'x' } }), { kind: 'update', because: 'metadata.labels[app] changed' }],
    [
      'an annotation',
      meta({ annotations: { note: 'x' } }),
      { kind: 'update', because: 'metadata.annotations[note] changed' },
    ],
    [
      'cpu and memory',
      spec(withApp({ resources: { requests: { cpu: '200m' }, limits: { memory: '65Mi' } } })),
      {
        kind: 'update',
        because:
          'spec.containers[0].resources.limits[memory], spec.containers[0].resources.requests[cpu] changed',
      },
    ],
    [
      'one toleration more',
      spec({ tolerations: [...tolerations, { key: 'b', operator: 'Exists' }] }),
      { kind: 'update', because: 'spec.tolerations changed' },
    ],
    [
      'a shorter deadline',
      spec({ activeDeadlineSeconds: 50 }),
      { kind: 'update', because: 'spec.activeDeadlineSeconds changed' },
    ],
    [
      'a longer deadline',
      spec({ activeDeadlineSeconds: 150 }),
      { kind: 'replace', because: 'spec.activeDeadlineSeconds changed' },
    ],
    ['another name', meta({ name: 'x' }), { kind: 'replace', because: 'metadata.name changed' }],
    [
      'an owner',
      meta({ ownerReferences: [owner] }),
      { kind: 'replace', because: 'metadata.ownerReferences changed' },
    ],
    ['no toleration', spec({ tolerations: [] }), { kind: 'replace', because: 'spec.tolerations changed' }],
    [
      'a command',
      spec(withApp({ command: ['a', 'c'] })),
      { kind: 'replace', because: 'spec.containers[0].command[1] changed' },
    ],
    [
      'an image and a command',
      spec(withApp({ image: 'i:2', command: ['c'] })),
      { kind: 'replace', because: 'spec.containers[0].command, spec.containers[0].image changed' },
    ],
    [
      'one container more',
      spec({ containers: [app, { ...app, name: 'b' }] }),
      { kind: 'replace', because: 'spec.containers changed' },
    ],
    [
      'another QoS class',
      spec(withApp({ resources: {} })),
      {
        kind: 'replace',
        because:
          'spec.containers[0].resources.limits, spec.containers[0].resources.requests changed: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
      },
    ],
    [
      'an extended resource',
      spec(withApp({ resources: { ...app.resources, limits: { memory: '64Mi', 'x.y/z': '1' } } })),
      {
        kind: 'replace',
        because:
          'spec.containers[0].resources.limits[x.y/z] changed: Forbidden: only cpu and memory resources are mutable',
      },
    ],
    [
      'many fields',
      spec({
        hostNetwork: true,
        hostPID: true,
        hostIPC: true,
        hostname: 'x',
        subdomain: 'y',
        ...withApp({ image: 'i:2' }),
      }),
      {
        kind: 'replace',
        because: 'spec.containers[0].image, spec.hostIPC, spec.hostNetwork and 3 more changed',
      },
    ],
  ])('%s', (_what, next, expected) => {
    expect(podChange({ pod: base, hasEnded: false }, next)).toEqual(expected);
  });

  it.each<[string, Pod, Pod, boolean, string]>([
    ['a pod of a workload is never updated', meta({ ownerReferences: [owner] }), spec({}), false, 'replace'],
    [
      'nor where only its template has another label',
      meta({ ownerReferences: [owner] }),
      meta({ ownerReferences: [owner], labels: {} }),
      false,
      'replace',
    ],
    ['a pod that has ended starts anew', base, spec(withApp({ image: 'i:2' })), true, 'replace'],
    ['unless its spec is the same', base, meta({ labels: {} }), true, 'update'],
  ])('%s', (_rule, pod, next, hasEnded, kind) => {
    expect(podChange({ pod, hasEnded }, next).kind).toBe(kind);
  });

  it('names no values, which may be secrets', () => {
    const before = spec(withApp({ env: [{ name: 'A', value: 'sesame' }] }));
    const after = spec(withApp({ env: [{ name: 'A', value: 'poppy' }] }));
    const change = podChange({ pod: before, hasEnded: false }, after);
    expect(change).toEqual({ kind: 'replace', because: 'spec.containers[0].env[0].value changed' });
  });
});

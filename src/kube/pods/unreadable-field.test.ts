import { describe, expect, it } from 'vitest';
import type { PodManifest } from '../types/pod.js';
import { unreadableField } from './unreadable-field.js';

// A server may send anything, whatever the type says.
const podOf = (spec: unknown, metadata: unknown = {}): PodManifest => ({ metadata, spec }) as PodManifest;
const app = { name: 'app', image: 'app:1' };
const asking = (resources: unknown) => podOf({ containers: [{ ...app, resources }] });
const term = (expression: unknown) =>
  podOf({
    containers: [app],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [expression] }],
        },
      },
    },
  });

describe('pods that can be read', () => {
  it.each<[string, PodManifest]>([
    ['the least of a pod', podOf({ containers: [app] })],
    [
      'amounts as texts and numbers',
      asking({ requests: { cpu: '100m', memory: 1024, 'example.com/x': '2' }, limits: { memory: '1Gi' } }),
    ],
    [
      'all that is looked at',
      podOf(
        {
          containers: [app],
          initContainers: [app],
          ephemeralContainers: [app],
          priority: -5,
          terminationGracePeriodSeconds: 0,
          overhead: { cpu: '1' },
          resources: { limits: { cpu: '1' } },
          volumes: [
            { name: 'a', emptyDir: {} },
            { name: 'b', emptyDir: { sizeLimit: '1Gi' } },
          ],
          tolerations: [{ operator: 'Exists' }],
          nodeSelector: { a: 'b' },
        },
        { deletionGracePeriodSeconds: 30 },
      ),
    ],
    ['a selector', term({ key: 'zone', operator: 'In', values: ['a'] })],
  ])('%s', (_, pod) => {
    expect(unreadableField(pod)).toBeUndefined();
  });
});

describe('pods that cannot', () => {
  it.each<[string, PodManifest]>([
    [
      'metadata.deletionGracePeriodSeconds is "30", not a whole number',
      podOf({ containers: [app] }, { deletionGracePeriodSeconds: '30' }),
    ],
    ['spec is missing, not an object', podOf(undefined)],
    ['spec is [], not an object', podOf([])],
    ['spec.containers is missing, not a list', podOf({})],
    ['spec.containers is {}, not a list', podOf({ containers: {} })],
    ['spec.containers[0] is null, not an object', podOf({ containers: [null] })],
    [
      'spec.initContainers[0].name is missing, not a name',
      podOf({ containers: [app], initContainers: [{}] }),
    ],
    ['spec.priority is "high", not a whole number', podOf({ containers: [app], priority: 'high' })],
    ['spec.priority is null, not a whole number', podOf({ containers: [app], priority: Number.NaN })],
    [
      'spec.terminationGracePeriodSeconds is 1.5, not a whole number',
      podOf({ containers: [app], terminationGracePeriodSeconds: 1.5 }),
    ],
    ['spec.containers[0].resources is 7, not an object', asking(7)],
    [
      'spec.containers[0].resources.requests[cpu] is "lots", not a quantity',
      asking({ requests: { cpu: 'lots' } }),
    ],
    ['spec.containers[0].resources.limits is [], not an object', asking({ limits: [] })],
    [
      'spec.containers[0].resources.limits[memory] is null, not a quantity',
      asking({ limits: { memory: null } }),
    ],
    [
      'spec.resources.requests[memory] is {}, not a quantity',
      podOf({ containers: [app], resources: { requests: { memory: {} } } }),
    ],
    [
      'spec.overhead[cpu] is "1 cpu", not a quantity',
      podOf({ containers: [app], overhead: { cpu: '1 cpu' } }),
    ],
    [
      'spec.volumes[1].emptyDir.sizeLimit is "much", not a quantity',
      podOf({ containers: [app], volumes: [{ name: 'a' }, { name: 'b', emptyDir: { sizeLimit: 'much' } }] }),
    ],
    ['spec.volumes[0].name is 1, not a name', podOf({ containers: [app], volumes: [{ name: 1 }] })],
    ['spec.tolerations is "all", not a list', podOf({ containers: [app], tolerations: 'all' })],
    ['spec.nodeSelector is "a=b", not an object', podOf({ containers: [app], nodeSelector: 'a=b' })],
    [
      'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values is "a", not a list',
      term({ key: 'zone', operator: 'In', values: 'a' }),
    ],
    [
      'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key is missing, not a text',
      term({}),
    ],
  ])('%s', (expected, pod) => {
    expect(unreadableField(pod)).toBe(expected);
  });

  it('a long value is cut', () => {
    const told = unreadableField(asking({ requests: { cpu: 'x'.repeat(1000) } }));
    expect(told?.length).toBeLessThan(150);
  });
});

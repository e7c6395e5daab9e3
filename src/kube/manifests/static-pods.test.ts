import { describe, expect, it } from 'vitest';
import type { PodSpec } from '../types/pod.js';
import { formatFieldPath } from './document.js';
import { staticPodReferences } from './static-pods.js';

const container = { name: 'a', image: 'x:1' };
const rows: [rule: string, spec: Partial<PodSpec>, expected: string[]][] = [
  ['nothing', {}, []],
  ['service account', { serviceAccountName: 'x' }, ['spec.serviceAccountName: serviceaccounts']],
  ['pull secret', { imagePullSecrets: [{ name: 's' }] }, ['spec.imagePullSecrets[0]: secrets']],
  [
    'secret in the environment',
    {
      containers: [
        { ...container, env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] },
      ],
    },
    ['spec.containers[0].env[0].valueFrom.secretKeyRef: secrets'],
  ],
  [
    'config map in the environment of an init container',
    { initContainers: [{ ...container, envFrom: [{ configMapRef: { name: 'c' } }] }] },
    ['spec.initContainers[0].envFrom[0].configMapRef: configmaps'],
  ],
  [
    'field of the pod is fine',
    {
      containers: [
        { ...container, env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
      ],
    },
    [],
  ],
  ['resource claims', { resourceClaims: [{ name: 'r' }] }, ['spec.resourceClaims: resourceclaims']],
  [
    'secret volume',
    { volumes: [{ name: 'v', secret: { secretName: 's' } }] },
    ['spec.volumes[0].secret: secrets'],
  ],
  [
    'config map volume',
    { volumes: [{ name: 'v', configMap: { name: 'c' } }] },
    ['spec.volumes[0].configMap: configmaps'],
  ],
  [
    'CSI volume',
    { volumes: [{ name: 'v', csi: { driver: 'd' } }] },
    ['spec.volumes[0].csi: csidrivers (via CSI volumes)'],
  ],
  [
    'glusterfs volume',
    { volumes: [{ name: 'v', glusterfs: { endpoints: 'e', path: 'p' } }] },
    ['spec.volumes[0].glusterfs: endpoints (via glusterFS volumes)'],
  ],
  [
    'claimed volume',
    { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
    ['spec.volumes[0].persistentVolumeClaim: persistentvolumeclaims'],
  ],
  [
    'ephemeral volume',
    { volumes: [{ name: 'v', ephemeral: {} }] },
    ['spec.volumes[0].ephemeral: persistentvolumeclaims (via ephemeral volumes)'],
  ],
  [
    'azure file',
    { volumes: [{ name: 'v', azureFile: { secretName: 's', shareName: 'h' } }] },
    ['spec.volumes[0].azureFile: secrets'],
  ],
  [
    'secret of a driver',
    { volumes: [{ name: 'v', rbd: { monitors: ['m'], image: 'i', secretRef: { name: 's' } } }] },
    ['spec.volumes[0].rbd.secretRef: secrets'],
  ],
  [
    'projected token',
    {
      volumes: [
        { name: 'v', projected: { sources: [{ downwardAPI: {} }, { serviceAccountToken: { path: 't' } }] } },
      ],
    },
    ['spec.volumes[0].projected.sources[1].serviceAccountToken: serviceaccounts (via projected volumes)'],
  ],
  [
    'projected trust bundle',
    { volumes: [{ name: 'v', projected: { sources: [{ clusterTrustBundle: { path: 't' } }] } }] },
    ['spec.volumes[0].projected.sources[0].clusterTrustBundle: clustertrustbundles'],
  ],
  [
    'host path, empty directory and downward API are fine',
    {
      volumes: [
        { name: 'a', hostPath: { path: '/' } },
        { name: 'b', emptyDir: {} },
        { name: 'c', downwardAPI: {} },
        { name: 'd', image: { reference: 'x' } },
      ],
    },
    [],
  ],
];

describe('references of a static pod', () => {
  it.each(rows)('%s', (_rule, spec, expected) => {
    const references = staticPodReferences({ metadata: {}, spec: { containers: [container], ...spec } });
    expect(references.map(({ path, what }) => `${formatFieldPath(path)}: ${what}`)).toEqual(expected);
  });
  it('names what is rejected', () => {
    const [reference] = staticPodReferences({
      metadata: {},
      spec: { containers: [], serviceAccountName: 'x' },
    });
    expect(reference?.message).toBe('static pods may not reference serviceaccounts');
  });
});

import { describe, expect, it } from 'vitest';
import type { PodSpec } from '../types/pod.js';
import { podReferences } from './references.js';

const nothing: PodSpec = { containers: [] };

describe('podReferences', () => {
  const rows: [place: string, spec: PodSpec, configMaps: string[], secrets: string[]][] = [
    ['nothing', nothing, [], []],
    ['imagePullSecrets', { ...nothing, imagePullSecrets: [{ name: 'pull' }, {}] }, [], ['pull']],
    [
      'envFrom of any container',
      {
        containers: [{ name: 'a', envFrom: [{ configMapRef: { name: 'c1' } }] }],
        initContainers: [{ name: 'b', envFrom: [{ secretRef: { name: 's1' } }] }],
        ephemeralContainers: [{ name: 'e', envFrom: [{ secretRef: { name: 's2' } }] }],
      },
      ['c1'],
      ['s1', 's2'],
    ],
    [
      'env',
      {
        containers: [
          {
            name: 'a',
            env: [
              { name: 'A', valueFrom: { configMapKeyRef: { name: 'c1', key: 'k' } } },
              { name: 'B', valueFrom: { secretKeyRef: { name: 's1', key: 'k' } } },
            ],
          },
        ],
      },
      ['c1'],
      ['s1'],
    ],
    [
      'volumes, projected sources and inline storage drivers',
      {
        containers: [],
        volumes: [
          { name: '1', configMap: { name: 'c1' } },
          { name: '2', secret: { secretName: 's1' } },
          {
            name: '3',
            projected: { sources: [{ configMap: { name: 'c2' } }, { secret: { name: 's2' } }] },
          },
          { name: '4', csi: { driver: 'd', nodePublishSecretRef: { name: 's3' } } },
        ],
      },
      ['c1', 'c2'],
      ['s1', 's2', 's3'],
    ],
  ];
  it.each(rows)('%s', (_place, spec, configMaps, secrets) => {
    const found = podReferences({ metadata: {}, spec });
    expect([...found.configMaps].sort()).toEqual(configMaps);
    expect([...found.secrets].sort()).toEqual(secrets);
  });
});

import { expect, it } from 'vitest';
import { baselineConfiguration } from './defaults.js';
import { resolveFeatureGates } from './feature-gates.js';
import { defaultKubeletFlags, flagSpecs } from './flag-table.js';
import { shownFlags } from './shown-flags.js';
import type { KubeletConfiguration } from './types.js';

const baseline = baselineConfiguration(resolveFeatureGates({}).gates);
const shown = (
  config: Partial<KubeletConfiguration> = {},
  flags: Partial<typeof defaultKubeletFlags> = {},
): Record<string, string> => shownFlags({ ...defaultKubeletFlags, ...flags }, { ...baseline, ...config });

it('shows every flag once, in order', () => {
  const names = Object.keys(shown());
  expect(names).toEqual([...new Set(flagSpecs.map(({ name }) => name))].sort());
  expect(names).toContain('max-pods');
  expect(names).toContain('v');
});

it.each<[rule: string, flag: string, text: string, config: Partial<KubeletConfiguration>]>([
  ['a number', 'max-pods', '42', { maxPods: 42 }],
  ['a switch', 'fail-swap-on', 'false', { failSwapOn: false }],
  ['a duration', 'sync-frequency', '1m30s', { syncFrequency: 90_000 }],
  ['a list', 'cluster-dns', '10.0.0.1,10.0.0.2', { clusterDNS: ['10.0.0.1', '10.0.0.2'] }],
  ['a map', 'system-reserved', 'cpu=1,memory=1Gi', { systemReserved: { cpu: '1', memory: '1Gi' } }],
  ['gates', 'feature-gates', 'A=true,B=false', { featureGates: { A: true, B: false } }],
  [
    'taints',
    'register-with-taints',
    'a=b:NoSchedule,c=:NoExecute',
    {
      registerWithTaints: [
        { key: 'a', value: 'b', effect: 'NoSchedule' },
        { key: 'c', effect: 'NoExecute' },
      ],
    },
  ],
  [
    'reserved memory',
    'reserved-memory',
    '0:memory=1Gi',
    { reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }] },
  ],
  [
    'verbosities of files',
    'vmodule',
    'pods=4',
    { logging: { ...baseline.logging, vmodule: [{ filePattern: 'pods', verbosity: 4 }] } },
  ],
  ['a URL', 'manifest-url', 'http://pods.example/all', { staticPodURL: 'http://pods.example/all' }],
  ['a URL with a token', 'manifest-url', 'CLASSIFIED', { staticPodURL: 'http://pods.example/?token=secret' }],
  ['a URL with a password', 'manifest-url', 'CLASSIFIED', { staticPodURL: 'http://me:secret@pods.example/' }],
  ['no headers', 'manifest-url-header', '', { staticPodURLHeader: {} }],
  [
    'headers, which carry credentials',
    'manifest-url-header',
    'CLASSIFIED',
    { staticPodURLHeader: { Authorization: ['Bearer secret'] } },
  ],
])('%s', (_rule, flag, text, config) => {
  expect(shown(config)[flag]).toBe(text);
});

it.each<[rule: string, flag: string, text: string, flags: Partial<typeof defaultKubeletFlags>]>([
  ['a text', 'node-ip', '10.0.0.1', { nodeIp: '10.0.0.1' }],
  ['labels', 'node-labels', 'a=b,c=d', { nodeLabels: { a: 'b', c: 'd' } }],
  ['a duration', 'housekeeping-interval', '10s', {}],
  ['no version to report', 'version', 'false', {}],
  ['a version to report', 'version', 'v1.2.3', { reportedVersion: 'v1.2.3' }],
])('a flag of the command line alone: %s', (_rule, flag, text, flags) => {
  expect(shown({}, flags)[flag]).toBe(text);
});

import { expect, it } from 'vitest';
import { loadConfiguration, resolveFeatureGates } from '../config/index.js';
import { Timeline, type TimelineEntry } from '../timeline/index.js';
import { announce, announceConfiguration, announceMemoryQos } from './start-checks.js';

/** What is told of the configuration that the flags make. */
async function told(manifestUrl: string): Promise<readonly TimelineEntry[]> {
  const loaded = await loadConfiguration({
    argv: [
      `--manifest-url=${manifestUrl}`,
      '--manifest-url-header=Authorization:secret',
      '--kubeconfig=/k',
      '--max-pods=33',
    ],
    cwd: '/',
    readFile: () => Promise.reject(new Error('no file')),
    listDir: () => Promise.reject(new Error('no directory')),
  });
  if (loaded.kind !== 'run') throw new Error('the flags ask for a run');
  const timeline = new Timeline();
  announceConfiguration(loaded, timeline);
  return timeline.ofNode();
}

it('tells the configuration in force once, without the values of headers', async () => {
  const entries = await told('http://127.0.0.1/x');
  expect(entries.map(({ message, level }) => [message, level])).toEqual([
    ['Effective KubeletConfiguration', 'info'],
  ]);
  const text = JSON.stringify(entries);
  expect(text).toContain('maxPods: 33');
  expect(text).toContain('<masked>');
  expect(text).not.toContain('secret');
});

it.each([
  ['http://pods.example/all', 'http://pods.example/all'],
  ['http://pods.example/all?token=secret', 'http://pods.example/all?masked'],
  ['http://me:secret@pods.example/all', 'http://masked@pods.example/all'],
])('tells %s as %s', async (url, shown) => {
  const [entry] = await told(url);
  expect(entry?.data).toEqual({ configuration: expect.stringContaining(`staticPodURL: ${shown}\n`) });
});

const inert = 'settings without effect in this build: ';
it.each<[string, string[]]>([
  [
    'LocalStorageCapacityIsolationFSQuotaMonitoring',
    [`${inert}featureGates.LocalStorageCapacityIsolationFSQuotaMonitoring`],
  ],
  ['DRANodeAllocatableResources', []],
  ['InPlacePodVerticalScalingMemoryBackedVolumes', []],
  ['InPlacePodVerticalScalingExclusiveCPUs', []],
  ['InPlacePodVerticalScalingExclusiveMemory', []],
])('says what the gate %s does not do', async (gate, expected) => {
  const loaded = await loadConfiguration({
    argv: [`--feature-gates=${gate}=true`, '--kubeconfig=/k'],
    cwd: '/',
    readFile: () => Promise.reject(new Error('no file')),
    listDir: () => Promise.reject(new Error('no directory')),
  });
  if (loaded.kind !== 'run') throw new Error('the flags ask for a run');
  const timeline = new Timeline();
  announce(loaded, timeline);
  const warnings = timeline.ofNode().filter(({ what }) => what === 'config.inert');
  expect(warnings.map(({ message }) => message)).toEqual(expected);
});

it.each<[string, string[]]>([
  ['application/json', []],
  [
    'application/vnd.kubernetes.protobuf',
    [
      'contentType application/vnd.kubernetes.protobuf is not used: requests to the API server are application/json',
    ],
  ],
])('says of the content type %s whether it is used', async (contentType, expected) => {
  const loaded = await loadConfiguration({
    argv: [`--kube-api-content-type=${contentType}`, '--kubeconfig=/k'],
    cwd: '/',
    readFile: () => Promise.reject(new Error('no file')),
    listDir: () => Promise.reject(new Error('no directory')),
  });
  if (loaded.kind !== 'run') throw new Error('the flags ask for a run');
  const timeline = new Timeline();
  announce(loaded, timeline);
  const warnings = timeline.ofNode().filter(({ what }) => what === 'config.inert');
  expect(warnings.map(({ message }) => message)).toEqual(expected);
});

it.each<[rule: string, gate: boolean, version: 1 | 2, kernel: string, expected: RegExp | undefined]>([
  ['version 1 of cgroups', true, 1, '6.1.0', /no effect with cgroups of version 1/],
  ['a kernel that throttles badly', true, 2, '5.8.18-generic', /kernel 5\.8\.18-generic is older than 5\.9/],
  ['a kernel of an older major version', true, 2, '4.18.0-553.el8', /is older than 5\.9/],
  ['a kernel that throttles well', true, 2, '5.10.0-28-amd64', undefined],
  ['the gate that is off', false, 1, '4.18.0', undefined],
])('tells of protected memory with %s', (_rule, gate, cgroupVersion, kernelRelease, expected) => {
  const timeline = new Timeline();
  const featureGates = resolveFeatureGates({ MemoryQoS: gate }).gates;
  announceMemoryQos({ featureGates }, { cgroupVersion, kernelRelease }, timeline);
  const messages = timeline.ofNode().map(({ message }) => message);
  expect(messages).toEqual(expected === undefined ? [] : [expect.stringMatching(expected)]);
});

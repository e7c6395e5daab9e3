import { expect, it } from 'vitest';
import { loadConfiguration } from '../config/index.js';
import { Timeline, type TimelineEntry } from '../timeline/index.js';
import { announce, announceConfiguration } from './start-checks.js';

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
  ['DRANodeAllocatableResources', [`${inert}featureGates.DRANodeAllocatableResources`]],
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

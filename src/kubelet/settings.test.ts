import { expect, it } from 'vitest';
import { VirtualClock } from '../async/index.js';
import { resolveFeatureGates } from '../config/index.js';
import { StreamContainersResponse, unimplementedCriRuntime } from '../cri/index.js';
import { simulatedHost } from '../host/index.js';
import type { KubeletOptions } from './options.js';
import { readSettings } from './settings.js';

const required: KubeletOptions = {
  nodeName: 'n1',
  runtime: unimplementedCriRuntime(),
  rootDir: '/root',
  clock: new VirtualClock(),
};

it('what is left out gets its default', async () => {
  const settings = await readSettings(required);
  expect(settings).toMatchObject({
    podDirectories: true,
    isOwnMachine: true,
    podLogsDir: '/var/log/pods',
    sources: [],
    managers: {},
    deadContainers: { minAgeMs: 0, maxPerContainer: 1, maxTotal: -1 },
  });
  expect(settings.config.maxPods).toBe(110);
  expect(settings.eventSources).toHaveLength(1);
  expect(settings.startsAtOnce).toBeGreaterThan(2);
  expect(settings.node()?.metadata).toMatchObject({
    name: 'n1',
    labels: { 'kubernetes.io/hostname': 'n1', 'kubernetes.io/os': 'linux' },
  });
  expect(Number(settings.node()?.status?.allocatable?.cpu)).toBeGreaterThan(0);
  expect(settings.node()).toBe(settings.node());
});

it('what is given stands, and a field of the configuration leaves the others as they are', async () => {
  const deadContainers = { minAgeMs: 1, maxPerContainer: 2, maxTotal: 3 };
  const settings = await readSettings({
    ...required,
    startsAtOnce: 1,
    deadContainers,
    machine: simulatedHost(),
    config: { maxPods: 7 },
  });
  expect(settings).toMatchObject({ nodeName: 'n1', startsAtOnce: 1, deadContainers, isOwnMachine: false });
  expect(settings.config).toMatchObject({ maxPods: 7, syncFrequency: 60_000 });
});

it('a node without pod directories keeps no logs of pods', async () => {
  expect((await readSettings({ ...required, podDirectories: false })).podLogsDir).toBe('');
});

it('the runtime is reached through calls that end with the kubelet, and in no other way', async () => {
  const unanswered = { ...unimplementedCriRuntime(), version: () => new Promise<never>(() => {}) };
  const settings = await readSettings({ ...required, runtime: unanswered });
  expect(settings).not.toHaveProperty('runtime');
  const answer = settings.cri.version({ version: '' });
  settings.stopping.abort();
  await expect(answer).rejects.toThrow();
});

it.each([
  [true, 1],
  [false, 0],
])('the gate CRIListStreaming at %s decides how lists are read', async (enabled, expected) => {
  let streamed = 0;
  const runtime = {
    ...unimplementedCriRuntime(),
    async *streamContainers() {
      streamed++;
      yield StreamContainersResponse.create();
    },
  };
  const { gates } = resolveFeatureGates({ CRIListStreaming: enabled });
  const settings = await readSettings({ ...required, runtime, gates });
  await settings.cri.listContainers({}).catch(() => undefined);
  expect(streamed).toBe(expected);
});

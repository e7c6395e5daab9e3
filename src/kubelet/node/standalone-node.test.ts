import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { baselineConfiguration, resolveFeatureGates } from '../../config/index.js';
import { simulatedHost } from '../../host/index.js';
import { Timeline } from '../../timeline/index.js';
import { readStandaloneNode, type StandaloneFacts, type StandaloneNodeInput } from './standalone-node.js';

const { gates } = resolveFeatureGates({});
const calm: StandaloneFacts = {
  nowMs: 1_000,
  runtime: { name: 'sim', version: '1.0.0', handlers: [], features: undefined },
  pressure: { memory: false, disk: false, pid: false },
  readiness: {
    runtimeErrors: [],
    networkError: undefined,
    storageError: undefined,
    shutdownError: undefined,
    softRequirementFailed: false,
  },
};

function recorded(): Timeline {
  const timeline = new Timeline({ clock: new VirtualClock() });
  timeline.subscribe(({ message, error }) => expect.fail(`${message}: ${error}`));
  return timeline;
}

async function standaloneNode(
  config: Partial<ReturnType<typeof baselineConfiguration>> = {},
  input: Partial<StandaloneNodeInput> = {},
) {
  const machine = simulatedHost();
  for (const [file, text] of [
    ['/proc/meminfo', 'MemTotal: 4194304 kB\nSwapTotal: 0 kB\n'],
    ['/sys/devices/system/cpu/online', '0-3\n'],
    ['/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages', '8\n'],
  ] as const) {
    await machine.files.mkdir(file.replace(/\/[^/]+$/, ''), { recursive: true });
    await machine.files.writeFile(file, text);
  }
  return await readStandaloneNode(
    {
      nodeName: 'n1',
      rootDir: '/not/there/yet',
      config: { ...baselineConfiguration(gates), ...config },
      gates,
      timeline: recorded(),
      machine,
    },
    { ignoreEvictionReservation: false, hostIps: ['10.0.0.7'], ...input },
  );
}

describe('a node without a cluster', () => {
  it('has the labels, taints and addresses that it would register with', async () => {
    const taints = [{ key: 'k', effect: 'NoExecute' }];
    const { known } = await standaloneNode({ registerWithTaints: taints }, { labels: { disk: 'ssd' } });
    expect(known.metadata.labels).toMatchObject({
      'kubernetes.io/hostname': 'n1',
      'kubernetes.io/os': 'linux',
      disk: 'ssd',
    });
    expect(known.spec?.taints).toEqual(taints);
    expect(known.status?.addresses).toEqual([
      { type: 'InternalIP', address: '10.0.0.7' },
      { type: 'Hostname', address: 'n1' },
    ]);
  });

  it.each<[rule: string, config: object, input: Partial<StandaloneNodeInput>, expected: object]>([
    ['the machine less what is in huge pages', { evictionHard: {} }, {}, { cpu: '4', memory: '4080Mi' }],
    [
      'less the reservations',
      { evictionHard: {}, systemReserved: { cpu: '500m' }, kubeReserved: { cpu: '500m', memory: '80Mi' } },
      {},
      { cpu: '3', memory: '4000Mi' },
    ],
    [
      'less the hard thresholds of eviction',
      { evictionHard: { 'memory.available': '100Mi' } },
      {},
      { memory: '3980Mi' },
    ],
    [
      'thresholds that reserve nothing',
      { evictionHard: { 'memory.available': '100Mi' } },
      { ignoreEvictionReservation: true },
      { memory: '4080Mi' },
    ],
    ['as many pods as it may hold', { maxPods: 7 }, {}, { pods: '7' }],
  ])('%s', async (_, config, input, expected) => {
    const { known } = await standaloneNode(config, input);
    expect(known.status?.allocatable).toMatchObject(expected);
    expect(known.status?.capacity).toMatchObject({ cpu: '4', memory: '4Gi', 'hugepages-2Mi': '16Mi' });
  });

  it('a reservation that the machine does not have is refused', async () => {
    await expect(standaloneNode({ kubeReserved: { cpu: '5' } })).rejects.toThrow(
      'invalid Node Allocatable configuration. Resource "cpu"',
    );
  });

  it('is the same object until its devices change', async () => {
    const node = await standaloneNode();
    const before = node.known;
    expect(node.known).toBe(before);
    const list = { 'vendor.test/gpu': '2' };
    node.setDevices({ capacity: list, allocatable: list, removed: [] });
    expect(node.known.status?.allocatable).toMatchObject({ cpu: '4', 'vendor.test/gpu': '2' });
  });

  it('has the conditions of the moment; one that stays keeps the time of its last change', async () => {
    const node = await standaloneNode();
    expect(node.known.status?.conditions).toBeUndefined();
    const first = node.observe(calm);
    expect(first.status?.conditions?.map(({ type, status }) => `${type} ${status}`)).toEqual([
      'MemoryPressure False',
      'DiskPressure False',
      'PIDPressure False',
      'Ready True',
    ]);
    expect(first.status?.addresses).toEqual(node.known.status?.addresses);
    const pressure = { memory: true, disk: false, pid: false };
    const later = node.observe({ ...calm, nowMs: 61_000, pressure });
    const [memory, disk] = later.status?.conditions ?? [];
    expect(memory).toMatchObject({ status: 'True', lastTransitionTime: '1970-01-01T00:01:01Z' });
    expect(disk).toMatchObject({ status: 'False', lastTransitionTime: '1970-01-01T00:00:01Z' });
  });
});

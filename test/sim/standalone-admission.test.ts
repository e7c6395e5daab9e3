/** A whole kubelet without a cluster: static pods are judged by the node that it builds of its machine. */
import { afterEach, expect, it } from 'vitest';
import { resolveFeatureGates } from '../../src/config/index.js';
import { simulatedHost } from '../../src/host/index.js';
import type { KubeletOptions } from '../../src/kubelet/index.js';
import { endNodes, type Node, startNode } from './node.js';
import { type PodShape, staticName, staticPod } from './pods.js';

afterEach(endNodes);

async function start(options: Partial<KubeletOptions> = {}): Promise<Node> {
  const machine = simulatedHost();
  for (const [file, text] of [
    ['/proc/meminfo', 'MemTotal: 4194304 kB\nSwapTotal: 0 kB\n'],
    ['/sys/devices/system/cpu/online', '0-1\n'],
  ] as const) {
    await machine.files.mkdir(file.replace(/\/[^/]+$/, ''), { recursive: true });
    await machine.files.writeFile(file, text);
  }
  return await startNode({
    sources: ['file'],
    kubelet: {
      machine,
      node: undefined,
      standalone: { labels: { disk: 'ssd' } },
      ...options,
      config: { kubeReserved: { cpu: '500m' }, evictionHard: {}, ...options.config },
    },
  });
}

const asking = (name: string, requests: Record<string, string>, shape: PodShape = {}) =>
  staticPod(name, { ...shape, containers: [{ name: 'app', image: 'app:1', resources: { requests } }] });
const [web, other] = [staticName('web'), staticName('other')];

it.each<[rule: string, requests: Record<string, string>, reason: string, message: string]>([
  ['more CPU than the machine has', { cpu: '100' }, 'OutOfcpu', 'requested: 100000, used: 0, capacity: 1500'],
  ['what is reserved', { cpu: '1501m' }, 'OutOfcpu', 'requested: 1501, used: 0, capacity: 1500'],
  ['more memory', { memory: '5Gi' }, 'OutOfmemory', 'memory, requested: 5368709120, used: 0'],
])('a run refuses %s, and says what is short', async (_, requests, reason, message) => {
  const node = await start({ namesShortage: true });
  node.set([asking('web', requests), asking('other', { cpu: '1500m', memory: '1Gi' })], 'file');
  await node.untilPhase(web, 'Failed');
  expect(node.status(web)).toMatchObject({ reason, message: expect.stringContaining(message) });
  expect(node.reasons(web)).toEqual([reason]);
  expect(node.machine.seenSandboxes(web)).toEqual([]);
  await node.untilReady(other);
});

it.each([
  ['refuses', 'off', false],
  ['admits', 'on', true],
] as const)('a node %s a pod with options for its mounts while the gate is %s', async (_, __, isOn) => {
  const node = await start({ gates: resolveFeatureGates({ VolumeBindMountOptions: isOn }).gates });
  const mount = { name: 'v', mountPath: '/v', bindMountOptions: ['noexec'] };
  const spec = { volumes: [{ name: 'v', emptyDir: {} }] };
  node.set(
    [staticPod('web', { spec, containers: [{ name: 'app', image: 'app:1', volumeMounts: [mount] }] })],
    'file',
  );
  await node.advance(1000);
  expect(node.entries.some(({ what }) => what === 'pod.admit')).toBe(isOn);
  expect(node.status(web)).toMatchObject(
    isOn
      ? { phase: 'Pending' }
      : {
          phase: 'Failed',
          reason: 'PodFeatureUnsupported',
          message: expect.stringContaining('node features that are not available: VolumeBindMountOptions'),
        },
  );
});

it('an agent refuses a static pod as the reference kubelet does: nobody can make room', async () => {
  const node = await start();
  node.set([asking('web', { cpu: '1600m' })], 'file');
  await node.untilPhase(web, 'Failed');
  expect(node.status(web)).toMatchObject({
    reason: 'UnexpectedAdmissionError',
    message: expect.stringContaining(
      'no set of running pods found to reclaim resources: [(res: cpu, q: 100), ]',
    ),
  });
});

it('what an ended pod requested is free again', async () => {
  const node = await start({ namesShortage: true });
  node.set([asking('web', { cpu: '1' })], 'file');
  await node.untilReady(web);
  node.put(asking('other', { cpu: '1' }), 'file');
  await node.untilPhase(other, 'Failed');
  expect(node.status(other)?.message).toContain('requested: 1000, used: 1000, capacity: 1500');
  node.set([], 'file');
  await node.untilStopped(web);
  await node.until('it is forgotten', () => node.pod(web) === undefined);
  node.set([asking('other', { cpu: '1' }, { annotations: { again: 'yes' } })], 'file');
  await node.untilReady(other);
});

it('selectors and affinity are held against the labels of the node', async () => {
  const node = await start();
  node.set(
    [
      staticPod('web', { spec: { nodeSelector: { disk: 'tape' } } }),
      staticPod('other', { spec: { nodeSelector: { disk: 'ssd', 'kubernetes.io/os': 'linux' } } }),
    ],
    'file',
  );
  await node.untilReady(other);
  expect(node.status(web)).toMatchObject({ phase: 'Failed', reason: 'NodeAffinity' });
});

it('a pod of a built-in class makes others go: its number is known without an API', async () => {
  const node = await start();
  const ranked = (name: string, spec: PodShape['spec']) => asking(name, { cpu: '1' }, { spec: spec ?? {} });
  node.set([ranked('web', { priorityClassName: 'system-cluster-critical' })], 'file');
  await node.untilReady(web);
  node.put(ranked('other', { priorityClassName: 'system-node-critical' }), 'file');
  await node.untilReady(other);
  expect(node.status(web)).toMatchObject({ phase: 'Failed', reason: 'Preempting' });
  expect(node.pod(other)?.spec.priority).toBe(2_000_001_000);
});

it('a static pod needs no toleration', async () => {
  const node = await start({ config: { registerWithTaints: [{ key: 'k', effect: 'NoExecute' }] } });
  node.set([staticPod('web')], 'file');
  await node.untilReady(web);
});

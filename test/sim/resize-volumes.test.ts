/** Volumes in memory whose pods ask for another size while they run. */
import { afterEach, describe, expect, it } from 'vitest';
import { resolveFeatureGates } from '../../src/config/index.js';
import { type HostCall, SimulatedMachine } from '../../src/host/index.js';
import { type Container, type Pod, parseResourceCheckpoint } from '../../src/kube/index.js';
import { Machine } from './machine.js';
import { endNodes, hostFacts, second } from './node.js';
import { apiPod } from './pods.js';
import { rootDir, startVolumeNode, type VolumeNode, type VolumeNodeOptions } from './volume-node.js';

afterEach(endNodes);

const { gates } = resolveFeatureGates({ InPlacePodVerticalScalingMemoryBackedVolumes: true });
const start = (more: VolumeNodeOptions = {}): Promise<VolumeNode> =>
  startVolumeNode({ ...more, kubelet: { gates, ...more.kubelet } });

function caching(sizeLimit: string, memory: string, generation: number): Pod {
  const amounts = { cpu: '100m', memory };
  const container: Container = {
    name: 'app',
    image: 'app:1',
    resources: { requests: amounts, limits: amounts },
    volumeMounts: [{ name: 'cache', mountPath: '/cache' }],
  };
  const volumes = [{ name: 'cache', emptyDir: { medium: 'Memory', sizeLimit } }];
  const pod = apiPod('a', { containers: [container], spec: { volumes } });
  return { ...pod, metadata: { ...pod.metadata, generation } };
}

const path = (pod: Pod): string =>
  `${rootDir}/pods/${pod.metadata.uid}/volumes/kubernetes.io~empty-dir/cache`;

async function sizeOf({ host }: VolumeNode, pod: Pod): Promise<string | undefined> {
  const mounts = await host.mounts.list();
  const mount = mounts.find(({ target }) => target === path(pod));
  return mount?.superOptions.find((option) => option.startsWith('size='));
}

async function limitsIn({ host }: VolumeNode, file: string): Promise<unknown> {
  const text = Buffer.from(await host.files.readFile(`${rootDir}/${file}`)).toString('utf8');
  return [...parseResourceCheckpoint(text).values()][0]?.EmptyDirVolumeLimits;
}

describe('a volume in memory', () => {
  const [small, large] = [caching('16Mi', '64Mi', 1), caching('32Mi', '128Mi', 2)];

  it('grows with the memory of its pod, and the container runs on', async () => {
    const volumeNode = await start();
    const { node } = volumeNode;
    node.put(small);
    await node.untilReady('a');
    const running = node.machine.running('a');
    expect(await sizeOf(volumeNode, small)).toBe('size=16384k');
    node.put(large);
    await node.until('it is completed', () => node.reasons('a').includes('ResizeCompleted'));
    expect(await sizeOf(volumeNode, small)).toBe('size=32768k');
    expect(node.machine.running('a')).toEqual(running);
    await node.advance(second);
    expect(await limitsIn(volumeNode, 'allocated_pods_state')).toEqual({ cache: '32Mi' });
    expect(await limitsIn(volumeNode, 'actuated_pods_state')).toEqual({ cache: '32Mi' });
    node.put(caching('8Mi', '128Mi', 3));
    await node.until(
      'it is completed',
      () => node.reasons('a').filter((reason) => reason === 'ResizeCompleted').length === 2,
    );
    expect(await sizeOf(volumeNode, small)).toBe('size=8192k');
  });

  it('that holds more than it may is told to be in the way, and shrinks once it holds less', async () => {
    const volumeNode = await start();
    const { node, host } = volumeNode;
    node.put(large);
    await node.untilReady('a');
    await host.files.writeFile(`${path(large)}/file`, 'x'.repeat(17_000_000));
    node.put(caching('16Mi', '128Mi', 3));
    await node.until('it failed', () => node.reasons('a').includes('ResizeError'));
    expect(node.events('a', 'ResizeError')[0]?.message).toContain(
      'failed to resize volume cache: attempting to set its size (16777216) below current usage',
    );
    expect(node.status('a')?.conditions).toContainEqual(
      expect.objectContaining({ type: 'PodResizeInProgress', reason: 'Error' }),
    );
    expect(await sizeOf(volumeNode, large)).toBe('size=32768k');
    await host.files.unlink(`${path(large)}/file`);
    await node.until('it is completed', () => node.reasons('a').includes('ResizeCompleted'));
    expect(await sizeOf(volumeNode, large)).toBe('size=16384k');
  });

  it.each(['before', 'after'] as const)('gets its size, too, if the kubelet dies %s', async (when) => {
    const world = { machine: new Machine(), files: new SimulatedMachine() };
    const first = await start(world);
    first.node.put(small);
    await first.node.untilReady('a');
    let isDead = false;
    const at = (call: HostCall): boolean => call.operation === 'mount' && call.path === path(small);
    const end = (): void => {
      isDead = true;
      first.node.line.cut();
    };
    first.host.inject({ at, when, effect: { kind: 'run', action: end } });
    first.host.inject({ at, when, effect: { kind: 'die' } });
    first.node.put(large);
    await first.node.until('the kubelet is dead', () => isDead);
    await first.crash();
    const next = await start(world);
    next.node.put(large);
    await next.node.until('it is completed', () => next.node.reasons('a').includes('ResizeCompleted'));
    expect(await sizeOf(next, small)).toBe('size=32768k');
  });

  it('keeps its size on a machine with cgroup v1, and the pod is told', async () => {
    const volumeNode = await start({ kubelet: { host: { ...hostFacts, cgroupVersion: 1 } } });
    const { node } = volumeNode;
    node.put(small);
    await node.untilReady('a');
    node.put(large);
    await node.until('it is refused', () => node.reasons('a').includes('ResizeInfeasible'));
    expect(node.status('a')?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'PodResizePending',
        reason: 'Infeasible',
        message: 'Memory-backed emptyDir volume resize is not supported on cgroups v1',
      }),
    );
    expect(await sizeOf(volumeNode, small)).toBe('size=16384k');
  });

  it('keeps its size while the gate is off', async () => {
    const volumeNode = await startVolumeNode();
    const { node } = volumeNode;
    node.put(small);
    await node.untilReady('a');
    node.put(large);
    await node.until('it is completed', () => node.reasons('a').includes('ResizeCompleted'));
    expect(await sizeOf(volumeNode, small)).toBe('size=16384k');
  });
});

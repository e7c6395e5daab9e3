/** Every state that is not final names what the pod waits for, the last error and the next try. */
import { afterEach, describe, expect, it } from 'vitest';
import { CriError, type CriRuntime } from '../../src/cri/index.js';
import type { Container, Pod } from '../../src/kube/index.js';
import { type Explanation, explainPod } from '../../src/timeline/index.js';
import type { Machine } from './machine.js';
import { endNodes, minute, type Node, type NodeOptions, second, startNode } from './node.js';
import { apiPod, type PodShape } from './pods.js';
import { startVolumeNode } from './volume-node.js';

afterEach(endNodes);

function explain(node: Node, name = 'a'): Explanation {
  const entries = node.entries.filter(({ pod }) => pod?.name === name);
  const ofNode = node.entries.filter(({ pod }) => pod === undefined);
  return explainPod(entries, ofNode, node.clock.now());
}

const failing =
  (method: keyof CriRuntime, message: string) =>
  (machine: Machine): CriRuntime => ({
    ...machine,
    [method]: async () => {
      throw new CriError('Unknown', message);
    },
  });
const app = (more: Partial<Container>): PodShape => ({
  containers: [{ name: 'app', image: 'app:1', ...more }],
});
const next = 'next try at \\d\\d:\\d\\d:\\d\\d \\(in \\d+s\\)';

describe('a pod that cannot go on names what it waits for', () => {
  it.each<[kind: string, pod: PodShape, options: NodeOptions, waitsFor: RegExp, help: RegExp]>([
    [
      'admission',
      app({}),
      { kubelet: { config: { maxPods: 0 } } },
      /^nothing: it was refused \(OutOfpods\): /,
      /make room/,
    ],
    [
      'sandbox',
      app({}),
      { through: failing('runPodSandbox', 'no sandbox for you') },
      new RegExp(`^FailedCreatePodSandBox: .*no sandbox for you, ${next}$`),
      /could not make the sandbox/,
    ],
    [
      'network',
      app({}),
      {
        through: (machine) => ({
          ...machine,
          status: async (...call) => {
            const answer = await machine.status(...call);
            const conditions = answer.status?.conditions.map((condition) =>
              condition.type === 'NetworkReady'
                ? { ...condition, status: false, reason: 'NoCni', message: 'cni plugin not initialized' }
                : condition,
            );
            return { ...answer, status: { ...answer.status, conditions: conditions ?? [] } };
          },
        }),
      },
      new RegExp(`^NetworkNotReady: network is not ready: .*cni plugin not initialized.*, ${next}$`),
      /CNI/,
    ],
    [
      'image that is not there',
      app({ image: 'none:1' }),
      { images: [] },
      new RegExp(`^container app: (ErrImagePull|ImagePullBackOff), ${next}: `),
      /check the image name/,
    ],
    [
      'image name',
      app({ image: 'UPPER:1' }),
      {},
      new RegExp(`^container app: InvalidImageName, ${next}: `),
      /correct the image name/,
    ],
    [
      'container that the runtime refuses',
      app({}),
      { through: failing('createContainer', 'no container for you') },
      new RegExp(`^container app: CreateContainerError, ${next}: .*no container for you`),
      /the runtime refused/,
    ],
    [
      'container that crashes',
      { sim: { 'run-time': '1s', 'exit-code': '3' } },
      {},
      new RegExp(`^container app: CrashLoopBackOff, ${next}: `),
      /tried again by itself/,
    ],
    [
      'postStart hook',
      { ...app({ lifecycle: { postStart: { exec: { command: ['x'] } } } }), sim: { 'exec-exit-code': '1' } },
      {},
      new RegExp(`^container app: (PostStartHookError|CrashLoopBackOff), ${next}: `),
      /./,
    ],
    [
      'readiness probe',
      {
        ...app({ readinessProbe: { exec: { command: ['ready'] }, periodSeconds: 1 } }),
        sim: { 'exec-exit-code': '1' },
      },
      {},
      /^container app: Readiness probe failed: /,
      /probed again by itself/,
    ],
    [
      'cgroup',
      app({}),
      {
        kubelet: {
          cgroups: {
            exists: async () => false,
            ensure: async () => {
              throw new Error('mkdir /sys/fs/cgroup/x: read-only file system');
            },
            destroy: async () => {},
          } as never,
        },
      },
      new RegExp(`^FailedCreatePodContainer: .*read-only file system, ${next}$`),
      /cgroup possible/,
    ],
  ])('%s', async (_kind, pod, options, waitsFor, help) => {
    const node = await startNode(options);
    node.set([apiPod('a', pod)]);
    await node.advance(25 * second);
    const { waitsFor: told, unblock } = explain(node);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(waitsFor);
    expect(unblock.join('\n')).toMatch(help);
  });

  it.each<[kind: string, volume: object, waitsFor: RegExp]>([
    [
      'secret',
      { secret: { secretName: 'none' } },
      /^FailedMount: MountVolume\.SetUp failed for volume "v" : secret "none" not found/,
    ],
    [
      'volume',
      { hostPath: { path: '/none', type: 'Directory' } },
      /^FailedMount: .*\/none is not a directory/,
    ],
  ])('%s', async (_kind, source, waitsFor) => {
    const { node } = await startVolumeNode();
    const mounting = app({ volumeMounts: [{ name: 'v', mountPath: '/v' }] });
    node.set([apiPod('a', { ...mounting, spec: { volumes: [{ name: 'v', ...source }] } })]);
    await node.advance(25 * second);
    const { waitsFor: told } = explain(node);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(waitsFor);
    // Nothing is lost when the wait for volumes is given up and begun again.
    await node.advance(4 * minute);
    expect(explain(node).waitsFor[0]).toMatch(waitsFor);
  });

  it('a stop that fails', async () => {
    const node = await startNode({ through: failing('stopPodSandbox', 'it will not die') });
    node.set([apiPod('a')]);
    await node.untilReady('a');
    node.delete('a', 1);
    await node.advance(25 * second);
    const told = explain(node).waitsFor;
    expect(told[0]).toMatch(/^its containers to stop, as it was deleted/);
    expect(told[1]).toMatch(new RegExp(`^FailedKillPod: .*it will not die.*, ${next}$`));
  });
});

describe('a pod that goes on names the step', () => {
  const stepOf = (node: Node): string | undefined => explain(node).inProgress?.text;

  it.each<[string, Pod, RegExp]>([
    ['its image', apiPod('a', { sim: { 'pull-time': '1h' } }), /^the image of container app$/],
    ['its start', apiPod('a', { sim: { 'start-delay': '1h' } }), /^its start \(create sandbox/],
    [
      'its readiness',
      apiPod('a', app({ readinessProbe: { exec: { command: ['x'] }, initialDelaySeconds: 3600 } })),
      /^its containers to become ready$/,
    ],
  ])('%s', async (_, pod, text) => {
    const node = await startNode({ images: 'any' });
    node.set([pod]);
    await node.advance(15 * second);
    expect(explain(node).waitsFor).toEqual([]);
    expect(stepOf(node)).toMatch(text);
  });

  it('nothing once it is ready, or over, also after a failure', async () => {
    let fails = true;
    const node = await startNode({
      through: (machine) => ({
        ...machine,
        runPodSandbox: async (...call) => {
          if (fails) throw new CriError('Unknown', 'not yet');
          return machine.runPodSandbox(...call);
        },
      }),
    });
    node.set([apiPod('a'), apiPod('job', { spec: { restartPolicy: 'Never' }, sim: { 'run-time': '1s' } })]);
    await node.advance(5 * second);
    expect(explain(node).waitsFor[0]).toMatch('not yet');
    fails = false;
    await node.untilReady('a');
    await node.untilPhase('job', 'Succeeded');
    await node.advance(30 * second);
    for (const name of ['a', 'job']) {
      expect(explain(node, name)).toMatchObject({ waitsFor: [], inProgress: undefined });
    }
  });
});

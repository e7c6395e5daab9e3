/** The lives of pods as the API shows them: in which order they start, why they are refused, and how they end. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Container, Pod } from '../../src/kube/index.js';
import { resources } from '../../src/kube-client/index.js';
import {
  busybox,
  type Cluster,
  condition,
  container,
  eventually,
  forever,
  isReady,
  phaseIs,
  podManifest,
  shell,
  startCluster,
  thenForever,
} from './cluster.js';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

const one = (name: string, command: readonly string[], fields: Partial<Container> = {}): Container => ({
  name,
  image: busybox,
  command: [...command],
  ...fields,
});

describe.concurrent('a pod', () => {
  it('runs init containers one after the other, then sidecars with the rest, and ends when the rest has ended', async () => {
    const volumeMounts = [{ name: 'work', mountPath: '/work' }];
    await cluster.apply(
      podManifest('ordered', {
        restartPolicy: 'Never',
        volumes: [{ name: 'work', emptyDir: {} }],
        initContainers: [
          one('first', shell('echo first >> /work/log'), { volumeMounts }),
          one('beside', thenForever('echo beside >> /work/log; touch /work/up'), {
            volumeMounts,
            restartPolicy: 'Always',
            startupProbe: { exec: { command: ['test', '-e', '/work/up'] }, periodSeconds: 1 },
          }),
          one('last', shell('echo last >> /work/log'), { volumeMounts }),
        ],
        containers: [one('app', shell('echo app >> /work/log; cat /work/log; sleep 2'), { volumeMounts })],
      }),
    );
    const running = await cluster.untilPod('ordered', 'runs', (pod) => isReady(pod));
    expect(condition(running, 'Initialized')).toBe('True');
    expect(container(running, 'beside')).toMatchObject({ started: true, ready: true });
    const ended = await cluster.untilPod('ordered', 'ends', phaseIs('Succeeded'));
    expect(await cluster.kubectl('logs', 'ordered', '-c', 'app')).toBe('first\nbeside\nlast\napp\n');
    expect(container(ended, 'first').state?.terminated?.reason).toBe('Completed');
    await cluster.untilPod(
      'ordered',
      'has no sidecar left',
      (pod) => container(pod, 'beside').state?.terminated?.exitCode === 0,
    );
  });

  it('is not ready before its readiness gates are', async () => {
    const gate = 'nodelet.test/gate';
    await cluster.apply(podManifest('gated', { readinessGates: [{ conditionType: gate }] }));
    const closed = await cluster.untilPod(
      'gated',
      'has ready containers',
      (pod) => condition(pod, 'ContainersReady') === 'True',
    );
    expect(closed.status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ReadinessGatesNotReady',
      message: `corresponding condition of pod readiness gate "${gate}" does not exist.`,
    });
    const open = { status: { conditions: [{ type: gate, status: 'True' }] } };
    await cluster.kubectl(
      'patch',
      'pod',
      'gated',
      '--subresource=status',
      '--type=strategic',
      '-p',
      JSON.stringify(open),
    );
    const ready = await cluster.untilReady('gated');
    expect(condition(ready, gate)).toBe('True');
  });

  it('shows what it does in conditions with a generation and times', async () => {
    await cluster.apply(podManifest('shown'));
    const { metadata, status } = await cluster.untilReady('shown');
    expect(status?.conditions?.map(({ type, status: value }) => [type, value]).sort()).toEqual([
      ['ContainersReady', 'True'],
      ['Initialized', 'True'],
      ['PodReadyToStartContainers', 'True'],
      ['PodScheduled', 'True'],
      ['Ready', 'True'],
    ]);
    expect(status).toMatchObject({
      phase: 'Running',
      qosClass: 'BestEffort',
      hostIP: cluster.node.address,
      hostIPs: [{ ip: cluster.node.address }],
      podIPs: [{ ip: status?.podIP }],
      observedGeneration: metadata.generation,
    });
    expect(container({ metadata, status } as Pod)).toMatchObject({
      image: busybox,
      started: true,
      ready: true,
      restartCount: 0,
    });
    expect(container({ metadata, status } as Pod).containerID).toMatch(/^containerd:\/\/[0-9a-f]{64}$/);
  });

  it('ends at its own deadline', async () => {
    await cluster.apply(podManifest('brief', { activeDeadlineSeconds: 2 }));
    const { status } = await cluster.untilPod('brief', 'fails', phaseIs('Failed'));
    expect([status?.reason, status?.message]).toEqual([
      'DeadlineExceeded',
      'Pod was active on the node longer than the specified deadline',
    ]);
    await cluster.untilEvent('brief', 'DeadlineExceeded');
  });
});

describe.concurrent('deletion', () => {
  const stopsAfter = (seconds: number): string[] =>
    shell(`trap 'sleep ${seconds}; exit 4' TERM; sleep 1000000 & wait`);

  it('waits for what the pod does at its end', async () => {
    const preStop = { exec: { command: shell('echo hook > /proc/1/fd/1; sleep 3') } };
    const script = "trap 'echo term; exit 0' TERM; sleep 1000000 & wait";
    await cluster.apply(
      podManifest('graceful', {
        terminationGracePeriodSeconds: 20,
        containers: [one('app', shell(script), { lifecycle: { preStop } })],
      }),
    );
    const ready = await cluster.untilReady('graceful');
    const followed = cluster.kubectl('logs', '-f', 'graceful');
    const watching = cluster.untilDeleted(ready);
    await cluster.delete('graceful');
    const seen = await watching;
    expect(await followed).toBe('hook\nterm\n');
    expect(seen[0]?.metadata.deletionGracePeriodSeconds).toBe(20);
    const last = seen.at(-1) as Pod;
    expect(last.metadata.uid).toBe(ready.metadata.uid);
    expect(last.status?.phase).toBe('Succeeded');
    expect(container(last).state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    expect((await cluster.untilEvent('graceful', 'Killing')).message).toBe('Stopping container app');
  });

  it('kills what does not end in its time', async () => {
    await cluster.apply(podManifest('stubborn', { containers: [one('app', stopsAfter(600))] }));
    const watching = cluster.untilDeleted(await cluster.untilReady('stubborn'));
    await cluster.kubectl('delete', 'pod', 'stubborn', '--grace-period=1');
    const last = (await watching).at(-1) as Pod;
    expect(container(last).state?.terminated).toMatchObject({ exitCode: 137, reason: 'Error' });
    expect(last.status?.phase).toBe('Failed');
  });

  it('by force takes the object at once and the containers soon', async () => {
    await cluster.apply(podManifest('forced', { containers: [one('app', stopsAfter(600))] }));
    await cluster.untilReady('forced');
    await cluster.kubectl('delete', 'pod', 'forced', '--grace-period=0', '--force');
    expect(
      await cluster.plane.find(resources.pods, { namespace: 'default', name: 'forced' }),
    ).toBeUndefined();
    await eventually('nothing runs', async () => (await cluster.running('forced')).length === 0);
  });

  it('of a pod that waits for its containers is quick', async () => {
    await cluster.apply(
      podManifest('never', {
        terminationGracePeriodSeconds: 600,
        containers: [one('app', forever, { image: 'nodelet.test/none:1', imagePullPolicy: 'Never' })],
      }),
    );
    const waiting = await cluster.untilPod(
      'never',
      'waits',
      (pod) => pod.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ErrImageNeverPull',
    );
    expect(container(waiting).state?.waiting?.message).toBe(
      'Container image "nodelet.test/none:1" is not present with pull policy of Never',
    );
    await cluster.delete('never');
  });

  it('of a pod that has ended keeps its phase until it is gone', async () => {
    await cluster.apply(podManifest('ended', { restartPolicy: 'Never', containers: [one('app', ['true'])] }));
    await cluster.untilPod('ended', 'ends', phaseIs('Succeeded'));
    await cluster.delete('ended');
    await cluster.untilGone('ended');
  });
});

describe.concurrent('a pod that is put on the node', () => {
  it('is refused when its host port is taken', async () => {
    const ports = [{ containerPort: 80, hostPort: 31888 }];
    await cluster.apply(podManifest('holder', { containers: [one('app', forever, { ports })] }));
    await cluster.untilReady('holder');
    await cluster.apply(
      podManifest('taken', { nodeName: cluster.node.name, containers: [one('app', forever, { ports })] }),
    );
    const { status } = await cluster.untilPod('taken', 'is refused', phaseIs('Failed'));
    expect([status?.reason, status?.message]).toEqual([
      'NodePorts',
      "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    ]);
    expect((await cluster.untilEvent('taken', 'NodePorts')).type).toBe('Warning');
    await cluster.delete('holder', 'taken');
  });

  it('is refused when its node selector does not match', async () => {
    await cluster.apply(
      podManifest('elsewhere', { nodeName: cluster.node.name, nodeSelector: { disk: 'fast' } }),
    );
    const { status } = await cluster.untilPod('elsewhere', 'is refused', phaseIs('Failed'));
    expect([status?.reason, status?.message]).toEqual([
      'NodeAffinity',
      "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    ]);
  });

  it('is refused when it asks for more than the node has', async () => {
    const resourcesWanted = { requests: { cpu: '1000' } };
    await cluster.apply(
      podManifest('huge', {
        nodeName: cluster.node.name,
        containers: [one('app', forever, { resources: resourcesWanted })],
      }),
    );
    const { status } = await cluster.untilPod('huge', 'is refused', phaseIs('Failed'));
    expect(status?.reason).toBe('OutOfcpu');
    expect(status?.message).toMatch(
      /^Pod was rejected: Node didn't have enough resource: cpu, requested: 1000000, used: \d+, capacity: \d+$/,
    );
  });
});

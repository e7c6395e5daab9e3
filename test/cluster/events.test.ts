/** What people see when they look at a pod: events told once and counted, and containers added to look inside. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Event, Pod } from '../../src/kube/index.js';
import { busybox, type Cluster, container, eventually, podManifest, shell, startCluster } from './cluster.js';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ node: { config: { syncFrequency: '2s' } } });
});
afterAll(() => cluster?.stop());

const told = ({ type, reason, message }: Event): (string | undefined)[] => [type, reason, message];

describe.concurrent('events', () => {
  it('tell the life of a pod', async () => {
    await cluster.apply(podManifest('told'));
    const { metadata } = await cluster.untilReady('told');
    await cluster.delete('told');
    await cluster.untilEvent('told', 'Killing');
    const events = await cluster.events('told');
    expect(events.map(told)).toEqual([
      ['Normal', 'Scheduled', `Successfully assigned default/told to ${cluster.node.name}`],
      [
        'Normal',
        'Pulled',
        `Container image "${busybox}" already present on machine and can be accessed by the pod`,
      ],
      ['Normal', 'Created', 'Container created'],
      ['Normal', 'Started', 'Container started'],
      ['Normal', 'Killing', 'Stopping container app'],
    ]);
    const started = events[3];
    expect(started).toMatchObject({
      count: 1,
      source: { component: 'kubelet', host: cluster.node.name },
      reportingComponent: 'kubelet',
      reportingInstance: cluster.node.name,
      involvedObject: {
        apiVersion: 'v1',
        kind: 'Pod',
        namespace: 'default',
        uid: metadata.uid,
        fieldPath: 'spec.containers{app}',
      },
    });
    expect(started?.firstTimestamp).toBe(started?.lastTimestamp);
  });

  it('count what happens again and again', async () => {
    await cluster.apply(
      podManifest('crashes', { containers: [{ name: 'app', image: busybox, command: shell('exit 5') }] }),
    );
    const backOff = await cluster.untilEvent('crashes', 'BackOff', ({ count }) => Number(count) >= 3);
    const { metadata } = await cluster.pod('crashes');
    expect(told(backOff)).toEqual([
      'Warning',
      'BackOff',
      `Back-off restarting failed container app in pod crashes_default(${metadata.uid})`,
    ]);
    expect((await cluster.events('crashes')).filter(({ reason }) => reason === 'BackOff')).toHaveLength(1);
    const waiting = container(await cluster.pod('crashes')).state?.waiting;
    expect(waiting?.reason).toBe('CrashLoopBackOff');
    expect(waiting?.message).toMatch(
      new RegExp(`^back-off \\d+s restarting failed container=app pod=crashes_default\\(${metadata.uid}\\)$`),
    );
    const described = await cluster.kubectl('describe', 'pod', 'crashes');
    expect(described).toMatch(
      /Warning +BackOff .*\(x\d+ over [^)]*\) +kubelet +spec.containers\{app\}: Back-off restarting failed container app/,
    );
    expect(described).toMatch(/Last State: +Terminated\n +Reason: +Error\n +Exit Code: +5/);
    expect(await cluster.kubectl('get', 'pod', 'crashes', '--no-headers')).toMatch(
      /0\/1 +(CrashLoopBackOff|Error)/,
    );
    await cluster.delete('crashes');
  });

  it('tell why a probe ended a container', async () => {
    const livenessProbe = {
      exec: { command: shell('echo bad; exit 1') },
      periodSeconds: 1,
      failureThreshold: 1,
    };
    await cluster.apply(
      podManifest('sick', {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'app', image: busybox, command: shell('sleep 1000'), livenessProbe }],
      }),
    );
    expect((await cluster.untilEvent('sick', 'Unhealthy')).message).toBe('Liveness probe failed: bad\n');
    expect((await cluster.untilEvent('sick', 'Killing')).message).toBe(
      'Container app failed liveness probe, will be restarted',
    );
    await cluster.untilPod('sick', 'is started again', (pod) => container(pod).restartCount > 0);
    await cluster.delete('sick');
  });
});

describe.concurrent('kubectl debug', () => {
  const ephemeral = (pod: Pod): object | undefined =>
    pod.status?.ephemeralContainerStatuses?.find(({ name }) => name === 'look')?.state?.terminated;

  it('adds a container that shares the processes of another', async () => {
    await cluster.apply(podManifest('looked-at'));
    const before = await cluster.untilReady('looked-at');
    await cluster.kubectl(
      'debug',
      'looked-at',
      `--image=${busybox}`,
      '--target=app',
      '-c',
      'look',
      '--profile=general',
      '--',
      'sh',
      '-c',
      'ps; exit 6',
    );
    const after = await cluster.untilPod(
      'looked-at',
      'has been looked at',
      (pod) => ephemeral(pod) !== undefined,
    );
    expect(ephemeral(after)).toMatchObject({ exitCode: 6, reason: 'Error' });
    expect(await cluster.kubectl('logs', 'looked-at', '-c', 'look')).toContain('sleep 1000000');
    expect(container(after)).toMatchObject({
      containerID: container(before).containerID,
      restartCount: 0,
      ready: true,
    });
    expect(
      (await cluster.events('looked-at')).some(
        ({ involvedObject }) => involvedObject.fieldPath === 'spec.ephemeralContainers{look}',
      ),
    ).toBe(true);
    await cluster.delete('looked-at');
  });

  it('talks to the container it adds', async () => {
    await cluster.apply(podManifest('talked-to'));
    await cluster.untilReady('talked-to');
    const args = [
      'debug',
      'talked-to',
      '-i',
      `--image=${busybox}`,
      '-c',
      'talk',
      '--',
      'sh',
      '-c',
      'read word; echo "heard $word"',
    ];
    await cluster.plane.kubectl(args, 'hello\n');
    await eventually('it has ended', async () => {
      return container(await cluster.pod('talked-to'), 'talk').state?.terminated?.exitCode === 0;
    });
    expect(await cluster.kubectl('logs', 'talked-to', '-c', 'talk')).toBe('heard hello\n');
    await cluster.delete('talked-to');
  });
});

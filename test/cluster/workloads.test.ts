/** Workloads as their controllers drive them: each of them ends in pods that come, change and go on this node. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Pod } from '../../src/kube/index.js';
import {
  busybox,
  type Cluster,
  container,
  eventually,
  forever,
  isReady,
  shell,
  startCluster,
  waitingReason,
} from './cluster.js';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

interface Workload {
  readonly status?: Record<string, number>;
}

interface JobObject {
  readonly status?: {
    readonly succeeded?: number;
    readonly failed?: number;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
    }[];
  };
}

function template(app: string, spec: object): object {
  return { metadata: { labels: { app } }, spec: { terminationGracePeriodSeconds: 2, ...spec } };
}

const names = (pods: readonly Pod[]): string[] => pods.map(({ metadata }) => metadata.name).sort();

describe('a Deployment', () => {
  const rolledOut = (timeout = '60s'): Promise<string> =>
    cluster.kubectl('rollout', 'status', 'deployment/web', `--timeout=${timeout}`);
  const running = async (): Promise<Pod[]> =>
    (await cluster.pods('app=web')).filter(({ metadata }) => metadata.deletionTimestamp === undefined);

  beforeAll(async () => {
    const app = {
      name: 'app',
      image: busybox,
      env: [{ name: 'VERSION', value: '1' }],
      command: shell(
        '[ "$VERSION" = bad ] && exit 7; touch /tmp/up; trap "exit 0" TERM; sleep 1000000 & wait',
      ),
      readinessProbe: { exec: { command: ['test', '-e', '/tmp/up'] }, periodSeconds: 1 },
    };
    await cluster.apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'default' },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'web' } },
        strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        template: template('web', { containers: [app] }),
      },
    });
  });

  it('becomes ready', async () => {
    expect(await rolledOut()).toContain('deployment "web" successfully rolled out');
    const { status } = await cluster.get<Workload>('deployment', 'web');
    expect(status).toMatchObject({ replicas: 2, readyReplicas: 2, availableReplicas: 2 });
  });

  it.each([3, 1, 2])('is scaled to %d', async (replicas) => {
    await cluster.kubectl('scale', 'deployment/web', `--replicas=${replicas}`);
    await rolledOut();
    await eventually(`${replicas} pods`, async () => {
      const pods = await cluster.pods('app=web');
      return pods.length === replicas && pods.every(isReady);
    });
  });

  it('is rolled out to a new template', async () => {
    const before = names(await running());
    await cluster.kubectl('set', 'env', 'deployment/web', 'VERSION=2');
    await rolledOut();
    const after = await running();
    expect(after).toHaveLength(2);
    expect(names(after).filter((name) => before.includes(name))).toEqual([]);
    expect(await cluster.exec(names(after)[0] ?? '', 'sh', '-c', 'echo $VERSION')).toBe('2\n');
    await Promise.all(before.map((name) => cluster.untilGone(name)));
  });

  it('keeps its pods when a new version crashes, and is rolled back', async () => {
    const before = names(await running());
    await cluster.kubectl('set', 'env', 'deployment/web', 'VERSION=bad');
    let crashed: Pod | undefined;
    await eventually('the new version crashes', async () => {
      crashed = (await running()).find((pod) => waitingReason(pod) === 'CrashLoopBackOff');
      return crashed !== undefined;
    });
    expect(container(crashed as Pod).lastState?.terminated).toMatchObject({ exitCode: 7, reason: 'Error' });
    expect(await cluster.kubectlFails('rollout', 'status', 'deployment/web', '--timeout=1s')).toContain(
      'timed out waiting for the condition',
    );
    expect(names((await running()).filter(isReady))).toEqual(before);

    await cluster.kubectl('rollout', 'undo', 'deployment/web');
    await rolledOut();
    await cluster.untilGone(crashed?.metadata.name ?? '');
    expect(names(await running())).toEqual(before);
  });

  it('takes its pods along when it is deleted', async () => {
    await cluster.kubectl('delete', 'deployment', 'web', '--cascade=foreground');
    expect(await cluster.pods('app=web')).toEqual([]);
  });
});

describe.concurrent('a Job', () => {
  async function apply(name: string, spec: object, podSpec: object): Promise<void> {
    await cluster.apply({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name, namespace: 'default' },
      spec: { ...spec, template: template(name, { restartPolicy: 'Never', ...podSpec }) },
    });
  }
  const app = (command: readonly string[]): object => ({
    containers: [{ name: 'app', image: busybox, command }],
  });
  const failedReason = async (name: string): Promise<string | undefined> =>
    (await cluster.get<JobObject>('job', name)).status?.conditions?.find(({ type }) => type === 'Failed')
      ?.reason;

  it('completes, so many at a time', async () => {
    await apply('four', { completions: 4, parallelism: 2 }, app(shell('sleep 0.2; echo $HOSTNAME')));
    await cluster.kubectl('wait', '--for=condition=complete', 'job/four', '--timeout=60s');
    expect((await cluster.get<JobObject>('job', 'four')).status).toMatchObject({ succeeded: 4 });
    const pods = await cluster.pods('app=four');
    expect(pods.map(({ status }) => status?.phase)).toEqual(Array(4).fill('Succeeded'));
    const terminated = pods.map((pod) => container(pod).state?.terminated);
    expect(terminated.map((state) => [state?.exitCode, state?.reason])).toEqual(
      Array(4).fill([0, 'Completed']),
    );
    expect(await cluster.kubectl('logs', pods[0]?.metadata.name ?? '')).toBe(`${pods[0]?.metadata.name}\n`);
  });

  it('fails when its pods failed too often', async () => {
    await apply('fails', { backoffLimit: 1 }, app(shell('echo broken > /dev/termination-log; exit 3')));
    await cluster.kubectl('wait', '--for=condition=failed', 'job/fails', '--timeout=60s');
    expect(await failedReason('fails')).toBe('BackoffLimitExceeded');
    const pods = await cluster.pods('app=fails');
    expect(pods.map(({ status }) => status?.phase)).toEqual(['Failed', 'Failed']);
    expect(container(pods[0] as Pod).state?.terminated).toMatchObject({ exitCode: 3, message: 'broken\n' });
  });

  it('restarts containers in place on failure', async () => {
    const again = shell('[ -e /work/once ] && exit 0; touch /work/once; exit 1');
    await apply(
      'again',
      { backoffLimit: 3 },
      {
        restartPolicy: 'OnFailure',
        volumes: [{ name: 'work', emptyDir: {} }],
        containers: [
          {
            name: 'app',
            image: busybox,
            command: again,
            volumeMounts: [{ name: 'work', mountPath: '/work' }],
          },
        ],
      },
    );
    await cluster.kubectl('wait', '--for=condition=complete', 'job/again', '--timeout=60s');
    const pods = await cluster.pods('app=again');
    expect(pods.map((pod) => [pod.status?.phase, container(pod).restartCount])).toEqual([['Succeeded', 1]]);
  });

  it('ends its pods at its deadline', async () => {
    await apply('late', { activeDeadlineSeconds: 2 }, app(forever));
    await cluster.kubectl('wait', '--for=condition=failed', 'job/late', '--timeout=60s');
    expect(await failedReason('late')).toBe('DeadlineExceeded');
    await eventually('the pods are gone', async () => (await cluster.pods('app=late')).length === 0);
  });

  it('goes away with its pods after its time to live', async () => {
    await apply('brief', { ttlSecondsAfterFinished: 0 }, app(['true']));
    await cluster.kubectl('wait', '--for=delete', 'job/brief', '--timeout=60s');
    await eventually('the pods are gone', async () => (await cluster.pods('app=brief')).length === 0);
  });
});

describe('a DaemonSet', () => {
  it('runs on the node, also after a restart of its rollout', async () => {
    await cluster.apply({
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'agent', namespace: 'default' },
      spec: {
        selector: { matchLabels: { app: 'agent' } },
        template: template('agent', {
          hostNetwork: true,
          containers: [{ name: 'app', image: busybox, command: forever, ports: [{ containerPort: 31999 }] }],
        }),
      },
    });
    await cluster.kubectl('rollout', 'status', 'daemonset/agent', '--timeout=60s');
    const [first] = await cluster.pods('app=agent');
    expect(first?.status).toMatchObject({ hostIP: cluster.node.address, podIP: cluster.node.address });
    await cluster.kubectl('rollout', 'restart', 'daemonset/agent');
    await cluster.kubectl('rollout', 'status', 'daemonset/agent', '--timeout=60s');
    const { status } = await cluster.get<Workload>('daemonset', 'agent');
    expect(status).toMatchObject({ desiredNumberScheduled: 1, numberReady: 1, updatedNumberScheduled: 1 });
    await cluster.untilGone(first?.metadata.name ?? '');
    await cluster.kubectl('delete', 'daemonset', 'agent');
  });
});

describe('a StatefulSet', () => {
  const ready = (): Promise<string> =>
    cluster.kubectl('rollout', 'status', 'statefulset/db', '--timeout=60s');

  it('starts its pods in order under stable names', async () => {
    await cluster.apply(
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'db', namespace: 'default' },
        spec: { clusterIP: 'None', selector: { app: 'db' }, ports: [{ port: 80 }] },
      },
      {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { name: 'db', namespace: 'default' },
        spec: {
          serviceName: 'db',
          replicas: 2,
          selector: { matchLabels: { app: 'db' } },
          template: template('db', { containers: [{ name: 'app', image: busybox, command: forever }] }),
        },
      },
    );
    await ready();
    const [first, second] = [await cluster.pod('db-0'), await cluster.pod('db-1')];
    const readySince =
      first.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '';
    expect(String(second.metadata.creationTimestamp) >= readySince).toBe(true);
    expect(await cluster.exec('db-1', 'hostname')).toBe('db-1\n');
    expect(await cluster.exec('db-1', 'cat', '/etc/hosts')).toContain(
      `${second.status?.podIP}\tdb-1.db.default.svc.cluster.local\tdb-1`,
    );
  });

  it('makes a deleted pod anew under its name, and removes the last one first', async () => {
    const before = await cluster.pod('db-0');
    await cluster.delete('db-0');
    const after = await cluster.untilPod(
      'db-0',
      'is made anew',
      (pod) => isReady(pod) && pod.metadata.uid !== before.metadata.uid,
    );
    expect(container(after).restartCount).toBe(0);
    await cluster.kubectl('scale', 'statefulset/db', '--replicas=1');
    await cluster.untilGone('db-1');
    expect(names(await cluster.pods('app=db'))).toEqual(['db-0']);
    await cluster.kubectl('delete', 'statefulset', 'db', '--cascade=foreground');
  });
});

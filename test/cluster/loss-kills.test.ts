/** nodelet dies without warning in each phase of a rollout: the next one takes over what runs, and the rollout completes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContainerState, PodSandboxState } from '../../src/cri/index.js';
import type { Pod } from '../../src/kube/index.js';
import { resources, type WatchEvent } from '../../src/kube-client/index.js';
import { pollUntil } from '../env/index.js';
import { busybox, type Cluster, container, isReady, shell } from './cluster.js';
import { type LossyCluster, startLossyCluster } from './loss.js';

let lossy: LossyCluster;
let cluster: Cluster;

const replicas = 2;
const running = { state: ContainerState.CONTAINER_RUNNING };
const ready = { state: PodSandboxState.SANDBOX_READY };
/** Takes a moment to become ready and a moment to end, so that there is a time for each phase. */
const command = shell("trap 'sleep 0.5; exit 0' TERM; touch /tmp/up; sleep 1000000 & wait");

function deployment(version: string): object {
  const labels = { app: 'web' };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      strategy: { rollingUpdate: { maxUnavailable: 1, maxSurge: 1 } },
      template: {
        metadata: { labels: { ...labels, version } },
        spec: {
          terminationGracePeriodSeconds: 20,
          containers: [
            {
              name: 'app',
              image: busybox,
              command,
              readinessProbe: { exec: { command: ['test', '-e', '/tmp/up'] }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  };
}

beforeAll(async () => {
  lossy = await startLossyCluster();
  cluster = lossy.cluster;
  await cluster.apply(deployment('v0'));
  await rolledOut('v0');
});
afterAll(() => lossy?.stop());

async function podsOf(version: string): Promise<Pod[]> {
  return cluster.pods(`app=web,version=${version}`);
}

/** The pods of a version, once they are all there is. */
async function rolledOut(version: string): Promise<Pod[]> {
  let all: Pod[] = [];
  await pollUntil(
    `${version} is rolled out`,
    async () => {
      all = await cluster.pods('app=web');
      const isDone = all.every((pod) => pod.metadata.labels?.version === version && isReady(pod));
      return isDone && all.length === replicas ? true : undefined;
    },
    {
      timeoutMs: 90_000,
      intervalMs: 200,
      detail: () =>
        [
          JSON.stringify(all.map(({ metadata, status }) => ({ metadata, status }))),
          cluster.node.log.slice(-6000),
        ].join('\n'),
    },
  );
  return all;
}

/** Returns when the API has told of a change that is as wanted. */
async function untilTold(wanted: (event: WatchEvent<Pod>) => boolean): Promise<void> {
  const abort = AbortSignal.timeout(60_000);
  const watch = cluster.api.watch(resources.pods, {
    namespace: 'default',
    labelSelector: 'app=web',
    signal: abort,
  });
  for await (const event of watch) if (wanted(event)) return;
  throw new Error('the watch ended before the moment came');
}

const podOf = (event: WatchEvent<Pod>): Pod | undefined =>
  event.type === 'MODIFIED' || event.type === 'ADDED' ? event.object : undefined;
const versionOf = (pod: Pod | undefined): string | undefined => pod?.metadata.labels?.version;
const hasCondition = (pod: Pod | undefined, type: string): boolean =>
  pod?.status?.conditions?.some((found) => found.type === type && found.status === 'True') ?? false;

/** What the runtime has of the version, asked until it is as wanted: the API is told of it later. */
async function untilSeen(
  version: string,
  wanted: (sandboxes: number, containers: number) => boolean,
): Promise<void> {
  await pollUntil(
    `the runtime has something of ${version}`,
    async () => {
      const names = new Set((await podsOf(version)).map(({ metadata }) => metadata.name));
      const isOurs = ({ labels }: { labels: Record<string, string> }): boolean =>
        names.has(labels['io.kubernetes.pod.name'] ?? '');
      const [{ items }, { containers }] = await Promise.all([
        lossy.cri.listPodSandbox({}),
        lossy.cri.listContainers({}),
      ]);
      return wanted(items.filter(isOurs).length, containers.filter(isOurs).length) ? true : undefined;
    },
    { timeoutMs: 60_000, intervalMs: 5 },
  );
}

interface Moment {
  readonly name: string;
  /** Resolves at the moment of the death. */
  readonly comes: (next: string, last: string) => Promise<void>;
}

const moments: readonly Moment[] = [
  {
    name: 'a pod has been bound',
    comes: (next) =>
      untilTold((event) => versionOf(podOf(event)) === next && podOf(event)?.spec.nodeName !== undefined),
  },
  { name: 'a sandbox is there', comes: (next) => untilSeen(next, (sandboxes) => sandboxes > 0) },
  { name: 'a container is there', comes: (next) => untilSeen(next, (_, containers) => containers > 0) },
  {
    name: 'a container has been told to have started',
    comes: (next) =>
      untilTold((event) => {
        const pod = podOf(event);
        return versionOf(pod) === next && pod?.status?.containerStatuses?.[0]?.state?.running !== undefined;
      }),
  },
  {
    name: 'a new pod is ready',
    comes: (next) =>
      untilTold((event) => versionOf(podOf(event)) === next && hasCondition(podOf(event), 'Ready')),
  },
  {
    name: 'an old pod is to end',
    comes: (_, last) =>
      untilTold((event) => {
        const pod = podOf(event);
        return versionOf(pod) === last && pod?.metadata.deletionTimestamp !== undefined;
      }),
  },
  {
    name: 'an old pod has ended and is not deleted yet',
    comes: (_, last) =>
      untilTold((event) => {
        const pod = podOf(event);
        return (
          versionOf(pod) === last && pod?.status?.containerStatuses?.[0]?.state?.terminated !== undefined
        );
      }),
  },
  {
    name: 'an old pod is gone',
    comes: (_, last) => untilTold((event) => event.type === 'DELETED' && versionOf(event.object) === last),
  },
];

describe('nodelet dies in a rollout', () => {
  it.each(moments.map((moment, index) => ({ ...moment, index })))('when $name', async ({ comes, index }) => {
    const [last, next] = [`v${index}`, `v${index + 1}`];
    const moment = comes(next, last);
    await Promise.all([moment.then(() => cluster.node.kill9()), cluster.apply(deployment(next))]);
    // What was asked of the runtime may still come to be.
    await sleep(500);
    const { containers: before } = await lossy.cri.listContainers({});
    await cluster.node.start();
    const pods = await rolledOut(next);
    for (const pod of pods) {
      const seen = before.filter(({ labels }) => labels['io.kubernetes.pod.uid'] === pod.metadata.uid);
      // One whose start was under way counts as an attempt.
      const isStillborn = seen.some(({ state }) => state !== ContainerState.CONTAINER_RUNNING);
      expect(
        container(pod).restartCount,
        `${pod.metadata.name} at the death: ${seen.map(({ id, state }) => `${id} ${state}`)}`,
      ).toBeLessThanOrEqual(isStillborn ? 1 : 0);
      const now = await lossy.running(pod.metadata.name);
      expect(now.map(({ id }) => `containerd://${id}`)).toEqual([container(pod).containerID]);
      // What ran when nodelet died is what runs now.
      const ran = seen.find(({ state }) => state === ContainerState.CONTAINER_RUNNING);
      if (ran !== undefined) expect(now[0]?.id).toBe(ran.id);
    }
    // Nothing of any other pod runs, and no pod twice.
    await pollUntil(
      'only the new pods run',
      async () => {
        const { containers } = await lossy.cri.listContainers({ filter: { state: running } });
        const { items } = await lossy.cri.listPodSandbox({ filter: { state: ready } });
        return containers.length === replicas && items.length === replicas ? true : undefined;
      },
      { timeoutMs: 30_000, intervalMs: 100 },
    );
  });
});

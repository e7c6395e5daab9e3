/** A cluster whose node reaches the API server over a line that the test can cut, and what must outlive every loss. */
import { expect } from 'vitest';
import { type Container, ContainerState, type CriClient, connectCri } from '../../src/cri/index.js';
import type { Pod, PodManifest } from '../../src/kube/index.js';
import { resources } from '../../src/kube-client/index.js';
import { certificateUser } from '../env/control-plane-pki.js';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  type CuttableLine,
  machineAddress,
  openLine,
  pollUntil,
  startClusterNode,
  startControlPlane,
} from '../env/index.js';
import { CleanupStack } from '../env/tempdir.js';
import { busybox, Cluster, container, podManifest, shell } from './cluster.js';

export interface LossOptions {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly plane?: Omit<ControlPlaneOptions, 'cleanups'>;
  /** Makes the kubeconfig of the node. Default: a client certificate within. */
  readonly kubeconfig?: (plane: ControlPlane, server: string) => string;
}

/** Without a scheduler or a controller that takes pods from a node that is away: what happens to pods is the node's doing. */
const patient = ['--node-monitor-grace-period=300s'];

export async function startLossyCluster(options: LossOptions = {}): Promise<LossyCluster> {
  const cleanups = new CleanupStack();
  try {
    const plane = await startControlPlane({
      controllers: true,
      controllerArgs: patient,
      scheduler: true,
      ...options.plane,
      cleanups,
    });
    const line = await openLine({
      cleanups,
      host: machineAddress(),
      serverPort: Number(new URL(plane.url).port),
    });
    const server = `https://${machineAddress()}:${line.port}`;
    const kubeconfig = (options.kubeconfig ?? nodeKubeconfig)(plane, server);
    const config = { crashLoopBackOff: { maxContainerRestartPeriod: '1s' }, ...options.config };
    const node = await startClusterNode({ plane, cleanups, kubeconfig, config });
    await node.ready();
    return new LossyCluster(new Cluster(plane, node, cleanups), line);
  } catch (error) {
    await cleanups.run();
    throw error;
  }
}

function nodeKubeconfig(plane: ControlPlane, server: string): string {
  const subject = { commonName: 'system:node:node1', organizations: ['system:nodes'] };
  return plane.pki.kubeconfig('lossy-node', server, certificateUser(plane.pki.issue({ subject })));
}

/** What must stay the same while a pod goes on. */
export type Life = readonly string[];

export class LossyCluster {
  readonly cri: CriClient;

  constructor(
    readonly cluster: Cluster,
    readonly line: CuttableLine,
  ) {
    this.cri = connectCri({ endpoint: cluster.node.containerd.endpoint, requestTimeoutMs: 60_000 });
  }

  async stop(): Promise<void> {
    await this.cri.close();
    await this.cluster.stop();
  }

  /** Bound to the node by the test. */
  async create(...pods: readonly PodManifest[]): Promise<void> {
    for (const pod of pods) {
      const spec = { ...pod.spec, nodeName: this.cluster.node.name };
      await this.cluster.api.create(resources.pods, { ...pod, spec });
    }
  }

  async delete(name: string, gracePeriodSeconds?: number): Promise<void> {
    const grace = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    await this.cluster.api.delete(resources.pods, { namespace: 'default', name }, grace);
  }

  /** Every container of the pod that the runtime has, the dead ones too. */
  async containers(pod: string): Promise<Container[]> {
    const { containers } = await this.cri.listContainers({});
    return containers.filter(({ labels }) => labels['io.kubernetes.pod.name'] === pod);
  }

  async running(pod: string): Promise<Container[]> {
    return (await this.containers(pod)).filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
  }

  async untilStopped(pod: string, timeoutMs = 30_000): Promise<void> {
    await pollUntil(
      `nothing of ${pod} runs`,
      async () => ((await this.running(pod)).length === 0 ? true : undefined),
      { timeoutMs, intervalMs: 100, detail: () => this.logOf(pod) },
    );
  }

  async untilRunning(pod: string, attempt = 0): Promise<void> {
    const isWanted = ({ metadata }: Container): boolean => metadata?.attempt === attempt;
    await pollUntil(
      `${pod} runs`,
      async () => ((await this.running(pod)).some(isWanted) ? true : undefined),
      { timeoutMs: 30_000, intervalMs: 100, detail: () => this.logOf(pod) },
    );
  }

  /** Each sandbox and container of the pods with its attempt: one more, one less or another one is a difference. */
  async lives(...pods: readonly string[]): Promise<Life> {
    const { items } = await this.cri.listPodSandbox({});
    const { containers } = await this.cri.listContainers({});
    const all = [
      ...items.map(({ id, state, labels, metadata }) => ({ id, state, labels, metadata, what: 'sandbox' })),
      ...containers.map(({ id, state, labels, metadata }) => ({
        id,
        state,
        labels,
        metadata,
        what: metadata?.name,
      })),
    ];
    return all
      .filter(({ labels }) => pods.includes(labels['io.kubernetes.pod.name'] ?? ''))
      .map(({ id, state, labels, metadata, what }) =>
        [labels['io.kubernetes.pod.name'], what, `attempt ${metadata?.attempt}`, `state ${state}`, id].join(
          ' ',
        ),
      )
      .sort();
  }

  /** Holds that nothing of the pods was touched, and that the API knows it. */
  async expectUntouched(before: Life, ...pods: readonly string[]): Promise<void> {
    expect(await this.lives(...pods)).toEqual(before);
    for (const name of pods) {
      const pod = await this.cluster.untilReady(name);
      for (const { containerID = '', restartCount } of pod.status?.containerStatuses ?? []) {
        expect(restartCount, `${name} was not restarted`).toBe(0);
        expect(before.some((line) => line.endsWith(containerID.replace('containerd://', '')))).toBe(true);
      }
    }
  }

  /** Holds that the pod is ready and was started exactly once. */
  async expectStartedOnce(name: string, timeoutMs?: number): Promise<void> {
    const pod = await this.cluster.untilPod(name, 'is ready', isReadyPod, timeoutMs);
    const lives = await this.lives(name);
    expect(
      lives.filter((line) => line.includes(' sandbox ')),
      `one sandbox of ${name}`,
    ).toHaveLength(1);
    expect(lives, lives.join('\n')).toHaveLength(1 + (pod.spec.containers.length ?? 0));
    for (const { name: inner } of pod.spec.containers) expect(container(pod, inner).restartCount).toBe(0);
  }

  logOf(pod: string): string {
    return this.cluster.node.log
      .split('\n')
      .filter((line) => line.includes(pod))
      .slice(-30)
      .join('\n');
  }
}

function isReadyPod({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}

/** Ends when a file comes, with this code. */
export function endsWhenTold(name: string, exitCode: number, dir: string): PodManifest {
  return podManifest(name, {
    restartPolicy: 'Never',
    volumes: [{ name: 'told', hostPath: { path: dir } }],
    containers: [
      {
        name: 'app',
        image: busybox,
        command: shell(`until [ -e /told/${name} ]; do sleep 0.1; done; exit ${exitCode}`),
        volumeMounts: [{ name: 'told', mountPath: '/told' }],
      },
    ],
  });
}

/** Runs, and when a file comes crashes three times, with 1, 2 and 3, and runs on. */
export function crashesWhenTold(name: string, dir: string): PodManifest {
  const script = [
    `until [ -e /told/${name} ]; do sleep 0.1; done`,
    'n=$(cat /told/count 2>/dev/null || echo 0)',
    'n=$((n + 1))',
    'echo $n > /told/count',
    '[ $n -le 3 ] && exit $n',
    "trap 'exit 0' TERM; sleep 1000000 & wait",
  ].join('\n');
  return podManifest(name, {
    volumes: [{ name: 'told', hostPath: { path: dir } }],
    containers: [
      {
        name: 'app',
        image: busybox,
        command: shell(script),
        volumeMounts: [{ name: 'told', mountPath: '/told' }],
      },
    ],
  });
}

/** Runs a kubelet inside the test on the test's own containerd, with pods and secrets as an API would give them. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../../src/async/index.js';
import {
  applyPodDefaults,
  ObjectNotFound,
  type Pod,
  type PodSpec,
  type PodStatus,
  type Secret,
} from '../../src/kube/index.js';
import { createKubelet, type Kubelet, type KubeletOptions } from '../../src/kubelet/index.js';
import {
  CgroupfsControl,
  CgroupNames,
  linuxCgroups,
  PodCgroupManager,
} from '../../src/resources/cgroups/index.js';
import { Timeline } from '../../src/timeline/index.js';
import { eventually, isReady, manifest, type TestNode } from './agent.js';

export interface Embedded {
  readonly kubelet: Kubelet;
  /** Sets all pods of the API. */
  set(...pods: Pod[]): void;
  status(name: string): PodStatus;
  untilReady(name: string): Promise<void>;
}

/** The kubelet ends with what is done with it, and its pods with it. */
export async function withKubelet(
  node: TestNode,
  secrets: readonly Secret[],
  use: (embedded: Embedded) => Promise<void>,
  more: Partial<Pick<KubeletOptions, 'cgroups' | 'config' | 'rootDir' | 'eviction' | 'node'>> = {},
): Promise<void> {
  let wanted: readonly Pod[] = [];
  let deliver = (): void => {};
  const kubelet = await createKubelet({
    rootDir: path.join(node.dir, 'embedded'),
    ...more,
    nodeName: 'node1',
    runtime: node.cri,
    config: {
      podLogsDir: path.join(node.dir, 'embedded-logs'),
      staticPodPath: '',
      failCgroupV1: false,
      ...more.config,
    },
    objects: {
      registerPod: () => {},
      unregisterPod: () => {},
      configMap: async (_, name) => {
        throw new ObjectNotFound('configmap', name);
      },
      secret: async (_, name) => {
        const found = secrets.find(({ metadata }) => metadata.name === name);
        if (found === undefined) throw new ObjectNotFound('secret', name);
        return found;
      },
    },
    sources: [
      {
        name: 'api',
        create: (context) => ({
          run: (signal) =>
            new Promise<void>((resolve) => {
              deliver = () => void context.deliver({ source: 'api', pods: wanted }, signal);
              deliver();
              signal.addEventListener('abort', () => resolve(), { once: true });
            }),
        }),
      },
    ],
  });
  const status = (name: string): PodStatus => kubelet.status(`uid-${name}`) ?? {};
  const embedded: Embedded = {
    kubelet,
    set(...pods) {
      wanted = pods;
      deliver();
    },
    status,
    untilReady: (name) =>
      eventually(`${name} is ready`, async () => isReady(status(name))).catch((cause: unknown) => {
        const entries = kubelet.timeline.ofPod(`uid-${name}`);
        throw new Error(entries.map(({ what, message, error }) => `${what} ${message} ${error}`).join('\n'), {
          cause,
        });
      }),
  };
  const failed = kubelet.start();
  try {
    await use(embedded);
    embedded.set();
    await eventually('all is stopped', async () => (await kubelet.runningPods()).length === 0);
  } finally {
    await kubelet.stop();
    await Promise.race([failed, Promise.resolve()]);
  }
}

/** Cgroups of pods as the agent makes them, below the one that the tests remove at the end. */
export async function ownPodCgroups(node: TestNode): Promise<{
  readonly cgroups: PodCgroupManager;
  readonly control: CgroupfsControl;
  readonly names: CgroupNames;
}> {
  const names = new CgroupNames(node.containerd.cgroupParent);
  const version = existsSync('/sys/fs/cgroup/cgroup.controllers') ? 2 : 1;
  const control = new CgroupfsControl(linuxCgroups({ version, hugePageSizes: [] }));
  const cgroups = new PodCgroupManager({
    clock: systemClock,
    timeline: new Timeline({ clock: systemClock }),
    control,
    names,
    settings: { cpuCfsQuota: true, cpuCfsQuotaPeriodMs: 100, podPidsLimit: -1 },
    kill: (pid) => void process.kill(pid, 'SIGKILL'),
  });
  await control.create(names.pods, { hugePages: 'unlimited' });
  await cgroups.tiers.start();
  return { cgroups, control, names };
}

/** A pod as the API has it; its UID follows from its name. */
export function apiPod(name: string, spec: Partial<PodSpec>): Pod {
  const pod = applyPodDefaults(manifest(name, { spec }));
  return { ...pod, metadata: { name, namespace: 'default', uid: `uid-${name}` } };
}

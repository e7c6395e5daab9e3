/** The pods that benches run: as manifests for an agent and as bare CRI calls, and their removal from a runtime. */
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Gate } from '../src/async/index.js';
import { ContainerState, type ContainerStatus, type CriRuntime } from '../src/cri/index.js';
import { pollUntil, testImages } from '../test/env/index.js';

/** A container that does nothing until it is killed. */
const idleCommand = ['sleep', '100000'];
const removalsAtOnce = 8;

export interface PodManifest {
  readonly apiVersion: 'v1';
  readonly kind: 'Pod';
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: {
    readonly restartPolicy: 'Always' | 'Never';
    readonly terminationGracePeriodSeconds: number;
    readonly containers: readonly {
      readonly name: string;
      readonly image: string;
      readonly command: readonly string[];
    }[];
  };
}

/** One idle container on the pod network. */
export function idlePod(name: string, restartPolicy: 'Always' | 'Never' = 'Always'): PodManifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'bench' },
    spec: {
      restartPolicy,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: testImages.busybox, command: idleCommand }],
    },
  };
}

/** As many of them, named by their number. */
export function idlePods(count: number, restartPolicy: 'Always' | 'Never' = 'Always'): PodManifest[] {
  return Array.from({ length: count }, (_, index) => idlePod(`p-${index}`, restartPolicy));
}

/** Writes manifests beside the directory and moves them in one after another; returns the moment of the first move. */
export function showManifests(manifestsDir: string, pods: readonly PodManifest[]): number {
  return showFiles(
    manifestsDir,
    pods.map((pod) => ({ file: `${pod.metadata.name}.json`, content: pod })),
  );
}

export function showFiles(
  manifestsDir: string,
  files: readonly { readonly file: string; readonly content: object }[],
): number {
  const prepared = `${manifestsDir}.prepared`;
  for (const dir of [manifestsDir, prepared]) mkdirSync(dir, { recursive: true });
  for (const { file, content } of files) writeFileSync(join(prepared, file), JSON.stringify(content));
  const startMs = Date.now();
  for (const { file } of files) renameSync(join(prepared, file), join(manifestsDir, file));
  return startMs;
}

export function clearManifests(manifestsDir: string): void {
  for (const name of readdirSync(manifestsDir)) rmSync(join(manifestsDir, name));
}

/** Looking is work for the runtime, too, so it is asked seldom; when a container was started, it tells itself. */
export async function untilRunning(cri: CriRuntime, count: number, detail: () => string): Promise<void> {
  const filter = { state: { state: ContainerState.CONTAINER_RUNNING } };
  await pollUntil(
    `${count} containers run`,
    async () => ((await cri.listContainers({ filter })).containers.length >= count ? true : undefined),
    { timeoutMs: 60_000, intervalMs: 1_000, detail },
  );
}

export async function containerStatuses(cri: CriRuntime): Promise<ContainerStatus[]> {
  const { containers } = await cri.listContainers({});
  const gate = new Gate(removalsAtOnce);
  const answers = await Promise.all(
    containers.map(({ id }) => gate.run(() => cri.containerStatus({ containerId: id }))),
  );
  return answers.flatMap(({ status }) => (status === undefined ? [] : [status]));
}

/** Removes every pod that the runtime has. */
export async function removeAllPods(cri: CriRuntime): Promise<void> {
  const { items } = await cri.listPodSandbox({});
  const gate = new Gate(removalsAtOnce);
  await Promise.all(
    items.map(({ id }) =>
      gate.run(async () => {
        await cri.stopPodSandbox({ podSandboxId: id });
        await cri.removePodSandbox({ podSandboxId: id });
      }),
    ),
  );
}

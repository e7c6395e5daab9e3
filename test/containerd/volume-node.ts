/** A node of the tests with a directory of objects, and looks into its containers and its mounts. */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Container, PodManifest, PodSpec } from '../../src/kube/index.js';
import { mountsBelow } from '../env/mounts.js';
import { busybox, eventually, forever, manifest, type NodeOptions, TestNode } from './agent.js';

export interface VolumeNode {
  readonly node: TestNode;
  /** Starts the agent. */
  start(): Promise<void>;
  /** Puts an object in place in one step. */
  putObject(file: string, object: object): Promise<void>;
  removeObject(file: string): Promise<void>;
  uidOf(name: string): Promise<string>;
  /** Runs a script in a container of the pod and gives what it prints. Fails when the script does. */
  inside(name: string, script: string, container?: string): Promise<string>;
  /** `<root>/pods/<uid>` */
  podDirectory(name: string): Promise<string>;
  /** What is mounted below the pods of the agent. */
  podMounts(): string[];
  podDirectories(): Promise<string[]>;
  /** The events of a reason about the pod, from the agent's own timeline. */
  events(name: string, reason: string): Promise<string[]>;
  /** Removes the manifest and waits until nothing of the pod is left: no container, mount or directory. */
  removeWholly(name: string): Promise<void>;
}

export async function createVolumeNode(options: NodeOptions = {}): Promise<VolumeNode> {
  const node = await TestNode.create({
    config: { fileCheckFrequency: '2s', ...options.config },
    flags: options.flags ?? [],
  });
  const objects = path.join(node.dir, 'objects');
  await mkdir(objects);
  const podMounts = (): string[] =>
    mountsBelow(path.join(node.root, 'pods')).map(({ mountPoint }) => mountPoint);
  const podDirectories = (): Promise<string[]> => readdir(path.join(node.root, 'pods')).catch(() => []);
  const uidOf = async (name: string): Promise<string> => {
    const uid = (await node.pods()).find(({ metadata }) => metadata.name === `${name}-node1`)?.metadata.uid;
    if (uid === undefined) throw new Error(`there is no pod ${name}`);
    return uid;
  };
  return {
    node,
    start: () => node.start('--object-manifest-path', objects),
    async putObject(file, object) {
      await writeFile(path.join(objects, `.${file}`), JSON.stringify(object));
      await rename(path.join(objects, `.${file}`), path.join(objects, file));
    },
    removeObject: (file) => rm(path.join(objects, file)),
    uidOf,
    async inside(name, script, container = 'app') {
      const found = (await node.containers(name)).find(
        ({ metadata, state }) => metadata?.name === container && state === 1,
      );
      if (found === undefined) throw new Error(`container ${container} of ${name} does not run`);
      const { stdout, stderr, exitCode } = await node.cri.execSync({
        containerId: found.id,
        cmd: ['sh', '-c', script],
        timeout: 20,
      });
      if (exitCode !== 0)
        throw new Error(`${script}: exit code ${exitCode}: ${new TextDecoder().decode(stderr)}`);
      return new TextDecoder().decode(stdout).trimEnd();
    },
    podDirectory: async (name) => path.join(node.root, 'pods', await uidOf(name)),
    podMounts,
    podDirectories,
    async events(name, reason) {
      const files = await readdir(path.join(node.root, 'timeline'));
      const texts = await Promise.all(
        files.map((file) => readFile(path.join(node.root, 'timeline', file), 'utf8')),
      );
      return texts
        .flatMap((text) => text.split('\n'))
        .filter((line) => line.includes(`"${name}-node1"`) && line.includes(`"reason":"${reason}"`));
    },
    async removeWholly(name) {
      const uid = await uidOf(name);
      await node.remove(`${name}.yaml`);
      await node.untilGone(name);
      await eventually(
        `nothing of ${name} is left`,
        async () =>
          !(await podDirectories()).includes(uid) && !podMounts().some((mount) => mount.includes(uid)),
        30_000,
      ).catch((error: unknown) => {
        throw new Error(`${String(error)}\n${podMounts().join('\n')}\n${node.log.slice(-4000)}`);
      });
    },
  };
}

/** A pod of one container with volumes. */
export function podWithVolumes(
  name: string,
  volumes: PodSpec['volumes'],
  container: Partial<Container>,
  spec: Partial<PodSpec> = {},
): PodManifest {
  return manifest(name, {
    spec: {
      containers: [{ name: 'app', image: busybox, command: [...forever], ...container }],
      volumes: volumes ?? [],
      ...spec,
    },
  });
}

export const configMap = (name: string, data: Record<string, string>): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
});

export const secret = (name: string, data: Record<string, string>): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'default' },
  data: Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  ),
});

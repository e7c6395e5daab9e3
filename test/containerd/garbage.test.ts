/** That pods leave nothing behind: many pods come and go on one node, of which some keep failing. */
import { mkdir, readdir, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/async/index.js';
import { ContainerState } from '../../src/cri/index.js';
import { ImageCollector } from '../../src/runtime-manager/images/index.js';
import { Timeline } from '../../src/timeline/index.js';
import { testImages } from '../env/index.js';
import { busybox, eventually, forever, isReady, manifest, shell, TestNode } from './agent.js';

/** Dead containers, sandboxes, logs and links are looked for once a minute. */
const collectionTimeoutMs = 90_000;

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.create({ config: { crashLoopBackOff: { maxContainerRestartPeriod: '1s' } } });
  await node.start();
});
afterAll(() => node.stop());

const crowd = Array.from({ length: 20 }, (_, index) => `crowd${index}`);
const kept = crowd.slice(0, 2);
const goers = crowd.slice(2);

/** How many instances each container of the crowd has, and how many of them run. */
const countInstances = async (): Promise<Map<string, { all: number; running: number }>> => {
  const { containers } = await node.cri.listContainers({});
  const counts = new Map<string, { all: number; running: number }>();
  for (const { labels, state } of containers) {
    const key = `${labels['io.kubernetes.pod.name']}/${labels['io.kubernetes.container.name']}`;
    if (!key.startsWith('crowd')) continue;
    const count = counts.get(key) ?? { all: 0, running: 0 };
    counts.set(key, {
      all: count.all + 1,
      running: count.running + (state === ContainerState.CONTAINER_RUNNING ? 1 : 0),
    });
  }
  return counts;
};

describe('twenty pods with a container that cannot start', () => {
  it('have one instance of each other container, and never another', async () => {
    const containers = [
      { name: 'good', image: busybox, command: forever },
      { name: 'bad', image: 'nodelet.test/absent:1', imagePullPolicy: 'Never' },
      { name: 'good2', image: busybox, command: forever },
    ];
    for (const name of crowd) {
      await node.apply(`${name}.yaml`, manifest(name, { spec: { containers } }));
    }
    const all = crowd.flatMap((name) => [`${name}-node1/good`, `${name}-node1/good2`]).sort();
    const isComplete = (counts: Map<string, { running: number }>): boolean =>
      counts.size === all.length && [...counts.values()].every(({ running }) => running === 1);
    await eventually('all run that can', async () => isComplete(await countInstances()));
    const until = performance.now() + 10_000;
    while (performance.now() < until) {
      const counts = await countInstances();
      expect([...counts.keys()].sort()).toEqual(all);
      for (const [key, count] of counts) expect(count, key).toEqual({ all: 1, running: 1 });
      await sleep(250);
    }
    for (const name of crowd) {
      const { phase, containerStatuses = [] } = (await node.status(name)) ?? {};
      expect(phase).toBe('Pending');
      expect(containerStatuses.map(({ state }) => state?.waiting?.reason)).toEqual([
        'ErrImageNeverPull',
        undefined,
        undefined,
      ]);
    }
  });
});

describe('unused images', () => {
  it('are removed, those of containers and the one of sandboxes are not', async () => {
    await node.apply(
      'ended.yaml',
      manifest('ended', {
        spec: { restartPolicy: 'Never', containers: [{ name: 'app', image: testImages.exits }] },
      }),
    );
    await node.apply('used.yaml', manifest('used'));
    await node.until('ended', 'has succeeded', ({ phase }) => phase === 'Succeeded');
    await node.untilReady('used');
    const collector = new ImageCollector({
      cri: node.cri,
      clock: systemClock,
      timeline: new Timeline(),
      nodeName: 'node1',
      policy: { highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 0, maxAgeMs: 0 },
    });
    const { freedBytes } = await collector.deleteUnused();
    expect(freedBytes).toBeGreaterThan(0);
    const { images } = await node.cri.listImages({});
    expect(images.flatMap(({ repoTags }) => repoTags).sort()).toEqual(
      [testImages.busybox, testImages.exits, testImages.pause].sort(),
    );
    await node.apply('later.yaml', manifest('later'));
    await node.untilReady('later');
  });
});

describe('what pods leave behind', () => {
  it('is collected', { timeout: 180_000 }, async () => {
    await node.apply('crash.yaml', manifest('crash', { command: shell('echo boom; exit 3') }));
    await node.apply('reborn.yaml', manifest('reborn'));
    for (const attempt of [0, 1]) {
      await node.until(
        'reborn',
        'runs',
        (one) => isReady(one) && one.containerStatuses?.[0]?.restartCount === attempt,
      );
      const [sandboxId = ''] = await node.readySandboxes('reborn');
      await node.killProcess(sandboxId);
    }
    await plantStrangers();
    for (const name of goers) await node.remove(`${name}.yaml`);
    for (const name of goers) await node.untilGone(name);
    await node.until('crash', 'failed often', ({ containerStatuses: [one] = [] }) => one!.restartCount >= 3);
    await node.until('reborn', 'runs', isReady);

    await eventually(
      'sandboxes, logs and links of removed pods are removed',
      async () => (await tracesOf(goers)).length === 0 && (await strangersLeft()).length === 2,
      collectionTimeoutMs,
    ).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\nleft: ${(await tracesOf(goers)).join(', ')}`);
    });
    expect(await strangersLeft()).toEqual(['links/notes.txt', 'logs/nobody']);

    // The oldest sandbox owned nothing any more; the last one is kept with the container that ended in it.
    await eventually('old sandboxes are removed', async () => (await node.sandboxes('reborn')).length === 2);
    expect((await node.sandboxes('reborn')).map(({ metadata, state }) => [metadata?.attempt, state])).toEqual(
      [
        [2, 0],
        [1, 1],
      ],
    );
    for (const name of ['crash', 'reborn']) {
      await eventually(`one dead container of ${name} is kept`, async () => {
        const dead = (await node.containers(name)).filter(
          ({ state }) => state === ContainerState.CONTAINER_EXITED,
        );
        return dead.length === 1;
      });
    }
    const [crashLogs = ''] = (await readdir(node.podLogs)).filter((name) => name.includes('_crash-'));
    expect((await readdir(path.join(node.podLogs, crashLogs, 'app'))).length).toBeLessThanOrEqual(2);

    const counts = await countInstances();
    expect([...counts.keys()].sort()).toEqual(
      kept.flatMap((name) => [`${name}-node1/good`, `${name}-node1/good2`]).sort(),
    );
    for (const name of kept) {
      for (const { id, metadata } of await node.containers(name)) {
        const link = path.join(node.logLinks, `${name}-node1_default_${metadata?.name}-${id}.log`);
        expect(await readlink(link)).toContain(`/default_${name}-node1_`);
        expect((await stat(link)).isFile()).toBe(true);
      }
    }
    expect(node.log).not.toContain('ContainerGCFailed');
  });
});

/** What is still there of these pods, in the runtime and on disk. */
async function tracesOf(names: readonly string[]): Promise<string[]> {
  const pods = new Set(names.map((name) => `${name}-node1`));
  const { items } = await node.cri.listPodSandbox({});
  const { containers } = await node.cri.listContainers({});
  return [
    ...items.filter(({ metadata }) => pods.has(metadata?.name ?? '')).map(({ id }) => `sandbox ${id}`),
    ...containers
      .filter(({ labels }) => pods.has(labels['io.kubernetes.pod.name'] ?? ''))
      .map(({ id }) => `container ${id}`),
    ...(await readdir(node.podLogs)).filter((name) => pods.has(name.split('_')[1] ?? '')),
    ...(await readdir(node.logLinks)).filter((name) => pods.has(name.split('_')[0] ?? '')),
  ];
}

/** Logs and links of pods that nobody knows, and two things that only look a little like them. */
async function plantStrangers(): Promise<void> {
  const log = path.join(node.podLogs, 'default_stranger_0123', 'app');
  await mkdir(log, { recursive: true });
  await writeFile(path.join(log, '0.log'), '');
  await mkdir(path.join(node.podLogs, 'nobody'));
  const link = path.join(node.logLinks, `stranger_default_app-${'0'.repeat(64)}.log`);
  await symlink(path.join(node.podLogs, 'nowhere/0.log'), link);
  await writeFile(path.join(node.logLinks, 'notes.txt'), '');
}

async function strangersLeft(): Promise<string[]> {
  const logs = (await readdir(node.podLogs)).filter((name) => /stranger|nobody/.test(name));
  const links = (await readdir(node.logLinks)).filter((name) => /stranger|notes/.test(name));
  return [...links.map((name) => `links/${name}`), ...logs.map((name) => `logs/${name}`)];
}

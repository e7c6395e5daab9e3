/** nodelet dies without warning in the middle of an eviction: the next one finishes it, and nobody runs on in secret. */
import { readFileSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { busybox, type Cluster, eventually, podManifest, shell, startCluster } from './cluster.js';

let cluster: Cluster;
/** Takes longer to end than it is given, so that there is a time in between. */
const stubborn = shell("trap '' TERM; while :; do sleep 0.2; done");
const threshold = (bytes: number): void => {
  const { configFile } = cluster.node;
  const config = JSON.parse(readFileSync(configFile, 'utf8'));
  const evictionHard = { 'memory.available': String(bytes) };
  writeFileSync(configFile, JSON.stringify({ ...config, evictionHard }));
};

beforeAll(async () => {
  // What a threshold takes from the node's allocatable would refuse pods.
  cluster = await startCluster({
    node: { config: { evictionHard: { 'memory.available': '1Mi' }, enforceNodeAllocatable: ['none'] } },
  });
  const containers = [{ name: 'app', image: busybox, command: stubborn }];
  await cluster.apply(podManifest('one', { containers }), podManifest('other', { containers, priority: 0 }));
  for (const name of ['one', 'other']) await cluster.untilReady(name);
});
afterAll(() => cluster?.stop());

it('an eviction that was decided is finished by the next agent', async () => {
  await cluster.node.stop();
  const before = cluster.node.log.length;
  // More than there is: every pod has to go, one after another.
  threshold(totalmem());
  await cluster.node.start();
  await eventually('an eviction is decided', async () =>
    cluster.node.log.slice(before).includes('the pod is evicted'),
  );
  await cluster.node.kill9();
  const atDeath = await Promise.all(['one', 'other'].map((name) => cluster.running(name)));
  expect(atDeath.flat().length).toBeGreaterThan(0);
  await cluster.node.start();
  for (const name of ['one', 'other']) {
    const pod = await cluster.untilPod(name, 'is evicted', ({ status }) => status?.reason === 'Evicted');
    expect(pod.status?.phase).toBe('Failed');
    await eventually(`nothing of ${name} runs`, async () => (await cluster.running(name)).length === 0);
  }
});

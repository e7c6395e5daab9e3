/** Static pods show up in the API as mirrors, which can be looked at and not be used to harm them. */
import { rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Pod } from '../../src/kube/index.js';
import {
  busybox,
  type Cluster,
  container,
  eventually,
  forever,
  isReady,
  podManifest,
  startCluster,
  thenForever,
} from './cluster.js';

let cluster: Cluster;
let mirror: string;
beforeAll(async () => {
  cluster = await startCluster({ node: { config: { fileCheckFrequency: '1s' } } });
  mirror = `fixed-${cluster.node.name}`;
  cluster.node.writeStaticPod('fixed.json', podManifest('fixed', {}, { labels: { app: 'fixed' } }));
});
afterAll(() => cluster?.stop());

const runtimeId = (pod: Pod): string | undefined => container(pod).containerID;

it('a static pod has a mirror that says where it is from', async () => {
  const { metadata, spec } = await cluster.untilReady(mirror);
  const hash = metadata.annotations?.['kubernetes.io/config.hash'];
  expect(hash).toMatch(/^[0-9a-f]{32}$/);
  expect(metadata.annotations).toMatchObject({
    'kubernetes.io/config.mirror': hash,
    'kubernetes.io/config.source': 'file',
    'kubernetes.io/config.seen': expect.stringMatching(/^\d{4}-\d{2}-\d{2}T/),
  });
  const node = await cluster.node.ready();
  expect(metadata.ownerReferences).toEqual([
    { apiVersion: 'v1', kind: 'Node', name: cluster.node.name, uid: node.metadata.uid, controller: true },
  ]);
  expect(metadata.labels).toEqual({ app: 'fixed' });
  expect(metadata.uid).not.toBe(hash);
  expect(spec).toMatchObject({
    nodeName: cluster.node.name,
    tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
  });
});

it('kubectl shows it and reaches into it by its mirror', async () => {
  expect(await cluster.kubectl('get', 'pod', mirror, '--no-headers')).toMatch(/1\/1 +Running/);
  expect(await cluster.exec(mirror, 'hostname')).toBe(`${mirror}\n`);
  await cluster.untilEvent(mirror, 'Started');
});

it('a deleted mirror is made anew and the pod runs on', async () => {
  const before = await cluster.pod(mirror);
  await cluster.delete(mirror);
  const after = await cluster.untilPod(
    mirror,
    'is made anew',
    (pod) => pod.metadata.uid !== before.metadata.uid && isReady(pod),
  );
  expect(runtimeId(after)).toBe(runtimeId(before));
  expect(container(after).restartCount).toBe(0);
});

it('a mirror deleted by force is made anew and the pod runs on', async () => {
  const before = await cluster.pod(mirror);
  await cluster.kubectl('delete', 'pod', mirror, '--grace-period=0', '--force');
  const after = await cluster.untilPod(
    mirror,
    'is made anew',
    (pod) => pod.metadata.uid !== before.metadata.uid && isReady(pod),
  );
  expect(runtimeId(after)).toBe(runtimeId(before));
});

it('a changed file gives a new pod and a new mirror', async () => {
  const before = await cluster.pod(mirror);
  const changed = { name: 'app', image: busybox, command: thenForever('echo changed') };
  cluster.node.writeStaticPod('fixed.json', podManifest('fixed', { containers: [changed] }));
  const after = await cluster.untilPod(
    mirror,
    'is changed',
    (pod) => pod.metadata.uid !== before.metadata.uid && isReady(pod),
  );
  expect(after.metadata.annotations?.['kubernetes.io/config.hash']).not.toBe(
    before.metadata.annotations?.['kubernetes.io/config.hash'],
  );
  expect(after.spec?.containers?.[0]?.command).not.toEqual(forever);
  expect(await cluster.kubectl('logs', mirror)).toBe('changed\n');
});

it('a file that is removed and written again at once restarts the pod', async () => {
  const manifest = podManifest('again', { terminationGracePeriodSeconds: 1 });
  const name = `again-${cluster.node.name}`;
  cluster.node.writeStaticPod('again.json', manifest);
  const before = await cluster.untilReady(name);
  rmSync(join(cluster.node.staticPodDir, 'again.json'));
  cluster.node.writeStaticPod('again.json', manifest);
  const after = await cluster.untilPod(
    name,
    'has restarted',
    (pod) => isReady(pod) && container(pod).restartCount === 1,
  );
  expect(runtimeId(after)).not.toBe(runtimeId(before));
  await rm(join(cluster.node.staticPodDir, 'again.json'));
  await cluster.untilGone(name);
});

it('a kubelet that starts again finds its mirror', async () => {
  const before = await cluster.pod(mirror);
  await cluster.node.restart();
  // What the API shows may still be what the last kubelet said.
  await eventually('the kubelet knows the pod', () =>
    cluster.exec(mirror, 'true').then(
      () => true,
      () => false,
    ),
  );
  const after = await cluster.untilReady(mirror);
  expect([after.metadata.uid, runtimeId(after)]).toEqual([before.metadata.uid, runtimeId(before)]);
});

it('a removed file takes the pod and its mirror away', async () => {
  await rm(join(cluster.node.staticPodDir, 'fixed.json'));
  await cluster.untilGone(mirror);
  expect(await cluster.running(mirror)).toEqual([]);
});

it('a file that goes while the kubelet is down takes its mirror away too', async () => {
  cluster.node.writeStaticPod('fixed.json', podManifest('fixed'));
  await cluster.untilReady(mirror);
  await cluster.node.stop();
  await rm(join(cluster.node.staticPodDir, 'fixed.json'));
  await cluster.node.start();
  await cluster.untilGone(mirror);
  await eventually('nothing runs', async () => (await cluster.running(mirror)).length === 0);
});

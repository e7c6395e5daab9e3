/** The line to the API server is cut, jammed and slowed: pods go on, and in the end the API and the node agree. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { resources } from '../../src/kube-client/index.js';
import { createTempDir } from '../env/index.js';
import { type Cluster, container, phaseIs, podManifest } from './cluster.js';
import { crashesWhenTold, endsWhenTold, type Life, type LossyCluster, startLossyCluster } from './loss.js';

let lossy: LossyCluster;
let cluster: Cluster;
let dir: string;
let steady: Life;

beforeAll(async () => {
  lossy = await startLossyCluster();
  cluster = lossy.cluster;
  dir = (await createTempDir('told', { cleanups: cluster.cleanups })).path;
  const [app] = podManifest('steady').spec.containers;
  await lossy.create(podManifest('steady', { containers: [app!, { ...app!, name: 'second' }] }));
  await cluster.untilReady('steady');
  steady = await lossy.lives('steady');
});
afterAll(() => lossy?.stop());
afterEach(async () => {
  await lossy.line.set({ kind: 'none' });
  expect(cluster.node.isRunning).toBe(true);
  await lossy.expectUntouched(steady, 'steady');
  // What was in trouble a minute ago is patient; the next test should not have to be.
  await cluster.node.restart();
});

const tell = (name: string): void => writeFileSync(join(dir, name), '');
const named = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** Something of everything happens while the line is in trouble, and all of it must be so afterwards. */
async function throughTrouble(prefix: string, trouble: () => Promise<void>): Promise<void> {
  const name = (what: string): string => `${prefix}-${what}`;
  const count = await createTempDir(prefix, { cleanups: cluster.cleanups });
  await lossy.create(
    endsWhenTold(name('ends'), 3, dir),
    crashesWhenTold(name('crashes'), count.path),
    podManifest(name('deleted')),
  );
  for (const what of ['ends', 'crashes', 'deleted']) await cluster.untilReady(name(what));
  const startMs = Date.now();
  const done = trouble();
  tell(name('ends'));
  writeFileSync(join(count.path, name('crashes')), '');
  await lossy.create(podManifest(name('created')));
  await lossy.delete(name('deleted'));
  await lossy.untilStopped(name('ends'));
  const endedMs = Date.now();
  await done;

  const ended = await cluster.untilPod(name('ends'), 'has failed', phaseIs('Failed'), 60_000);
  const { exitCode, finishedAt } = container(ended).state?.terminated ?? {};
  expect(exitCode).toBe(3);
  const finishedMs = Date.parse(finishedAt ?? '');
  expect(finishedMs).toBeGreaterThanOrEqual(startMs - 1000);
  expect(finishedMs).toBeLessThanOrEqual(endedMs + 1000);
  await lossy.expectStartedOnce(name('created'), 60_000);
  await cluster.untilGone(name('deleted'));
  await lossy.untilStopped(name('deleted'));
  const crashed = await cluster.untilPod(
    name('crashes'),
    'was restarted three times',
    (pod) => container(pod).restartCount === 3 && container(pod).ready,
    60_000,
  );
  expect(container(crashed).lastState?.terminated?.exitCode).toBe(3);
}

describe('the line to the API server', () => {
  it('is reset again and again in the middle of everything', async () => {
    await throughTrouble('reset', async () => {
      for (let n = 0; n < 10; n++) {
        lossy.line.reset();
        await sleep(400);
      }
    });
  });

  it('is cut in the middle of answers: what was done and what was not is found out', async () => {
    await throughTrouble('answers', async () => {
      // Within the handshake, within the head, and within the body of an answer.
      for (const afterBytes of [0, 200, 2600, 4000]) {
        await lossy.line.set({ kind: 'cut-answers', afterBytes });
        await sleep(1000);
      }
      await lossy.line.set({ kind: 'none' });
    });
    expect(lossy.line.cuts).toBeGreaterThan(3);
  });

  it('loses the answers to many writes, and none is done twice or not at all', async () => {
    const names = named('lost', 6);
    await lossy.create(...names.map((name) => podManifest(name)));
    for (let n = 0; n < 4; n++) {
      await lossy.line.set({ kind: 'cut-answers', afterBytes: 150 });
      await sleep(150);
      await lossy.line.set({ kind: 'none' });
      await sleep(450);
    }
    for (const name of names) await lossy.expectStartedOnce(name, 60_000);
    for (const name of names) await lossy.delete(name);
    for (let n = 0; n < 4; n++) {
      await lossy.line.set({ kind: 'cut-answers', afterBytes: 150 });
      await sleep(150);
      await lossy.line.set({ kind: 'none' });
      await sleep(450);
    }
    for (const name of names) await cluster.untilGone(name);
  });

  it('is slow', async () => {
    await throughTrouble('slow', async () => {
      await lossy.line.set({ kind: 'delay', delayMs: 400 });
      await sleep(5000);
      await lossy.line.set({ kind: 'none' });
    });
  });

  it('is refused for a while', async () => {
    const before = lossy.line.opened;
    await throughTrouble('refused', async () => {
      await lossy.line.set({ kind: 'refuse' });
      lossy.line.reset();
      await sleep(10_000);
      await lossy.line.set({ kind: 'none' });
    });
    // All that is followed connects again, and nothing does so in a hurry.
    expect(lossy.line.opened - before).toBeLessThan(60);
  });

  it('swallows everything for a while, and the connections of that time never come back', async () => {
    await throughTrouble('swallowed', async () => {
      await lossy.line.set({ kind: 'black-hole' });
      await sleep(10_000);
      await lossy.line.set({ kind: 'none' });
    });
    await cluster.node.ready();
    const lease = await cluster.api.get(resources.leases, { namespace: 'kube-node-lease', name: 'node1' });
    expect(Date.now() - Date.parse(lease.spec?.renewTime ?? '')).toBeLessThan(45_000);
  });

  it('swallows everything when the node starts: static pods start, the others go on', async () => {
    await cluster.node.stop();
    await lossy.line.set({ kind: 'black-hole' });
    cluster.node.writeStaticPod('early.json', podManifest('early'));
    await cluster.node.start();
    await lossy.untilRunning('early-node1');
    expect(await lossy.lives('steady')).toEqual(steady);
    await lossy.line.set({ kind: 'none' });
    await lossy.expectStartedOnce('early-node1');
  });
});

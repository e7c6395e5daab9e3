/** The API server is away, comes back as it was before, or does not know the node any more: the node goes on, and in the end both agree. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Pod, PodManifest } from '../../src/kube/index.js';
import { resources } from '../../src/kube-client/index.js';
import { type ControlPlane, createTempDir, pollUntil, type TempDir } from '../env/index.js';
import { type Cluster, container, phaseIs, podManifest } from './cluster.js';
import { crashesWhenTold, endsWhenTold, type Life, type LossyCluster, startLossyCluster } from './loss.js';
import { ReplaceableIdentity } from './loss-identity.js';

let lossy: LossyCluster;
let cluster: Cluster;
let plane: ControlPlane;
let dir: string;
let steady: Life;
let secrets: TempDir;
let identity: ReplaceableIdentity;

beforeAll(async () => {
  secrets = await createTempDir('identity');
  identity = new ReplaceableIdentity(secrets);
  lossy = await startLossyCluster(identity.options);
  cluster = lossy.cluster;
  plane = cluster.plane;
  dir = await newDirectory();
  await lossy.create(podManifest('steady'));
  await cluster.untilReady('steady');
  steady = await lossy.lives('steady');
});
afterAll(async () => {
  await lossy?.stop();
  await secrets?.remove();
});

const newDirectory = async (): Promise<string> =>
  (await createTempDir('told', { cleanups: cluster.cleanups })).path;
const staticName = (name: string): string => `${name}-${cluster.node.name}`;
const staticPod = (name: string): PodManifest => podManifest(name, { terminationGracePeriodSeconds: 1 });
const isRestartedThrice = (pod: Pod): boolean => container(pod).restartCount === 3 && container(pod).ready;

describe('the API server', () => {
  it('is away for half a minute, and the runtime dies meanwhile', async () => {
    const told = await newDirectory();
    cluster.node.writeStaticPod('stays.json', staticPod('stays'));
    cluster.node.writeStaticPod('leaves.json', staticPod('leaves'));
    await lossy.create(
      endsWhenTold('ends', 3, dir),
      crashesWhenTold('crashes', told),
      podManifest('deleted'),
      podManifest('forced'),
    );
    const names = ['ends', 'crashes', 'deleted', 'forced', staticName('stays'), staticName('leaves')];
    for (const name of names) await cluster.untilReady(name);
    const kept = ['steady', 'deleted', 'forced', staticName('stays')];
    const before = await lossy.lives(...kept);
    const forced = (await cluster.pod('forced')).metadata.uid;

    await plane.server('kube-apiserver').kill();
    const lostMs = Date.now();
    writeFileSync(join(dir, 'ends'), '');
    writeFileSync(join(told, 'crashes'), '');
    await lossy.untilStopped('ends');
    const endedMs = Date.now();
    rmSync(join(cluster.node.staticPodDir, 'leaves.json'));
    cluster.node.writeStaticPod('comes.json', staticPod('comes'));
    await lossy.untilStopped(staticName('leaves'));
    await lossy.untilRunning(staticName('comes'));
    await lossy.untilRunning('crashes', 3);
    await cluster.node.containerd.kill('SIGKILL');
    await sleep(2000);
    await cluster.node.containerd.start();
    await sleep(Math.max(lostMs + 25_000 - Date.now(), 0));
    expect(await lossy.lives(...kept)).toEqual(before);

    await plane.server('kube-apiserver').start();
    await lossy.delete('deleted');
    await lossy.delete('forced', 0);
    await lossy.create(podManifest('new'));
    const ended = await cluster.untilPod('ends', 'has failed', phaseIs('Failed'));
    const { exitCode, finishedAt } = container(ended).state?.terminated ?? {};
    expect(exitCode).toBe(3);
    expect(Date.parse(finishedAt ?? '')).toBeLessThanOrEqual(endedMs + 1000);
    const crashed = await cluster.untilPod('crashes', 'was restarted three times', isRestartedThrice);
    expect(container(crashed).lastState?.terminated?.exitCode).toBe(3);
    await lossy.expectStartedOnce('new');
    for (const name of ['stays', 'comes']) await lossy.expectStartedOnce(staticName(name));
    await plane.waitGone(resources.pods, { namespace: 'default', name: staticName('leaves') });
    await cluster.untilGone('deleted');
    for (const name of ['deleted', 'forced']) await lossy.untilStopped(name);
    expect(
      (await plane.find(resources.pods, { namespace: 'default', name: 'forced' }))?.metadata.uid,
    ).not.toBe(forced);
    await lossy.expectUntouched(steady, 'steady');
    await cluster.node.ready();
    const lease = { namespace: 'kube-node-lease', name: cluster.node.name };
    await plane.waitFor(resources.leases, lease, 'is renewed', ({ spec }) => {
      return Date.parse(spec?.renewTime ?? '') > lostMs + 25_000;
    });
  });

  it('is not there when the node starts: pods go on, static pods start, nothing is stopped', async () => {
    await lossy.create(podManifest('taken'), podManifest('late'));
    for (const name of ['taken', 'late']) await cluster.untilReady(name);
    const before = await lossy.lives('steady', 'taken', 'late');
    await cluster.node.stop();
    await lossy.delete('taken', 0);
    await plane.server('kube-apiserver').kill();
    cluster.node.writeStaticPod('early.json', staticPod('early'));
    await cluster.node.start();
    await lossy.untilRunning(staticName('early'));
    await sleep(5000);
    expect(await lossy.lives('steady', 'taken', 'late')).toEqual(before);
    await plane.server('kube-apiserver').start();
    await lossy.untilStopped('taken', 60_000);
    await lossy.expectStartedOnce(staticName('early'));
    await lossy.expectStartedOnce('late');
    await lossy.expectUntouched(steady, 'steady');
  });

  it('comes back as it was before: younger pods are stopped, older ones run, statuses are written again', async () => {
    const told = await newDirectory();
    await lossy.create(crashesWhenTold('turned', told), podManifest('ended'));
    for (const name of ['turned', 'ended']) await cluster.untilReady(name);
    const earlier = await cluster.pod('ended');
    await plane.backup('before');
    await lossy.delete('ended');
    await cluster.untilGone('ended');
    await lossy.create(podManifest('younger'));
    await cluster.untilReady('younger');
    writeFileSync(join(told, 'turned'), '');
    await cluster.untilPod('turned', 'was restarted three times', isRestartedThrice);
    const turned = await lossy.running('turned');

    await plane.restore('before');
    await lossy.untilStopped('younger', 60_000);
    // The backup already calls it ready: what tells that it runs again is another container.
    const runsAgain = (pod: Pod): boolean =>
      container(pod).ready && container(pod).containerID !== container(earlier).containerID;
    const ended = await cluster.untilPod('ended', 'runs again', runsAgain);
    expect(ended.metadata.uid).toBe(earlier.metadata.uid);
    const anew = (await lossy.running('ended')).map(({ id }) => `containerd://${id}`);
    expect(anew).toEqual([container(ended).containerID]);
    await cluster.untilPod('turned', 'shows its restarts again', isRestartedThrice);
    expect((await lossy.running('turned')).map(({ id }) => id)).toEqual(turned.map(({ id }) => id));
    await lossy.expectUntouched(steady, 'steady');
    await cluster.node.ready();
    await lossy.create(podManifest('younger'));
    await cluster.untilReady('younger');
  });
});

describe('the identity of the node', () => {
  /** Does what makes the API server refuse the node, and returns when it has. */
  async function untilRefused(change: () => Promise<void> | void): Promise<void> {
    const before = cluster.node.log.length;
    await change();
    const isRefused = (): boolean => /unauthorized/i.test(cluster.node.log.slice(before));
    await pollUntil('the node is refused', () => isRefused() || undefined, {
      timeoutMs: 60_000,
      intervalMs: 200,
      detail: () => cluster.node.log.slice(-3000),
    });
  }

  it('is a certificate that expired, and is replaced on disk', async () => {
    await lossy.create(endsWhenTold('unheard', 5, dir));
    await cluster.untilReady('unheard');
    await untilRefused(() => void identity.writeCertificate(plane, -60_000));
    writeFileSync(join(dir, 'unheard'), '');
    await lossy.untilStopped('unheard');
    await lossy.create(podManifest('created'));
    await sleep(2000);
    expect(await lossy.lives('steady')).toEqual(steady);
    expect(await lossy.lives('created')).toEqual([]);
    identity.writeCertificate(plane);
    const ended = await cluster.untilPod('unheard', 'has failed', phaseIs('Failed'));
    expect(container(ended).state?.terminated?.exitCode).toBe(5);
    await lossy.expectStartedOnce('created');
    await lossy.expectUntouched(steady, 'steady');
  });

  it('is a token that is not known any more, and is replaced on disk', async () => {
    identity.useToken(plane, 'first');
    await cluster.node.restart();
    await lossy.create(podManifest('first'));
    await cluster.untilReady('first');
    await untilRefused(async () => {
      identity.accept('second');
      await plane.server('kube-apiserver').kill();
      await plane.server('kube-apiserver').start();
    });
    await lossy.create(podManifest('second'));
    expect(await lossy.lives('steady')).toEqual(steady);
    identity.writeToken('second');
    await lossy.expectStartedOnce('second');
    await lossy.expectUntouched(steady, 'steady');
  });
});

/** A node of a real control plane that records what comes in: offline it takes the same decisions, and no secret is in the record. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { recordWritten, replayRecord, textOfRecord } from '../replayed.js';
import { busybox, type Cluster, forever, podManifest, shell, startCluster } from './cluster.js';

const planted = 'PLANTED-secret-0123456789';
let cluster: Cluster;
let record: string;

beforeAll(async () => {
  record = await mkdtemp(path.join(tmpdir(), 'nodelet-record-'));
  cluster = await startCluster({ node: { flags: ['--record', record] } });
});
afterAll(async () => {
  await cluster?.stop();
  await rm(record, { recursive: true, force: true });
});

/** With its account's token, a Secret in a volume and in the environment, and a ConfigMap that changes. */
function reader(): object {
  return podManifest('reader', {
    containers: [
      {
        name: 'app',
        image: busybox,
        command: forever,
        envFrom: [{ secretRef: { name: 'planted' } }],
        volumeMounts: [
          { name: 'secret', mountPath: '/secret' },
          { name: 'settings', mountPath: '/settings' },
        ],
      },
    ],
    volumes: [
      { name: 'secret', secret: { secretName: 'planted' } },
      { name: 'settings', configMap: { name: 'settings' } },
    ],
  });
}

const settings = (mode: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings', namespace: 'default' },
  data: { mode },
});

it('replays two lives of the agent, with a server that went away, to the same decisions', async () => {
  await cluster.apply(
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'planted', namespace: 'default' },
      stringData: { PASSWORD: planted },
    },
    settings('first'),
    reader(),
    podManifest('job', {
      restartPolicy: 'Never',
      containers: [{ name: 'app', image: busybox, command: shell('exit 3') }],
    }),
    podManifest('web'),
  );
  await cluster.untilReady('reader');
  await cluster.untilReady('web');
  await cluster.untilPod('job', 'has failed', ({ status }) => status?.phase === 'Failed');
  await cluster.delete('web');
  await cluster.untilGone('web');
  await recordWritten();
  await cluster.node.kill9();

  await cluster.apply(settings('second'));
  await cluster.node.start();
  await cluster.untilReady('reader');
  await cluster.plane.server('kube-apiserver').kill();
  await cluster.plane.server('kube-apiserver').start();
  await cluster.node.ready();
  await cluster.delete('reader');
  await cluster.untilGone('reader');
  await recordWritten();
  await cluster.node.kill9();

  const text = await textOfRecord(record);
  expect(text.match(/eyJ[\w-]{20,}\.eyJ[\w-]{20,}\.[\w-]{20,}/), 'the record has a token').toBeNull();
  expect(text).toContain('kubernetes.io~secret');
  for (const form of [planted, Buffer.from(planted).toString('base64')])
    expect(text.includes(form), `the record has ${form}`).toBe(false);

  const first = await replayRecord(record, '--start', '1', '--pod', 'default/web');
  expect(first.differences.kept.slice(0, 3)).toEqual([]);
  expect(first.pod?.steps.map(({ what }) => what)).toContain('container.start');
  const second = await replayRecord(record, '--pod', 'default/reader');
  expect(second.generation).toBe(2);
  expect(second.differences.kept.slice(0, 3)).toEqual([]);
});

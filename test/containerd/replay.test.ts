/** An agent on real containerd records what comes in; offline the same decisions are taken again, and no secret is in it. */
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recordWritten, replayRecord, textOfRecord } from '../replayed.js';
import { forever, manifest, shell, TestNode } from './agent.js';

const planted = 'PLANTED-secret-0123456789';
const header = 'PLANTED-header-0123456789';

/** A source of pods that has none, for whoever knows the header. */
let asked = 0;
const source = createServer((request, response) => {
  if (request.headers.authorization === header) asked++;
  response.end(JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [] }));
});

let node: TestNode;
beforeEach(async () => {
  source.listen(0, '127.0.0.1');
  await once(source, 'listening');
  const { port } = source.address() as AddressInfo;
  node = await TestNode.create({
    config: {
      fileCheckFrequency: '2s',
      staticPodURL: `http://127.0.0.1:${port}/pods`,
      staticPodURLHeader: { Authorization: [header] },
    },
  });
});
afterEach(async () => {
  await node.stop();
  source.close();
});

describe('a record of an agent on containerd', () => {
  it('is replayed to the same decisions after the agent was killed, twice, and has no secret', async () => {
    const record = path.join(node.dir, 'record');
    const objects = path.join(node.dir, 'objects');
    await mkdir(objects);
    await writeFile(
      path.join(objects, 'secret.yaml'),
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'planted', namespace: 'default' },
        data: { PASSWORD: Buffer.from(planted).toString('base64') },
      }),
    );
    await node.apply('web.yaml', manifest('web'));
    await node.apply('job.yaml', manifest('job', { command: shell('exit 3') }));
    await node.apply(
      'reader.yaml',
      manifest('reader', {
        spec: {
          containers: [
            {
              name: 'app',
              image: 'nodelet.test/busybox:1',
              command: [...forever],
              envFrom: [{ secretRef: { name: 'planted' } }],
              volumeMounts: [{ name: 'files', mountPath: '/files' }],
            },
          ],
          volumes: [{ name: 'files', secret: { secretName: 'planted' } }],
        },
      }),
    );
    const flags = ['--record', record, '--object-manifest-path', objects];
    await node.start(...flags);
    await node.untilReady('web');
    await node.untilReady('reader');
    await node.until(
      'job',
      'has failed',
      ({ containerStatuses: [app] = [] }) => (app?.restartCount ?? 0) > 0,
    );
    await node.remove('web.yaml');
    await node.untilGone('web');
    await recordWritten();
    await node.kill('SIGKILL');
    await node.start(...flags);
    await node.untilReady('reader');
    await node.remove('reader.yaml');
    await node.untilGone('reader');
    await recordWritten();
    await node.kill('SIGKILL');

    expect((await readdir(record)).sort()).toEqual(['record-000001-0001.nrec', 'record-000002-0001.nrec']);
    const first = await replayRecord(record, '--start', '1', '--pod', 'default/web-node1');
    expect(first.differences.kept.slice(0, 3)).toEqual([]);
    expect(first.pod?.steps.map(({ what }) => what)).toContain('container.start');
    const second = await replayRecord(record, '--pod', 'reader-node1');
    expect(second.generation).toBe(2);
    expect(second.differences.kept.slice(0, 3)).toEqual([]);
    expect(asked).toBeGreaterThan(0);
    const text = await textOfRecord(record);
    expect(text).toContain('kubernetes.io~secret');
    for (const secret of [planted, header])
      for (const form of [secret, Buffer.from(secret).toString('base64')])
        expect(text.includes(form), `the record has ${form}`).toBe(false);
  });
});

/** An agent on real containerd records what comes in; offline the same decisions are taken again, and no secret is in it. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { generationsIn, readLines } from '../../src/replay/record-reader.js';
import { forever, manifest, shell, TestNode } from './agent.js';

const launcher = new URL('../../bin/nodelet', import.meta.url).pathname;
const run = promisify(execFile);

interface Report {
  readonly generation: number;
  readonly turns: number;
  readonly differences: { readonly count: number; readonly kept: readonly object[] };
  readonly pod?: { readonly phase: string; readonly steps: readonly { readonly what: string }[] };
}

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

/** By the built program, as an operator would. */
async function replay(dir: string, ...flags: string[]): Promise<Report> {
  const { stdout } = await run(process.execPath, [launcher, 'replay', dir, '--json', ...flags], {
    maxBuffer: 64 * 1024 * 1024,
  }).catch((error: { stdout?: string; stderr?: string }) => {
    if (error.stdout === undefined || error.stdout === '') throw new Error(error.stderr);
    return { stdout: error.stdout };
  });
  return JSON.parse(stdout) as Report;
}

/** The last second of a killed agent is not in its record. */
const written = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2_000));

/** All that the record says, decompressed. */
async function textOf(dir: string): Promise<string> {
  let text = '';
  for (const files of (await generationsIn(dir)).values())
    for await (const line of readLines(dir, files).lines) text += `${line}\n`;
  return text;
}

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
    await written();
    await node.kill('SIGKILL');
    await node.start(...flags);
    await node.untilReady('reader');
    await node.remove('reader.yaml');
    await node.untilGone('reader');
    await written();
    await node.kill('SIGKILL');

    expect((await readdir(record)).sort()).toEqual(['record-000001-0001.nrec', 'record-000002-0001.nrec']);
    const first = await replay(record, '--start', '1', '--pod', 'default/web-node1');
    expect(first.differences.kept.slice(0, 3)).toEqual([]);
    expect(first.pod?.steps.map(({ what }) => what)).toContain('container.start');
    const second = await replay(record, '--pod', 'reader-node1');
    expect(second.generation).toBe(2);
    expect(second.differences.kept.slice(0, 3)).toEqual([]);
    expect(asked).toBeGreaterThan(0);
    const text = await textOf(record);
    expect(text).toContain('kubernetes.io~secret');
    for (const secret of [planted, header])
      for (const form of [secret, Buffer.from(secret).toString('base64')])
        expect(text.includes(form), `the record has ${form}`).toBe(false);
  });
});

/** Plants secrets wherever a kubelet meets them, and looks for them in the record: none is there, and it is replayed. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { resources } from '../../src/kube-client/index.js';
import { createClusterKubelet } from '../../src/kubelet/cluster/create-cluster-kubelet.js';
import { createKubelet } from '../../src/kubelet/index.js';
import { Registry } from '../../src/metrics/index.js';
import { generationsIn, type Recording, replayRecord, startRecording } from '../../src/replay/index.js';
import { readLines } from '../../src/replay/record-reader.js';
import { ChurningNode } from './churn.js';
import { apiPod } from './pods.js';

const planted = {
  volume: 'PLANTED-volume-0123456789',
  env: 'PLANTED-env-0123456789',
  password: 'PLANTED-password-0123456789',
  header: 'PLANTED-header-0123456789',
  url: 'PLANTED-url-0123456789',
};
const base64 = (text: string): string => Buffer.from(text).toString('base64');

it('a record has no secret that the kubelet met, and is replayed', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'replay-secrets-'));
  const record = path.join(dir, 'record');
  let recording: Recording | undefined;
  const tokens: string[] = [];
  const life = new ChurningNode((given, cluster) => {
    recording = startRecording({
      dir: record,
      limitBytes: 1e9,
      agentVersion: 'test',
      timeline: given.timeline!,
      registry: new Registry(),
      clock: life.clock,
    });
    const { keyring: _, podConfigs: __, ...rest } = given;
    const config = {
      ...given.config,
      podLogsDir: path.join(dir, 'logs'),
      staticPodURL: `http://user:${planted.url}@127.0.0.1:9/pods?token=${planted.url}`,
      staticPodURLHeader: { Authorization: [planted.header] },
    };
    return recording.make({ ...rest, rootDir: path.join(dir, 'root'), config }, cluster, (options) =>
      createClusterKubelet(options, cluster),
    );
  });
  const { api } = life;
  const post = api.post.bind(api);
  api.post = async (...args) => {
    const answer = await post(...args);
    tokens.push((answer as { status?: { token?: string } }).status?.token ?? '');
    return answer;
  };
  const secret = (name: string, data: Record<string, string>): Promise<unknown> =>
    api.create(resources.secrets, {
      metadata: { name, namespace: 'default', annotations: { last: JSON.stringify(data) } },
      data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)])),
    });
  await secret('files', { password: planted.volume });
  await secret('variables', { PASSWORD: planted.env });
  await secret('pulls', {
    '.dockerconfigjson': JSON.stringify({
      auths: {
        'registry.test': {
          username: 'robot',
          password: planted.password,
          auth: base64(`robot:${planted.password}`),
        },
      },
    }),
  });
  await life.start();
  const { metadata, spec } = apiPod('reader', {
    graceSeconds: 1,
    containers: [
      {
        name: 'app',
        image: 'registry.test/app:1',
        envFrom: [{ secretRef: { name: 'variables' } }],
        env: [{ name: 'ONE', valueFrom: { secretKeyRef: { name: 'variables', key: 'PASSWORD' } } }],
        volumeMounts: [
          { name: 'files', mountPath: '/files' },
          { name: 'token', mountPath: '/token' },
        ],
      },
    ],
    spec: {
      serviceAccountName: 'default',
      imagePullSecrets: [{ name: 'pulls' }],
      volumes: [
        { name: 'files', secret: { secretName: 'files' } },
        { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
      ],
    },
  });
  const { uid: _, ...rest } = metadata;
  await api.create(resources.pods, { metadata: rest, spec });
  await life.clock.advance(30_000);
  // It is asked again, and compared with what was written.
  await life.clock.advance(120_000);
  await recording?.close();
  await life.stop();

  const files = (await generationsIn(record)).get(1) ?? [];
  let text = '';
  for await (const line of readLines(record, files).lines) text += `${line}\n`;
  expect(tokens.filter((token) => token !== '').length).toBeGreaterThan(0);
  for (const each of [...Object.values(planted), ...tokens.filter((token) => token !== '')]) {
    expect(text.includes(each), `the record has ${each}`).toBe(false);
    expect(text.includes(base64(each)), `the record has ${each} in base64`).toBe(false);
    expect(text.includes(base64(`robot:${each}`)), `the record has ${each} with its name`).toBe(false);
  }
  // The secrets were met: their placeholders are there, and files with them were written.
  expect(text).toContain('kubernetes.io~secret/files');
  expect(text).toContain(base64('masked-').slice(0, 8));
  for (const name of await readdir(record))
    for (const each of Object.values(planted))
      expect((await readFile(path.join(record, name))).includes(each)).toBe(false);

  const { differences, turns } = await replayRecord({
    dir: record,
    files,
    code: { standalone: createKubelet, cluster: createClusterKubelet },
  });
  expect(turns).toBeGreaterThan(100);
  expect(differences.kept.slice(0, 3)).toEqual([]);
  await rm(dir, { recursive: true });
}, 120_000);

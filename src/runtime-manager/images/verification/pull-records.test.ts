import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../async/index.js';
import { ListImagesResponse } from '../../../cri/index.js';
import type { Pod } from '../../../kube/index.js';
import { Registry } from '../../../metrics/index.js';
import { samples } from '../../../metrics/test-samples.js';
import { Timeline } from '../../../timeline/index.js';
import type { PullSecretSource } from '../../contracts.js';
import { createPullRecordMetrics } from '../../metrics.js';
import { testDurableFiles } from '../../test-durable-files.js';
import { PullRecords, type PullRecordsOptions } from './pull-records.js';

const pod: Pod = { metadata: { name: 'web', namespace: 'shop', uid: 'u1' }, spec: { containers: [] } };
const image = 'a.io/app:1';
const ref = 'sha256:1';
const secret: PullSecretSource = { uid: 'u', namespace: 'shop', name: 'a', credentialHash: 'h' };

let rootDir: string;
beforeEach(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'nodelet-records-'));
});
afterEach(() => rm(rootDir, { recursive: true }));

const noImages = { listImages: async () => ListImagesResponse.create({}) };

async function open(more: Partial<PullRecordsOptions> = {}, cri = noImages) {
  const clock = new VirtualClock();
  const registry = new Registry();
  const records = new PullRecords({
    rootDir,
    store: testDurableFiles(clock),
    clock,
    timeline: new Timeline({ clock }),
    policy: 'NeverVerifyPreloadedImages',
    allowlist: [],
    podSecrets: async () => [],
    metrics: createPullRecordMetrics(registry),
    ...more,
  });
  await records.start(cri);
  return { records, clock, registry };
}

const files = (dir: string): Promise<string[]> =>
  readdir(join(rootDir, 'image_manager', dir)).catch(() => []);

describe('records on disk', () => {
  it('an intent while the pull runs, a record afterwards, readable by nobody else', async () => {
    const { records, registry } = await open();
    await records.pulling(image);
    const [intent = ''] = await files('pulling');
    expect(intent).toMatch(/^sha256-[0-9a-f]{64}$/);
    const path = join(rootDir, 'image_manager', 'pulling', intent);
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({
      kind: 'ImagePullIntent',
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      image,
    });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(rootDir, 'image_manager', 'pulling'))).mode & 0o777).toBe(0o700);
    await records.pulled(image, ref, { username: 'u', password: 'p', source: secret });
    expect(await files('pulling')).toEqual([]);
    const [pulled = ''] = await files('pulled');
    expect(JSON.parse(await readFile(join(rootDir, 'image_manager', 'pulled', pulled), 'utf8'))).toEqual({
      kind: 'ImagePulledRecord',
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      lastUpdatedTime: '2026-01-01T00:00:00Z',
      imageRef: ref,
      credentialMapping: { 'a.io/app': { kubernetesSecrets: [secret] } },
    });
    expect(samples(registry)).toEqual({
      kubelet_imagemanager_ondisk_pullintents: 0,
      kubelet_imagemanager_ondisk_pulledrecords: 1,
      kubelet_imagemanager_inmemory_pullintents_usage_percent: 0,
      kubelet_imagemanager_inmemory_pulledrecords_usage_percent: 0.1,
    });
  });

  it('a failed pull leaves nothing; the last of two pulls of an image removes the intent', async () => {
    const { records } = await open();
    await records.pulling(image);
    await records.pulling(image);
    await records.failed(image);
    expect(await files('pulling')).toHaveLength(1);
    await records.failed(image);
    expect(await files('pulling')).toEqual([]);
    expect(await files('pulled')).toEqual([]);
  });

  it('reads and rewrites what an older version wrote', async () => {
    const { records } = await open();
    await records.pulled(image, ref, undefined);
    const [name = ''] = await files('pulled');
    const path = join(rootDir, 'image_manager', 'pulled', name);
    await writeFile(path, (await readFile(path, 'utf8')).replace('v1beta1', 'v1alpha1'));
    const { records: again } = await open({ policy: 'AlwaysVerify' });
    expect(await readFile(path, 'utf8')).toContain('v1beta1');
    expect(await again.mayUse(pod, image, ref)).toBe(true);
  });

  it('prunes records of removed images, but not younger ones', async () => {
    const { records, clock } = await open();
    await records.pulled(image, ref, undefined);
    await records.pulled('a.io/kept:1', 'sha256:2', undefined);
    await clock.advance(10_000);
    await records.pulled('a.io/young:1', 'sha256:3', undefined);
    await records.prune(clock.now() - 5_000, new Set(['sha256:2']));
    expect(await files('pulled')).toHaveLength(2);
  });
});

describe('who may use an image', () => {
  it.each<
    [string, Partial<PullRecordsOptions>, 'preloaded' | 'by the node' | 'by a secret', boolean, string]
  >([
    ['a preloaded image: everybody', {}, 'preloaded', true, 'credentialPolicyAllowed'],
    [
      'a preloaded image that must be verified: nobody',
      { policy: 'AlwaysVerify' },
      'preloaded',
      false,
      'mustAuthenticate',
    ],
    ['pulled by the node: everybody', {}, 'by the node', true, 'credentialRecordFound'],
    ['pulled with a secret: not a pod without', {}, 'by a secret', false, 'mustAuthenticate'],
    [
      'pulled with a secret: a pod that has it',
      { podSecrets: async () => [secret] },
      'by a secret',
      true,
      'credentialRecordFound',
    ],
    ['never verified: everybody', { policy: 'NeverVerify' }, 'by a secret', true, 'credentialPolicyAllowed'],
    [
      'unreadable secrets: nobody',
      { podSecrets: () => Promise.reject(new Error('x')) },
      'by a secret',
      false,
      'error',
    ],
  ])('%s', async (_, options, how, expected, check) => {
    const { records, registry } = await open(options);
    if (how !== 'preloaded') {
      const credentials =
        how === 'by a secret' ? { username: 'u', password: 'p', source: secret } : undefined;
      await records.pulling(image);
      await records.pulled(image, ref, credentials);
    }
    expect(await records.mayUse(pod, image, ref)).toBe(expected);
    const checks = Object.entries(samples(registry)).filter(([series]) => series.includes('_checks_'));
    expect(checks).toEqual([[`kubelet_imagemanager_image_mustpull_checks_total{result="${check}"}`, 1]]);
  });

  it('another secret with the same credentials is remembered', async () => {
    const other = { ...secret, uid: 'u2', name: 'b' };
    const { records } = await open({ podSecrets: async () => [other] });
    await records.pulled(image, ref, { username: 'u', password: 'p', source: secret });
    expect(await records.mayUse(pod, image, ref)).toBe(true);
    const { records: again } = await open({ podSecrets: async () => [{ ...other, credentialHash: 'new' }] });
    expect(await again.mayUse(pod, image, ref)).toBe(true);
  });

  it('an image whose pull ended while the agent was down is for nobody, until it is pulled again', async () => {
    const { records } = await open();
    await records.pulling(image);
    const cri = {
      listImages: async () => ListImagesResponse.create({ images: [{ id: ref, repoTags: [image] }] }),
    };
    const { records: again } = await open({}, cri);
    expect(await files('pulling')).toEqual([]);
    expect(await again.mayUse(pod, image, ref)).toBe(false);
    await again.pulled(image, ref, undefined);
    expect(await again.mayUse(pod, image, ref)).toBe(true);
  });

  it('an image that was being pulled under another name counts as pulled', async () => {
    const { records } = await open();
    await records.pulling(image);
    const { records: again } = await open();
    expect(await again.mayUse(pod, image, 'sha256:other')).toBe(false);
  });

  it('an account that pulled an image may use it again, and the same plugins are asked about no other image', async () => {
    const account = { uid: 'sa', namespace: 'shop', name: 'robot' };
    const asked: string[] = [];
    let given: typeof account | undefined = account;
    const podServiceAccount: PullRecordsOptions['podServiceAccount'] = async (_, name) => {
      asked.push(name);
      return given;
    };
    const { records } = await open({ podServiceAccount });
    await records.pulled(image, ref, { username: 'u', password: 'p', serviceAccount: account });
    await records.pulled('b.io/app:1', 'sha256:2', { username: 'u', password: 'p', source: secret });
    expect(await records.mayUse(pod, image, ref)).toBe(true);
    expect(await records.mayUse(pod, 'b.io/app:1', 'sha256:2')).toBe(false);
    expect(asked).toEqual([image]);
    given = { ...account, uid: 'made-anew' };
    const { records: again } = await open({ podServiceAccount });
    expect(await again.mayUse(pod, image, ref)).toBe(false);
    given = undefined;
    expect(await again.mayUse(pod, image, ref)).toBe(false);
  });
});

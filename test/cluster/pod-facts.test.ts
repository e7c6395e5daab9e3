/** What a pod is told about itself and can prove to others. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Container, PodSpec } from '../../src/kube/index.js';
import { ApiError, resources } from '../../src/kube-client/index.js';
import {
  busybox,
  type Cluster,
  container,
  eventually,
  forever,
  isReady,
  podManifest,
  startCluster,
} from './cluster.js';

let cluster: Cluster;
beforeAll(async () => {
  // Volumes are looked at anew this often.
  cluster = await startCluster({ node: { config: { syncFrequency: '3s' } } });
});
afterAll(() => cluster?.stop());

async function start(
  name: string,
  fields: Partial<Container>,
  spec: Partial<PodSpec> = {},
  metadata = {},
): Promise<void> {
  const app = { name: 'app', image: busybox, command: forever, ...fields };
  await cluster.apply(podManifest(name, { ...spec, containers: [app] }, metadata));
  await cluster.untilReady(name);
}

describe.concurrent('Service account tokens', () => {
  const claimsOf = (token: string): Record<string, unknown> =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';

  it('prove to the API who the pod is', async () => {
    await start('account', {});
    const token = await cluster.exec('account', 'cat', `${mountPath}/token`);
    expect(await cluster.exec('account', 'cat', `${mountPath}/namespace`)).toBe('default');
    expect(await cluster.exec('account', 'cat', `${mountPath}/ca.crt`)).toBe(cluster.plane.pki.authorityPem);
    const { metadata } = await cluster.pod('account');
    expect(claimsOf(token)).toMatchObject({
      sub: 'system:serviceaccount:default:default',
      'kubernetes.io': { pod: { name: 'account', uid: metadata.uid }, node: { name: cluster.node.name } },
    });
    const kubeconfig = cluster.plane.pki.kubeconfig('pod-account', cluster.plane.url, { token });
    const client = (await cluster.plane.connect(kubeconfig)).client();
    const refusal: unknown = await client
      .list(resources.pods, { namespace: 'default' })
      .catch((error) => error);
    expect(refusal).toBeInstanceOf(ApiError);
    expect(String(refusal)).toContain(
      'User "system:serviceaccount:default:default" cannot list resource "pods"',
    );
  });

  it('are for the audience and the time that the volume names', async () => {
    const projected = {
      sources: [{ serviceAccountToken: { audience: 'vault', expirationSeconds: 900, path: 'vault' } }],
    };
    await start(
      'vault',
      { volumeMounts: [{ name: 'token', mountPath: '/tokens' }] },
      { automountServiceAccountToken: false, volumes: [{ name: 'token', projected }] },
    );
    const token = await cluster.exec('vault', 'cat', '/tokens/vault');
    const { exp, iat, aud } = claimsOf(token);
    expect([Number(exp) - Number(iat), aud]).toEqual([900, ['vault']]);
    const review = await cluster.api.create(resources.tokenReviews, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      metadata: {},
      spec: { token, audiences: ['vault'] },
    });
    expect(review.status).toMatchObject({ authenticated: true, audiences: ['vault'] });
    await expect(cluster.exec('vault', 'ls', mountPath)).rejects.toThrow('No such file or directory');
  });
});

describe.concurrent('facts about the pod', () => {
  it('are variables', async () => {
    const fields = [
      'metadata.name',
      'metadata.namespace',
      'metadata.uid',
      'spec.nodeName',
      'spec.serviceAccountName',
      'status.podIP',
      'status.podIPs',
      'status.hostIP',
      'status.hostIPs',
      "metadata.labels['tier']",
    ];
    const env = fields.map((fieldPath, index) => ({
      name: `F${index}`,
      valueFrom: { fieldRef: { fieldPath } },
    }));
    const resourceFieldRef = { resource: 'limits.memory', divisor: '1Mi' };
    await start(
      'facts',
      {
        env: [...env, { name: 'MEMORY', valueFrom: { resourceFieldRef } }],
        resources: { limits: { memory: '64Mi' } },
      },
      {},
      { labels: { tier: 'back' } },
    );
    const { metadata, status } = await cluster.pod('facts');
    const { address, name } = cluster.node;
    const seen = await cluster.environment('facts');
    expect(fields.map((_, index) => seen[`F${index}`])).toEqual([
      'facts',
      'default',
      metadata.uid,
      name,
      'default',
      status?.podIP,
      status?.podIP,
      address,
      address,
      'back',
    ]);
    expect(status?.podIP).toMatch(/^10\.88\./);
    expect(seen.MEMORY).toBe('64');
  });

  it('are files that follow changes of labels and annotations', async () => {
    const items = [
      { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
      { path: 'note', fieldRef: { fieldPath: "metadata.annotations['note']" } },
    ];
    await start(
      'follows',
      { volumeMounts: [{ name: 'facts', mountPath: '/facts' }] },
      { volumes: [{ name: 'facts', downwardAPI: { items } }] },
      { labels: { one: 'a' }, annotations: { note: 'first' } },
    );
    const read = (): Promise<string> =>
      cluster.exec('follows', 'sh', '-c', 'cat /facts/labels; echo; cat /facts/note');
    expect(await read()).toBe('one="a"\nfirst');
    await cluster.kubectl('label', 'pod', 'follows', 'two=b');
    await cluster.kubectl('annotate', 'pod', 'follows', '--overwrite', 'note=second');
    await eventually('the change shows up', async () => (await read()) === 'one="a"\ntwo="b"\nsecond');
    expect(isReady(await cluster.pod('follows'))).toBe(true);
    expect(container(await cluster.pod('follows')).restartCount).toBe(0);
  });
});

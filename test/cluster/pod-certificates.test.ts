/** Certificates of pods on a real control plane; the test plays the signer. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PodCertificateRequest, resources } from '../../src/kube-client/index.js';
import {
  issuePodCertificate,
  podCertificateRequests,
  refusePodCertificate,
} from '../../src/volumes/pod-certificates/test-signer.js';
import {
  busybox,
  type Cluster,
  eventually,
  forever,
  podManifest,
  startCluster,
  waitingReason,
} from './cluster.js';

let cluster: Cluster;
beforeAll(async () => {
  // Volumes are looked at anew this often.
  cluster = await startCluster({ node: { config: { syncFrequency: '3s' } } });
});
afterAll(() => cluster?.stop());

const signerName = 'example.com/signer';
const hour = 3_600_000;

async function create(name: string, keyType: string): Promise<void> {
  const podCertificate = {
    signerName,
    keyType,
    maxExpirationSeconds: 7200,
    credentialBundlePath: 'bundle.pem',
    keyPath: 'key.pem',
    certificateChainPath: 'chain.pem',
    userAnnotations: { 'example.com/of': name },
  };
  await cluster.apply(
    podManifest(name, {
      volumes: [{ name: 'id', projected: { sources: [{ podCertificate }] } }],
      containers: [
        { name: 'app', image: busybox, command: forever, volumeMounts: [{ name: 'id', mountPath: '/id' }] },
      ],
    }),
  );
}

async function requestOf(pod: string): Promise<PodCertificateRequest> {
  let found: PodCertificateRequest | undefined;
  await eventually(`the node requests a certificate for ${pod}`, async () => {
    found = (await podCertificateRequests(cluster.api)).find(({ spec }) => spec.podName === pod);
    return found !== undefined;
  });
  if (found === undefined) throw new Error('there is no request');
  return found;
}

/** Whole seconds, as certificates have them. */
const now = (): number => Math.floor(Date.now() / 1000) * 1000;

// The API server checks the proof of each kind of key.
it.each(['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'])(
  'a pod gets a certificate for an %s key',
  async (keyType) => {
    const name = keyType.toLowerCase();
    await create(name, keyType);
    const request = await requestOf(name);
    const pod = await cluster.pod(name);
    const account = await cluster.api.get(resources.serviceAccounts, {
      namespace: 'default',
      name: 'default',
    });
    expect(request.spec).toMatchObject({
      signerName,
      podUID: pod.metadata.uid,
      serviceAccountName: 'default',
      serviceAccountUID: account.metadata.uid,
      nodeName: pod.spec.nodeName,
      maxExpirationSeconds: 7200,
      unverifiedUserAnnotations: { 'example.com/of': name },
    });
    const times = { notBeforeMs: now(), lifeMs: hour, refreshAfterMs: hour / 2 };
    const chain = await issuePodCertificate(cluster.api, request, times);
    await cluster.untilReady(name);
    const text = (file: string): Promise<string> => cluster.exec(name, 'cat', `/id/${file}`);
    expect(await text('chain.pem')).toBe(chain);
    const key = await text('key.pem');
    expect(new X509Certificate(chain).checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(await text('bundle.pem')).toBe(`${key}${chain}`);
    expect(cluster.node.log).not.toContain('PRIVATE KEY');
  },
);

it('a pod whose certificate is denied waits, and its event says why', async () => {
  await create('denied', 'ED25519');
  await refusePodCertificate(cluster.api, await requestOf('denied'), 'Denied', 'unknown pod', Date.now());
  const { message } = await cluster.untilEvent('denied', 'Denied');
  expect(message).toContain('was denied, reason="Test", message="unknown pod"');
  await cluster.untilPod('denied', 'waits', (pod) => waitingReason(pod) === 'ContainerCreating');
  await cluster.kubectl('delete', 'pod', 'denied');
  await cluster.untilGone('denied');
});

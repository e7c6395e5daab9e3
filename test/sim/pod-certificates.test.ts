/** Certificates of pods on a whole node of a simulated cluster; the test plays the signer. */
import { afterEach, expect, it } from 'vitest';
import { resolveFeatureGates } from '../../src/config/index.js';
import type { Pod, PodSpec } from '../../src/kube/index.js';
import { ApiError, type PodCertificateRequest, resources } from '../../src/kube-client/index.js';
import {
  issuePodCertificate,
  podCertificateRequests,
  refusePodCertificate,
} from '../../src/volumes/pod-certificates/test-signer.js';
import { type Member, startMember } from './cluster-machine.js';
import { endNodes, nodeName } from './node.js';
import { Outside, volumePath } from './volume-node.js';

afterEach(endNodes);

const minute = 60_000;

async function createPod({ on }: Member, spec: Partial<PodSpec> = {}): Promise<void> {
  await on.api.create(resources.serviceAccounts, { metadata: { namespace: 'default', name: 'default' } });
  await on.create('web', {
    containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'id', mountPath: '/id' }] }],
    spec: {
      ...spec,
      volumes: [
        {
          name: 'id',
          projected: {
            sources: [
              {
                podCertificate: {
                  signerName: 'example.com/signer',
                  keyType: 'ECDSAP256',
                  credentialBundlePath: 'bundle.pem',
                  keyPath: 'key.pem',
                  certificateChainPath: 'chain.pem',
                },
              },
            ],
          },
        },
      ],
    },
  });
}

async function nextRequest(test: Member): Promise<PodCertificateRequest> {
  for (let turn = 0; turn < 100; turn++) {
    const found = (await podCertificateRequests(test.on.api)).find(({ status }) => status === undefined);
    if (found !== undefined) return found;
    await test.node.advance(1_000);
  }
  throw new Error('the node requests no certificate');
}

const issue = (test: Member, request: PodCertificateRequest): Promise<string> =>
  issuePodCertificate(test.on.api, request, {
    notBeforeMs: test.on.machine.time.now(),
    lifeMs: 60 * minute,
    refreshAfterMs: 30 * minute,
  });

const file = async (test: Member, pod: Pod, name: string): Promise<string> =>
  (await new Outside(test.on.files).text(`${volumePath(pod, 'projected', 'id')}/${name}`)) ?? '';

const mountErrors = async (test: Member): Promise<string[]> => {
  const { items } = await test.on.api.list(resources.events);
  return items.filter(({ reason }) => reason === 'FailedMount').map(({ message }) => message ?? '');
};

it('a pod starts with the certificate that its signer issued, and gets the next one in time', async () => {
  const test = await startMember();
  await createPod(test);
  const request = await nextRequest(test);
  const { metadata } = await test.on.api.get(resources.nodes, { name: nodeName });
  expect(request.spec).toMatchObject({ podName: 'web', nodeName, nodeUID: metadata.uid });
  const first = await issue(test, request);
  const pod = await test.untilReady('web');
  expect(await file(test, pod, 'chain.pem')).toBe(first);
  const key = await file(test, pod, 'key.pem');
  expect(await file(test, pod, 'bundle.pem')).toBe(`${key}${first}`);
  expect(await mountErrors(test)).toEqual([]);
  await test.node.advance(30 * minute);
  expect(await file(test, pod, 'chain.pem')).toBe(first);
  await test.node.advance(7 * minute);
  const second = await issue(test, await nextRequest(test));
  await test.node.advance(3 * minute);
  expect(await file(test, pod, 'chain.pem')).toBe(second);
  expect(await file(test, pod, 'key.pem')).not.toBe(key);
  expect(await test.node.kubelet.registry.scrape()).toContain(
    'kubelet_podcertificate_states{signer_name="example.com/signer",state="fresh"} 1',
  );
  expect(JSON.stringify(test.node.kubelet.timeline.ofPod(pod.metadata.uid))).not.toContain('PRIVATE KEY');
  await test.on.delete('web');
  await test.untilGone('web');
  await test.node.advance(5 * minute);
  expect(await test.node.kubelet.registry.scrape()).not.toContain('kubelet_podcertificate_states{');
}, 60_000);

it('a pod starts soon after a slow signer has issued its certificate', async () => {
  const test = await startMember();
  await createPod(test);
  const request = await nextRequest(test);
  await test.node.advance(20 * minute);
  expect((await mountErrors(test))[0]).toBe(
    'MountVolume.SetUp failed for volume "id" : credential bundle is not issued yet',
  );
  await issue(test, request);
  const askedMs = test.on.machine.time.now();
  await test.untilReady('web');
  expect(test.on.machine.time.now() - askedMs).toBeLessThan(10_000);
}, 60_000);

it('a pod whose certificate is denied waits for ever, and its event says why', async () => {
  const test = await startMember();
  await createPod(test);
  await refusePodCertificate(
    test.on.api,
    await nextRequest(test),
    'Denied',
    'unknown pod',
    test.on.machine.time.now(),
  );
  await test.node.advance(30 * minute);
  expect(await mountErrors(test)).toContain(
    'MountVolume.SetUp failed for volume "id" : PodCertificateRequest was permanently denied: reason="Test" message="unknown pod"',
  );
  const { items } = await test.on.api.list(resources.events);
  expect(items.filter(({ reason }) => reason === 'Denied')).toHaveLength(1);
  expect(await podCertificateRequests(test.on.api)).toHaveLength(1);
}, 60_000);

it('a server that does not serve the type leaves the pod waiting; other pods run, and the log is quiet', async () => {
  const test = await startMember();
  const error = new ApiError({ code: 404, reason: 'NotFound', message: 'no such resource' });
  test.on.api.faults.add({
    resource: resources.podCertificateRequests,
    fault: { kind: 'refuse', error },
    times: Number.POSITIVE_INFINITY,
  });
  await createPod(test);
  await test.node.advance(10 * minute);
  expect((await mountErrors(test))[0]).toMatch(/no credentials yet for key=\{default web \S+ id 0\}$/);
  expect((await test.on.pod('web')).status?.phase).toBe('Pending');
  const problems = test.node.kubelet.timeline.ofNode().filter(({ what }) => what === 'objects.watch');
  expect(problems).toHaveLength(1);
  await test.on.create('plain');
  await test.untilReady('plain');
}, 60_000);

it('the gate PodCertificateRequest switches them off', async () => {
  const { gates } = resolveFeatureGates({ PodCertificateRequest: false });
  const test = await startMember({ kubelet: { gates } });
  await createPod(test);
  await test.node.advance(minute);
  expect((await mountErrors(test))[0]).toContain('needs an API server and the feature gate');
  expect(await podCertificateRequests(test.on.api)).toEqual([]);
}, 60_000);

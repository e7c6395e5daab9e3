/** Certificates of pods from their request to their renewal, with a signer played by the test. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, TaskGroup, VirtualClock } from '../../async/index.js';
import type { Pod, PodCertificateProjection } from '../../kube/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { ApiError, type KubeApi, type PodCertificateRequest, resources } from '../../kube-client/index.js';
import { Registry } from '../../metrics/index.js';
import { Timeline } from '../../timeline/index.js';
import type { PodCertificateSource } from './contract.js';
import { podCertificateLimits } from './limits.js';
import { PodCertificateManager } from './manager.js';
import { registerPodCertificateStates } from './metrics.js';
import { issuePodCertificate, podCertificateRequests, refusePodCertificate } from './test-signer.js';

const minute = 60_000;
const hour = 60 * minute;
const nodeName = 'n1';
let clock: VirtualClock;
let api: SimulatedKubeApi;
let timeline: Timeline;
let tasks: TaskGroup;
let manager: PodCertificateManager;
let nodeUid: string | undefined;
let pods: Set<string>;
let settledTimes: number;
const { signal } = new AbortController();

beforeEach(async () => {
  clock = new VirtualClock();
  api = new SimulatedKubeApi({ clock });
  timeline = new Timeline({ clock });
  nodeUid = 'node-uid';
  pods = new Set(['pod-uid']);
  settledTimes = 0;
  tasks = new TaskGroup({
    onError: (_, error) => {
      throw error;
    },
  });
  await api.create(resources.serviceAccounts, { metadata: { namespace: 'shop', name: 'seller' } });
});
afterEach(async () => {
  await tasks.stop();
  expect(clock.pendingTimers).toBe(0);
});

function start(through: KubeApi = api): void {
  manager = new PodCertificateManager({
    clock,
    timeline,
    random: () => 0.5,
    nodeName,
    api: through,
    nodeUid: () => nodeUid,
    isPodKnown: (uid) => pods.has(uid),
    onSettled: () => {
      settledTimes += 1;
    },
  });
  tasks.start('certificates', (stopped) => manager.run(stopped));
}

const pod: Pod = {
  metadata: { namespace: 'shop', name: 'web', uid: 'pod-uid' },
  spec: { serviceAccountName: 'seller', containers: [] },
};
const source = (
  projection: Partial<PodCertificateProjection> = {},
  sourceIndex = 0,
): PodCertificateSource => ({
  pod,
  volumeName: 'certs',
  sourceIndex,
  projection: { signerName: 'example.com/signer', keyType: 'ED25519', ...projection },
});
const times = () => ({ notBeforeMs: clock.now(), lifeMs: hour, refreshAfterMs: 30 * minute });
const requests = () => podCertificateRequests(api);
const pending = async (): Promise<PodCertificateRequest> => {
  await settle();
  const found = (await requests()).filter(({ status }) => status?.conditions === undefined);
  expect(found).toHaveLength(1);
  return found[0]!;
};
/** What the volume gets within the time that it waits. */
const credential = async (of = source()) => {
  const asked = manager.credential(of, signal);
  asked.catch(() => undefined);
  await settle();
  await clock.advance(5_000);
  return asked;
};
const issueFirst = async (): Promise<string> => {
  const asked = manager.credential(source(), signal);
  const chain = await issuePodCertificate(api, await pending(), times());
  await settle();
  expect((await asked).chainPem).toBe(chain);
  return chain;
};
const events = (): string[] =>
  timeline.ofPod('pod-uid').flatMap(({ event, message }) => (event ? [`${event.reason}: ${message}`] : []));

/** An API server that does not serve the type. */
function older(): KubeApi {
  const refuse = async (): Promise<never> => {
    throw new ApiError({
      code: 404,
      reason: 'NotFound',
      message: 'the server could not find the requested resource',
    });
  };
  return new Proxy(api, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) =>
        args[0] === resources.podCertificateRequests ? refuse() : Reflect.apply(value, target, args);
    },
  });
}

describe('PodCertificateManager', () => {
  it('asks nobody before a pod needs a certificate', async () => {
    start();
    const before = api.calls.length;
    await clock.advance(hour);
    expect(api.calls).toHaveLength(before);
  });

  it('requests a certificate in the names of the pod, its service account and the node', async () => {
    start();
    const asked = manager.credential(
      source({ maxExpirationSeconds: 7200, userAnnotations: { 'example.com/a': 'b' } }),
      signal,
    );
    const { metadata, spec } = await pending();
    const account = await api.get(resources.serviceAccounts, { namespace: 'shop', name: 'seller' });
    expect(metadata).toMatchObject({
      namespace: 'shop',
      generateName: 'req-',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'pod-uid' }],
    });
    expect(spec).toEqual({
      signerName: 'example.com/signer',
      podName: 'web',
      podUID: 'pod-uid',
      serviceAccountName: 'seller',
      serviceAccountUID: account.metadata.uid,
      nodeName,
      nodeUID: 'node-uid',
      maxExpirationSeconds: 7200,
      stubPKCS10Request: expect.stringMatching(/^M/) as string,
      unverifiedUserAnnotations: { 'example.com/a': 'b' },
    });
    const chain = await issuePodCertificate(api, await pending(), times());
    await settle();
    const { keyPem, chainPem } = await asked;
    expect(keyPem).toMatch(/^-----BEGIN PRIVATE KEY-----\n[\s\S]+-----END PRIVATE KEY-----\n$/);
    expect(chainPem).toBe(chain);
    expect(settledTimes).toBe(1);
    expect(JSON.stringify(timeline.ofPod('pod-uid'))).not.toContain('PRIVATE KEY');
  });

  it('lets the mount fail while the signer is silent, and asks only once', async () => {
    start();
    for (let attempt = 0; attempt < 3; attempt++) {
      await expect(credential()).rejects.toThrow(/^credential bundle is not issued yet$/);
    }
    expect(await requests()).toHaveLength(1);
  });

  it('does not hold a volume that is given up', async () => {
    start();
    const stopped = new AbortController();
    const asked = manager.credential(source(), stopped.signal);
    await settle();
    stopped.abort();
    await expect(asked).rejects.toThrow();
  });

  it.each([
    ['Denied', 'was denied', 'permanently denied'],
    ['Failed', 'failed', 'permanently failed'],
  ] as const)('gives up when the signer says %s', async (type, told, text) => {
    start();
    const asked = manager.credential(source(), signal);
    const refused = expect(asked).rejects.toThrow(
      `PodCertificateRequest was ${text}: reason="Test" message="no"`,
    );
    const request = await pending();
    await refusePodCertificate(api, request, type, 'no', clock.now());
    await settle();
    await refused;
    const message = `PodCertificateRequest shop/${request.metadata.name} ${told}, reason="Test", message="no"`;
    expect(events()).toEqual([`${type}: ${message}`]);
    await clock.advance(2 * hour);
    await expect(manager.credential(source(), signal)).rejects.toThrow(text);
    expect(await requests()).toHaveLength(1);
  });

  it('refreshes at beginRefreshAt with up to 5 minutes of jitter, with a new key', async () => {
    start();
    const chain = await issueFirst();
    const old = await credential();
    await clock.advance(32 * minute - 5_000);
    expect(await requests()).toHaveLength(1);
    await clock.advance(minute);
    expect(await requests()).toHaveLength(2);
    // The old one serves until the new one is there.
    expect(await credential()).toEqual(old);
    const next = await issuePodCertificate(api, await pending(), times());
    await settle();
    const renewed = await credential();
    expect(renewed.chainPem).toBe(next);
    expect(renewed.chainPem).not.toBe(chain);
    expect(renewed.keyPem).not.toBe(old.keyPem);
    expect(events()).toEqual([]);
  });

  it('tells once that a refresh is overdue and that the certificate expired', async () => {
    start();
    await issueFirst();
    await clock.advance(2 * hour);
    expect(events()).toEqual([
      'CertificateOverdueForRefresh: PodCertificate refresh overdue',
      'CertificateExpired: PodCertificate expired',
    ]);
    // Whoever reads the files sees for himself.
    await expect(credential()).resolves.toMatchObject({});
  });

  it('requests again after 10 to 15 minutes when the request was deleted', async () => {
    start();
    const asked = credential();
    asked.catch(() => undefined);
    const { metadata } = await pending();
    await api.delete(resources.podCertificateRequests, { namespace: 'shop', name: metadata.name! });
    await expect(asked).rejects.toThrow('not issued yet');
    await clock.advance(12 * minute);
    expect(await requests()).toEqual([]);
    await clock.advance(minute);
    expect(await requests()).toHaveLength(1);
  });

  it('backs off and says why while a request cannot be made', async () => {
    nodeUid = undefined;
    start();
    await expect(credential()).rejects.toThrow(
      'credential bundle is not issued yet: the API has not shown this node yet',
    );
    await clock.advance(10 * minute);
    const problems = timeline.ofPod('pod-uid').filter(({ kind }) => kind === 'problem');
    expect(problems.map(({ message }) => message)).toEqual([
      'volume "certs", signer "example.com/signer": no certificate can be requested: the API has not shown this node yet',
    ]);
    nodeUid = 'node-uid';
    await clock.advance(2 * minute);
    expect(await requests()).toHaveLength(1);
  });

  it('asks a missing service account for nothing more often than every two minutes', async () => {
    await api.delete(resources.serviceAccounts, { namespace: 'shop', name: 'seller' });
    start();
    await expect(credential()).rejects.toThrow('serviceaccounts "seller" not found');
    await clock.advance(10 * minute);
    const before = api.calls.length;
    await clock.advance(20 * minute);
    const reads = api.calls.slice(before).filter(({ resource }) => resource === 'serviceaccounts');
    expect(reads.length).toBeLessThanOrEqual(10);
  });

  it('waits quietly for an API server that does not serve the type', async () => {
    start(older());
    await expect(credential()).rejects.toThrow('no credentials yet for key={shop web pod-uid certs 0}');
    await clock.advance(hour);
    await expect(credential()).rejects.toThrow('no credentials yet');
    expect(timeline.ofNode().filter(({ what }) => what === 'objects.watch')).toHaveLength(1);
    expect(events()).toEqual([]);
  });

  it('forgets a volume that is torn down, also in the middle of its request', async () => {
    start();
    const asked = expect(manager.credential(source(), signal)).rejects.toThrow('not issued yet');
    const request = await pending();
    manager.forget('pod-uid', 'other');
    expect(manager.states()).toHaveLength(1);
    manager.forget('pod-uid', 'certs');
    await asked;
    expect(manager.states()).toEqual([]);
    await issuePodCertificate(api, request, times());
    await clock.advance(2 * hour);
    expect(await requests()).toHaveLength(1);
  });

  it('forgets a pod that is gone, though its volume was never mounted', async () => {
    start();
    await expect(credential()).rejects.toThrow('not issued yet');
    pods.clear();
    await clock.advance(3 * minute);
    expect(manager.states()).toEqual([]);
    await clock.advance(2 * hour);
    expect(await requests()).toHaveLength(1);
  });

  it('bounds the sources of a pod', async () => {
    start();
    const most = podCertificateLimits.sourcesOfPod;
    const all = Array.from({ length: most }, (_, index) => manager.credential(source({}, index), signal));
    const outcomes = Promise.allSettled(all);
    await expect(manager.credential(source({}, most), signal)).rejects.toThrow('more than 32');
    await settle();
    expect(await requests()).toHaveLength(most);
    await clock.advance(5_000);
    await outcomes;
  });

  it('counts the sources by signer and state, and no others', async () => {
    const registry = new Registry();
    start();
    registerPodCertificateStates(registry, () => manager.states());
    const samples = async (): Promise<string[]> =>
      (await registry.scrape()).split('\n').filter((line) => line.startsWith('kubelet_podcertificate'));
    expect(await samples()).toEqual([]);
    const second = manager.credential(source({ signerName: 'example.com/other' }, 1), signal);
    second.catch(() => undefined);
    const line = (signer: string, state: string): string =>
      `kubelet_podcertificate_states{signer_name="example.com/${signer}",state="${state}"} 1`;
    await settle();
    expect(await samples()).toEqual([line('other', 'not_yet_issued')]);
    await refusePodCertificate(api, await pending(), 'Denied', 'no', clock.now());
    await issueFirst();
    expect((await samples()).sort()).toEqual([line('other', 'denied'), line('signer', 'fresh')]);
    manager.forget('pod-uid', 'certs');
    expect(await samples()).toEqual([]);
  });
});

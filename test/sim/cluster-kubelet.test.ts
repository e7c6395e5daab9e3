/** The lives of pods between an API server and a runtime, on simulated time: what the kubelet asks of each, and when. */
import { afterEach, describe, expect, it } from 'vitest';
import { resolveFeatureGates } from '../../src/config/index.js';
import { configMirrorAnnotation, isMirrorPod } from '../../src/kube/index.js';
import { ApiError, resources } from '../../src/kube-client/index.js';
import { generateKeyPem, makeCertificate } from '../../src/x509/certificate.js';
import { isReady, type Member, startMember } from './cluster-machine.js';
import { endNodes, nodeName, second } from './node.js';
import { staticName, staticPod } from './pods.js';
import { Outside, rootDir, volumePath } from './volume-node.js';

afterEach(endNodes);

const deletions = ({ on }: Member, name: string): number =>
  on.api.calls.filter((call) => call.verb === 'delete' && call.resource === 'pods' && call.name === name)
    .length;

const eventReasons = async ({ on }: Member, name: string): Promise<string[]> => {
  const { items } = await on.api.list(resources.events);
  return items.filter(({ involvedObject }) => involvedObject.name === name).map(({ reason }) => reason ?? '');
};

describe('a node of a cluster', () => {
  it('registers, renews its lease from the start, and reports itself', async () => {
    const { on, node } = await startMember();
    await node.advance(second);
    const registered = await on.api.get(resources.nodes, { name: nodeName });
    expect(registered.status?.nodeInfo?.kubeletVersion).toBe('v1.37.1');
    const lease = await on.api.get(resources.leases, { namespace: 'kube-node-lease', name: nodeName });
    expect(lease.spec).toMatchObject({ holderIdentity: nodeName, leaseDurationSeconds: 40 });
    expect(lease.metadata.ownerReferences).toMatchObject([{ kind: 'Node', uid: registered.metadata.uid }]);
  });

  it('whose object is deleted goes on with its pods, and takes new ones', async () => {
    const test = await startMember();
    await test.on.create('before');
    await test.untilReady('before');
    await test.on.api.delete(resources.nodes, { name: nodeName });
    await test.node.advance(5 * second);
    await test.on.create('after');
    await test.untilReady('after');
    expect(test.on.machine.running('before')).toHaveLength(1);
  });
});

describe('a pod of the API', { timeout: 30_000 }, () => {
  it('runs, and what it becomes is written with few calls', async () => {
    const test = await startMember();
    await test.on.create('web');
    const pod = await test.untilReady('web');
    expect(pod.status).toMatchObject({ phase: 'Running', observedGeneration: 1, qosClass: 'BestEffort' });
    // What tells of the pod waits until it stands.
    await test.node.advance(second / 2);
    expect(await eventReasons(test, 'web')).toEqual(['Pulling', 'Pulled', 'Created', 'Started']);
    const patches = test.on.api.calls.filter(
      ({ verb, name, subresource }) => verb === 'patch' && name === 'web' && subresource === 'status',
    );
    expect(patches.length).toBeLessThanOrEqual(3);
    const before = test.on.api.calls.length;
    await test.node.advance(9 * second);
    expect(test.on.api.calls.slice(before).filter(({ resource }) => resource === 'pods')).toEqual([]);
  });

  it('is deleted with its grace, and leaves the API when nothing of it runs, by its UID', async () => {
    const test = await startMember();
    await test.on.create('web', { graceSeconds: 30, sim: { 'stop-delay': '20s' } });
    const { metadata } = await test.untilReady('web');
    await test.on.delete('web');
    await test.node.advance(19 * second);
    expect((await test.on.pod('web')).metadata.uid).toBe(metadata.uid);
    expect(test.on.machine.running('web')).toHaveLength(1);
    expect(deletions(test, 'web')).toBe(1);
    await test.untilGone('web', 10 * second);
    expect(test.on.machine.running('web')).toEqual([]);
    expect(deletions(test, 'web')).toBe(2);
    expect(await eventReasons(test, 'web')).toContain('Killing');
  });

  it('that is deleted while the API is away is gone when it is back', async () => {
    const test = await startMember();
    await test.on.create('web', { graceSeconds: 2, sim: { 'stop-delay': '1s' } });
    await test.untilReady('web');
    await test.on.delete('web');
    await test.node.advance(100);
    test.on.api.setReachable(false);
    await test.node.untilStopped('web');
    await test.node.advance(30 * second);
    test.on.api.setReachable(true);
    await test.untilGone('web');
  });

  it('taken by force from the API is ended with the grace of its spec', async () => {
    const test = await startMember();
    await test.on.create('web', { graceSeconds: 10, sim: { 'stop-delay': '8s' } });
    await test.untilReady('web');
    await test.on.delete('web', 0);
    await test.node.advance(5 * second);
    expect(test.on.machine.running('web')).toHaveLength(1);
    await test.node.untilStopped('web', 10 * second);
    await test.node.advance(5 * second);
    expect(test.on.machine.seenContainers('web')).toEqual([]);
  });

  it('whose image changes has that container replaced, and the new generation observed', async () => {
    const test = await startMember();
    await test.on.create('web', { containers: ['app', 'other'] });
    await test.untilReady('web');
    const [other] = test.on.machine.running('web').filter(({ name }) => name === 'other');
    await test.on.patch('web', { spec: { containers: [{ name: 'app', image: 'app:2' }] } });
    const pod = await test.until(
      'runs the new image',
      'web',
      (found) => isReady(found) && found.status?.containerStatuses?.[0]?.restartCount === 1,
    );
    expect(pod.status?.observedGeneration).toBe(2);
    const running = test.on.machine.running('web');
    expect(running.map(({ name, image }) => `${name} ${image}`).sort()).toEqual(['app app:2', 'other app:1']);
    expect(running).toContainEqual(other);
  });

  it('whose status others change has it back within ten seconds, without being restarted', async () => {
    const test = await startMember();
    await test.on.create('web');
    await test.untilReady('web');
    const before = test.on.machine.running('web');
    await test.on.patch('web', { status: { message: 'not from here', containerStatuses: [] } }, 'status');
    await test.until(
      'has its own status again',
      'web',
      ({ status }) => status?.message === undefined && status?.containerStatuses?.length === 1,
      11 * second,
    );
    expect(test.on.machine.running('web')).toEqual(before);
  });

  it('that the node cannot run is refused for good, and can be deleted', async () => {
    const test = await startMember();
    await test.on.create('web', { spec: { os: { name: 'windows' } } });
    const { status } = await test.until('is refused', 'web', (pod) => pod.status?.phase === 'Failed');
    expect(status).toMatchObject({
      reason: 'PodOSNotSupported',
      message: "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS",
    });
    expect(status?.containerStatuses).toBeUndefined();
    expect(test.on.machine.seenSandboxes()).toEqual([]);
    await test.on.delete('web');
    await test.untilGone('web');
  });

  it('of the same name with a new UID starts while the old one still ends', async () => {
    const test = await startMember();
    const old = await test.on.create('web', { graceSeconds: 30, sim: { 'stop-delay': '20s' } });
    await test.untilReady('web');
    await test.on.delete('web', 0);
    const next = await test.on.create('web', { image: 'app:2' });
    const ready = await test.untilReady('web');
    expect(ready.metadata.uid).toBe(next.metadata.uid);
    expect(test.on.machine.running('web').map(({ podUid }) => podUid)).toContain(old.metadata.uid);
    await test.node.advance(30 * second);
    expect(test.on.machine.running('web').map(({ podUid }) => podUid)).toEqual([next.metadata.uid]);
    expect((await test.on.pod('web')).status?.phase).toBe('Running');
  });

  it('with a ConfigMap waits for it, and sees it change', async () => {
    const test = await startMember();
    const { metadata } = await test.on.create('web', {
      containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'c', mountPath: '/c' }] }],
      spec: { volumes: [{ name: 'c', configMap: { name: 'settings' } }] },
    });
    await test.node.advance(3 * second);
    expect((await test.on.pod('web')).status?.phase).toBe('Pending');
    expect(await eventReasons(test, 'web')).toContain('FailedMount');
    await test.on.createConfigMap('settings', { color: 'red' });
    await test.untilReady('web');
    const outside = new Outside(test.on.files);
    const file = `${rootDir}/pods/${metadata.uid}/volumes/kubernetes.io~configmap/c/color`;
    expect(await outside.text(file)).toBe('red');
    await test.on.updateConfigMap('settings', { color: 'blue' });
    await test.node.advance(90 * second);
    expect(await outside.text(file)).toBe('blue');
  });
});

describe('what the API learns a moment after the node', { timeout: 30_000 }, () => {
  it('that the node may read what its pod needs: it is asked again before anybody is told', async () => {
    const test = await startMember();
    await test.on.createConfigMap('settings', { color: 'red' });
    const error = new ApiError({ code: 403, reason: 'Forbidden', message: 'no relationship found' });
    const fault = { kind: 'refuse', error } as const;
    test.on.api.faults.add({ verb: 'list', resource: resources.configMaps, fault, times: 3 });
    await test.on.create('web', {
      containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'c', mountPath: '/c' }] }],
      spec: { volumes: [{ name: 'c', configMap: { name: 'settings' } }] },
    });
    await test.untilReady('web');
    expect(await eventReasons(test, 'web')).not.toContain('FailedMount');
  });
});

describe('the mirror of a static pod', { timeout: 30_000 }, () => {
  const name = staticName('still');

  it('is made, shows the status, and comes back under a new UID without the pod being touched', async () => {
    const test = await startMember({ statics: [staticPod('still')] });
    const mirror = await test.untilReady(name);
    expect(isMirrorPod(mirror)).toBe(true);
    expect(mirror.metadata.ownerReferences).toMatchObject([
      { kind: 'Node', name: nodeName, controller: true },
    ]);
    const before = test.on.machine.running();
    await test.on.delete(name);
    const next = await test.until(
      'is made again',
      name,
      (pod) => isReady(pod) && pod.metadata.uid !== mirror.metadata.uid,
    );
    expect(next.metadata.annotations?.[configMirrorAnnotation]).toBe(
      mirror.metadata.annotations?.[configMirrorAnnotation],
    );
    expect(test.on.machine.running()).toEqual(before);
  });

  it('goes when its pod has ended, not before', async () => {
    const statics = [staticPod('still', { graceSeconds: 20, sim: { 'stop-delay': '10s' } })];
    const test = await startMember({ statics });
    const { metadata } = await test.untilReady(name);
    test.node.set([], 'file');
    await test.node.advance(8 * second);
    expect((await test.on.pod(name)).metadata.uid).toBe(metadata.uid);
    await test.untilGone(name);
    expect(test.on.machine.running()).toEqual([]);
  });

  it('of another content is replaced', async () => {
    const test = await startMember({ statics: [staticPod('still')] });
    const { metadata } = await test.untilReady(name);
    test.node.set([staticPod('still', { image: 'app:2' })], 'file');
    const next = await test.until(
      'is another',
      name,
      (pod) => isReady(pod) && pod.metadata.uid !== metadata.uid,
    );
    expect(next.spec.containers[0]?.image).toBe('app:2');
    expect(test.on.machine.running().map(({ image }) => image)).toEqual(['app:2']);
  });
});

it('a trust bundle of the cluster is a file of its pod, and follows the cluster', async () => {
  const pem = (name: string): string =>
    makeCertificate({
      subject: { commonName: name },
      keyPem: generateKeyPem(),
      notBeforeMs: 0,
      notAfterMs: Date.UTC(2099, 0, 1),
      isAuthority: true,
    });
  const bundle = (trustBundle: string) => ({ metadata: { name: 'roots' }, spec: { trustBundle } });
  const { gates } = resolveFeatureGates({ ClusterTrustBundle: true, ClusterTrustBundleProjection: true });
  const test = await startMember({ kubelet: { gates } });
  const [first, second] = [pem('first'), pem('second')];
  await test.on.api.create(resources.clusterTrustBundles, bundle(first));
  await test.on.create('web', {
    containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'trust', mountPath: '/trust' }] }],
    spec: {
      volumes: [
        {
          name: 'trust',
          projected: { sources: [{ clusterTrustBundle: { name: 'roots', path: 'ca.pem' } }] },
        },
      ],
    },
  });
  const pod = await test.untilReady('web');
  const text = async (): Promise<string | undefined> =>
    (await new Outside(test.on.files).text(`${volumePath(pod, 'projected', 'trust')}/ca.pem`))?.trim();
  expect(await text()).toBe(first.trim());
  await test.on.api.update(resources.clusterTrustBundles, bundle(second));
  await test.node.advance(120_000);
  expect(await text()).toBe(second.trim());
}, 30_000);

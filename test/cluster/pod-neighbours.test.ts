/** Pods and the objects they depend on or belong to: pull secrets, runtime classes, namespaces, finalizers, new images. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Container, Pod } from '../../src/kube/index.js';
import { resources } from '../../src/kube-client/index.js';
import { buildBusyboxImage, startRegistry, type TestRegistry, testImages } from '../env/index.js';
import {
  busybox,
  type Cluster,
  condition,
  container,
  eventually,
  forever,
  isReady,
  podManifest,
  startCluster,
  waitingReason,
} from './cluster.js';

const auth = { user: 'puller', password: 'let-me-in' };
let cluster: Cluster;
let registry: TestRegistry;
beforeAll(async () => {
  cluster = await startCluster({ node: { config: { serializeImagePulls: false } } });
  registry = await startRegistry({ auth, cleanups: cluster.cleanups });
  cluster.node.containerd.useRegistry(registry.host, registry.url);
});
afterAll(() => cluster?.stop());

const app = (fields: Partial<Container>): Container => ({
  name: 'app',
  image: busybox,
  command: forever,
  ...fields,
});

describe.concurrent('pull secrets', () => {
  const pushed = async (name: string): Promise<string> =>
    registry.push(await buildBusyboxImage({ name: `nodelet.test/${name}:1`, config: {} }, []));
  const pullSecret = (name: string): object => {
    const encoded = Buffer.from(`${auth.user}:${auth.password}`).toString('base64');
    const config = JSON.stringify({ auths: { [registry.host]: { auth: encoded } } });
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: 'default' },
      type: 'kubernetes.io/dockerconfigjson',
      stringData: { '.dockerconfigjson': config },
    };
  };

  it('of the API let a pod pull what is not for everybody', async () => {
    const image = await pushed('private');
    await cluster.apply(pullSecret('registry'));
    await cluster.apply(
      podManifest('private', { imagePullSecrets: [{ name: 'registry' }], containers: [app({ image })] }),
    );
    await cluster.untilReady('private');
    const { message } = await cluster.untilEvent('private', 'Pulled');
    expect(message).toMatch(
      /^Successfully pulled image ".*" in .* \(.* including waiting\)\. Image size: \d+ bytes\.$/,
    );
  });

  it('that are missing are told, and tried again when they come', async () => {
    const image = await pushed('locked');
    await cluster.apply(
      podManifest('locked', { imagePullSecrets: [{ name: 'not-yet' }], containers: [app({ image })] }),
    );
    const refused = await cluster.untilPod('locked', 'is refused', (pod) =>
      ['ErrImagePull', 'ImagePullBackOff'].includes(waitingReason(pod) ?? ''),
    );
    expect(container(refused).state?.waiting?.message).toMatch(
      /401 Unauthorized|authorization failed|no basic auth/,
    );
    const told = await cluster.untilEvent('locked', 'FailedToRetrieveImagePullSecret');
    expect([told.type, told.message]).toEqual([
      'Warning',
      'Unable to retrieve some image pull secrets (not-yet); attempting to pull the image may not succeed.',
    ]);
    await cluster.apply(pullSecret('not-yet'));
    await cluster.untilReady('locked');
  });
});

describe.concurrent('runtime classes', () => {
  const runtimeClass = (name: string, handler: string): object => ({
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: { name },
    handler,
  });

  it('name the runtime of a pod', async () => {
    await cluster.apply(runtimeClass('usual', 'runc'), runtimeClass('unknown', 'none'));
    await cluster.apply(
      podManifest('usual', { runtimeClassName: 'usual' }),
      podManifest('unknown', { runtimeClassName: 'unknown' }),
    );
    await cluster.untilReady('usual');
    const { message } = await cluster.untilEvent('unknown', 'FailedCreatePodSandBox');
    expect(message).toMatch(
      /^Failed to create pod sandbox: rpc error: .*no runtime for "none" is configured/,
    );
    const waits = (pod: Pod): boolean => condition(pod, 'PodReadyToStartContainers') === 'False';
    await cluster.untilPod('unknown', 'has no sandbox', waits);
    await cluster.delete('usual', 'unknown');
  });
});

describe.concurrent('a pod', () => {
  it('starts a container anew when its image is changed', async () => {
    await cluster.apply(podManifest('renewed'));
    const before = await cluster.untilReady('renewed');
    await cluster.kubectl('set', 'image', 'pod/renewed', `app=${testImages.nonroot}`);
    const after = await cluster.untilPod(
      'renewed',
      'runs anew',
      (pod) => isReady(pod) && container(pod).restartCount === 1,
    );
    expect(container(after).image).toBe(testImages.nonroot);
    expect(container(after).containerID).not.toBe(container(before).containerID);
    expect(after.status?.podIP).toBe(before.status?.podIP);
    expect(await cluster.exec('renewed', 'id', '-u')).toBe('1000\n');
    expect((await cluster.untilEvent('renewed', 'Killing')).message).toBe(
      'Container app definition changed, will be restarted',
    );
    await cluster.delete('renewed');
  });

  it('with a finalizer is stopped and stays in the API until it is let go', async () => {
    const finalizer = 'nodelet.test/hold';
    await cluster.apply(podManifest('held', {}, { finalizers: [finalizer] }));
    await cluster.untilReady('held');
    await cluster.kubectl('delete', 'pod', 'held', '--wait=false');
    const held = await cluster.untilPod(
      'held',
      'is stopped',
      ({ metadata }) => metadata.deletionGracePeriodSeconds === 0,
    );
    expect(held.status?.phase).toBe('Succeeded');
    expect(container(held).state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    expect(await cluster.running('held')).toEqual([]);
    await cluster.kubectl('patch', 'pod', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":null}}');
    await cluster.untilGone('held');
  });

  it('goes with its namespace', async () => {
    const namespace = 'brief';
    await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await cluster.plane.waitFor(
      resources.serviceAccounts,
      { namespace, name: 'default' },
      'is made',
      () => true,
    );
    await cluster.apply(podManifest('gone', {}, { namespace }), podManifest('gone-too', {}, { namespace }));
    await cluster.kubectl('wait', '--for=condition=Ready', 'pod', '--all', '-n', namespace, '--timeout=60s');
    await cluster.kubectl('delete', 'namespace', namespace, '--timeout=60s');
    await eventually('nothing runs', async () => (await cluster.running('gone')).length === 0);
  });
});

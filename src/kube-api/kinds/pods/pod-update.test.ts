import { beforeEach, describe, expect, it } from 'vitest';
import type { Pod } from '../../../kube/types/index.js';
import type { ObjectSubresource } from '../../../kube-client/resources.js';
import { resources } from '../../../kube-client/resources.js';
import type { ServedApi } from '../../server.js';
import { change, createIn, refusalOf, testApi, testPod } from '../kinds-test-api.js';

let api: ServedApi;
const requests = { cpu: '100m', memory: '64Mi' };
const app = { name: 'app', image: 'busybox', resources: { requests } };

beforeEach(async () => {
  ({ api } = await testApi());
  await createIn(
    api,
    resources.pods,
    testPod({
      containers: [app],
      automountServiceAccountToken: false,
      activeDeadlineSeconds: 100,
      schedulingGates: [{ name: 'a' }, { name: 'b' }],
    }),
  );
});

const present = (): Pod => api.get(resources.pods, { namespace: 'shop', name: 'web' });
const put = (spec: Partial<Pod['spec']>, subresource?: ObjectSubresource): Promise<Pod> =>
  api.update(resources.pods, { ...present(), spec: { ...present().spec, ...spec } }, { subresource });
const other = { key: 'other', operator: 'Exists' };

describe('an update', () => {
  it.each<[string, () => Partial<Pod['spec']>]>([
    ['another image', () => ({ containers: [{ ...present().spec.containers[0]!, image: 'busybox:2' }] })],
    ['a shorter deadline', () => ({ activeDeadlineSeconds: 50 })],
    ['one toleration more', () => ({ tolerations: [...present().spec.tolerations!, other] })],
    [
      'another time of a toleration',
      () => ({ tolerations: present().spec.tolerations!.map((one) => ({ ...one, tolerationSeconds: 1 })) }),
    ],
    ['one gate less', () => ({ schedulingGates: [{ name: 'b' }] })],
    ['fewer nodes while there are gates', () => ({ nodeSelector: { disk: 'fast' } })],
  ])('may bring %s', async (_rule, spec) => {
    const before = present().metadata.generation!;
    expect((await put(spec())).metadata.generation).toBe(before + 1);
  });

  it.each<[string, Partial<Pod['spec']>, string]>([
    [
      'one container more',
      { containers: [app, { ...app, name: 'b' }] },
      'spec.containers: Forbidden: pod updates may not add or remove containers',
    ],
    [
      'a longer deadline',
      { activeDeadlineSeconds: 200 },
      'spec.activeDeadlineSeconds: Invalid value: 200: must be less than or equal to previous value',
    ],
    [
      'no toleration',
      { tolerations: [{ operator: 'Exists' }] },
      'spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds',
    ],
    [
      'one gate more',
      { schedulingGates: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] },
      "spec.schedulingGates[2]: Forbidden: only deletion is allowed, but found new scheduling gate 'c'",
    ],
    [
      'the network of the host',
      { hostNetwork: true },
      'spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`',
    ],
    [
      'a node',
      { nodeName: 'n', schedulingGates: [] },
      'spec: Forbidden: pod updates may not change fields other than',
    ],
    [
      'another grace',
      { terminationGracePeriodSeconds: 1 },
      'spec: Forbidden: pod updates may not change fields other than',
    ],
  ])('may not bring %s', async (_rule, spec, why) => {
    expect(await refusalOf(put(spec))).toContain(`422 Pod "web" is invalid: ${why}`);
  });

  it('changes labels freely', async () => {
    const { metadata } = await change(api, resources.pods, 'web', { metadata: { labels: { a: 'b' } } });
    expect(metadata).toMatchObject({ labels: { a: 'b' }, generation: 1 });
  });
});

describe('ephemeral containers', () => {
  const debug = { name: 'debug', image: 'busybox' };
  it('are added, and stay', async () => {
    const pod = await put({ ephemeralContainers: [debug], hostNetwork: true }, 'ephemeralcontainers');
    expect(pod.spec.ephemeralContainers).toMatchObject([{ ...debug, terminationMessagePolicy: 'File' }]);
    expect(pod.spec.hostNetwork).toBeUndefined();
    await change(api, resources.pods, 'web', { metadata: { labels: { a: 'b' } } });
    expect(await refusalOf(put({ ephemeralContainers: [] }, 'ephemeralcontainers'))).toContain(
      'existing ephemeral containers "debug" may not be removed',
    );
  });
  it.each([
    [
      'the name of another',
      { ...debug, name: 'app' },
      'spec.ephemeralContainers[0].name: Duplicate value: "app"',
    ],
    [
      'ports',
      { ...debug, ports: [{ containerPort: 80 }] },
      'spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container',
    ],
    [
      'an unknown target',
      { ...debug, targetContainerName: 'x' },
      'spec.ephemeralContainers[0].targetContainerName: Not found: "x"',
    ],
  ])('with %s are refused', async (_rule, container, why) => {
    expect(await refusalOf(put({ ephemeralContainers: [container] }, 'ephemeralcontainers'))).toContain(why);
  });
  it('do not come with a new pod', async () => {
    const pod = testPod({ ephemeralContainers: [debug] }, { name: 'new' });
    expect(await refusalOf(createIn(api, resources.pods, pod))).toContain(
      'spec.ephemeralContainers: Forbidden: cannot be set on create',
    );
  });
});

describe('a resize', () => {
  const sized = (resources_: object): Partial<Pod['spec']> => ({
    containers: [{ ...app, resources: resources_ }],
  });
  it('changes amounts and nothing else', async () => {
    const pod = await put(
      { ...sized({ requests: { cpu: '200m', memory: '64Mi' } }), hostNetwork: true },
      'resize',
    );
    expect(pod.spec.containers[0]?.resources?.requests).toEqual({ cpu: '200m', memory: '64Mi' });
    expect(pod.spec.hostNetwork).toBeUndefined();
    expect(pod.metadata.generation).toBe(2);
  });
  it.each([
    [
      'of something else',
      { requests: { ...requests, 'ephemeral-storage': '1' } },
      'only cpu and memory resources are mutable',
    ],
    ['to no request', { requests: { cpu: '1' } }, 'resource requests cannot be removed'],
    [
      'to another class of service',
      { requests, limits: requests },
      'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
    ],
  ])('%s is refused', async (_rule, amounts, why) => {
    expect(await refusalOf(put(sized(amounts), 'resize'))).toContain(why);
  });
});

describe('a resize of a container that runs once, before all others,', () => {
  const wanted = { cpu: '200m', memory: '64Mi' };
  const resized = async (restartPolicy: string): Promise<Pod> => {
    const setUp = { ...app, name: 'set-up', resizePolicy: [{ resourceName: 'cpu', restartPolicy }] };
    await createIn(
      api,
      resources.pods,
      testPod({ initContainers: [setUp], automountServiceAccountToken: false }, { name: 'once' }),
    );
    const pod = api.get(resources.pods, { namespace: 'shop', name: 'once' });
    const initContainers = [{ ...pod.spec.initContainers![0]!, resources: { requests: wanted } }];
    return api.update(
      resources.pods,
      { ...pod, spec: { ...pod.spec, initContainers } },
      { subresource: 'resize' },
    );
  };
  it('is taken while it may run on', async () => {
    const { spec } = await resized('NotRequired');
    expect(spec.initContainers?.[0]?.resources?.requests).toEqual(wanted);
  });
  it('is refused when it would run anew', async () => {
    expect(await refusalOf(resized('RestartContainer'))).toContain(
      'spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer cannot be resized',
    );
  });
});

it('a status keeps the class of service and tells the address twice', async () => {
  const pod = await change(
    api,
    resources.pods,
    'web',
    { status: { qosClass: null, podIP: '10.0.0.9' } },
    'status',
  );
  expect(pod.status).toMatchObject({
    qosClass: 'Burstable',
    podIP: '10.0.0.9',
    podIPs: [{ ip: '10.0.0.9' }],
  });
});

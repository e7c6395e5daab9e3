import { beforeEach, describe, expect, it } from 'vitest';
import type { VirtualClock } from '../../../async/index.js';
import type { Pod } from '../../../kube/types/index.js';
import { resources } from '../../../kube-client/resources.js';
import type { ServedApi } from '../../server.js';
import { createIn, refusalOf, testApi, testPod } from '../kinds-test-api.js';

let api: ServedApi;
let clock: VirtualClock;
beforeEach(async () => {
  ({ api, clock } = await testApi());
});

const create = (spec: Partial<Pod['spec']> = {}, metadata: Partial<Pod['metadata']> = {}): Promise<Pod> =>
  createIn(api, resources.pods, testPod(spec, metadata));

describe('the account of a pod', () => {
  it('is the default one, with its token in all containers', async () => {
    const pod = await create({ initContainers: [{ name: 'first', image: 'busybox' }] });
    expect(pod.spec).toMatchObject({ serviceAccountName: 'default', serviceAccount: 'default' });
    const [volume] = pod.spec.volumes ?? [];
    expect(volume?.name).toMatch(/^kube-api-access-[a-z0-9]{5}$/);
    expect(volume?.projected).toEqual({
      defaultMode: 420,
      sources: [
        { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
    });
    const mount = {
      name: volume?.name,
      readOnly: true,
      mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
    };
    expect(pod.spec.containers[0]?.volumeMounts).toEqual([mount]);
    expect(pod.spec.initContainers?.[0]?.volumeMounts).toEqual([mount]);
  });

  it.each([
    ['the pod wants no token', { automountServiceAccountToken: false }, undefined, 0],
    ['the account gives no token', {}, false, 0],
    ['the pod wants it though the account gives none', { automountServiceAccountToken: true }, false, 1],
  ])('%s', async (_rule, spec, automount, volumes) => {
    await createIn(api, resources.serviceAccounts, {
      metadata: { name: 'robot' },
      ...(automount === undefined ? {} : { automountServiceAccountToken: automount }),
    });
    const pod = await create({ serviceAccountName: 'robot', ...spec });
    expect(pod.spec.volumes ?? []).toHaveLength(volumes);
  });

  it('brings its pull secrets, unless the pod has its own', async () => {
    await createIn(api, resources.serviceAccounts, {
      metadata: { name: 'robot' },
      imagePullSecrets: [{ name: 'registry' }],
    });
    expect((await create({ serviceAccountName: 'robot' })).spec.imagePullSecrets).toEqual([
      { name: 'registry' },
    ]);
    const own = await create(
      { serviceAccountName: 'robot', imagePullSecrets: [{ name: 'mine' }] },
      { name: 'b' },
    );
    expect(own.spec.imagePullSecrets).toEqual([{ name: 'mine' }]);
  });

  it('is needed', async () => {
    expect(await refusalOf(create({ serviceAccountName: 'nobody' }))).toBe(
      '403 pods "web" is forbidden: error looking up service account shop/nobody: serviceaccount "nobody" not found',
    );
  });

  it('is not for mirror pods', async () => {
    const pod = await create({}, { annotations: { 'kubernetes.io/config.mirror': 'x' } });
    expect(pod.spec.volumes).toBeUndefined();
  });

  it('is awaited for a second in a new namespace', async () => {
    await api.create(resources.namespaces, { metadata: { name: 'new' } }, undefined);
    const early = api.create(resources.pods, testPod(), 'new');
    await api.create(resources.serviceAccounts, { metadata: { name: 'default' } }, 'new');
    expect((await early).spec.serviceAccountName).toBe('default');
    await api.create(resources.namespaces, { metadata: { name: 'empty' } }, undefined);
    const late = refusalOf(api.create(resources.pods, testPod(), 'empty'));
    await clock.advance(1000);
    expect(await late).toContain('403 pods "web" is forbidden: error looking up service account');
  });
});

describe('tolerations', () => {
  const seconds = (key: string, tolerationSeconds: number) => ({
    key: `node.kubernetes.io/${key}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds,
  });
  it.each([
    ['both by default', [], [seconds('not-ready', 300), seconds('unreachable', 300)]],
    [
      'the pod has one of them',
      [seconds('not-ready', 5)],
      [seconds('not-ready', 5), seconds('unreachable', 300)],
    ],
    ['the pod tolerates everything', [{ operator: 'Exists' }], [{ operator: 'Exists' }]],
  ])('%s', async (_rule, given, expected) => {
    expect((await create({ tolerations: given })).spec.tolerations).toEqual(expected);
  });
});

describe('priority', () => {
  beforeEach(async () => {
    await createIn(api, resources.priorityClasses, {
      metadata: { name: 'high' },
      value: 1000,
      preemptionPolicy: 'Never',
    });
  });
  it.each([
    ['none', {}, { priority: 0, preemptionPolicy: 'PreemptLowerPriority' }],
    ['a class', { priorityClassName: 'high' }, { priority: 1000, preemptionPolicy: 'Never' }],
    ['a class of the system', { priorityClassName: 'system-node-critical' }, { priority: 2_000_001_000 }],
  ])('%s', async (_rule, spec, expected) => {
    expect((await create(spec)).spec).toMatchObject(expected);
  });
  it('of the default class', async () => {
    await createIn(api, resources.priorityClasses, {
      metadata: { name: 'usual' },
      value: 7,
      globalDefault: true,
    });
    expect((await create()).spec).toMatchObject({ priority: 7, priorityClassName: 'usual' });
  });
  it.each([
    ['no such class', { priorityClassName: 'x' }, 'no PriorityClass with name x was found'],
    ['another number', { priority: 5 }, 'the integer value of priority (5) must not be provided in pod spec'],
    [
      'another policy',
      { preemptionPolicy: 'Never' },
      'the string value of PreemptionPolicy (Never) must not be provided in pod spec',
    ],
  ])('%s is refused', async (_rule, spec, why) => {
    expect(await refusalOf(create(spec))).toContain(`403 pods "web" is forbidden: ${why}`);
  });
});

describe('the class of the runtime', () => {
  beforeEach(async () => {
    await createIn(api, resources.runtimeClasses, {
      metadata: { name: 'vm' },
      handler: 'vm',
      overhead: { podFixed: { memory: '64Mi' } },
      scheduling: { nodeSelector: { vm: 'yes' }, tolerations: [{ key: 'vm', operator: 'Exists' }] },
    });
  });
  it('brings its overhead and where it is', async () => {
    const { spec } = await create({ runtimeClassName: 'vm' });
    expect(spec).toMatchObject({ overhead: { memory: '64Mi' }, nodeSelector: { vm: 'yes' } });
    expect(spec.tolerations).toContainEqual({ key: 'vm', operator: 'Exists' });
  });
  it.each([
    ['no such class', { runtimeClassName: 'x' }, 'pod rejected: RuntimeClass "x" not found'],
    [
      'overhead without a class',
      { overhead: { cpu: '1' } },
      'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
    ],
    [
      'another overhead',
      { runtimeClassName: 'vm', overhead: { cpu: '1' } },
      "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    ],
    [
      'other nodes',
      { runtimeClassName: 'vm', nodeSelector: { vm: 'no' } },
      'conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no',
    ],
  ])('%s is refused', async (_rule, spec, why) => {
    expect(await refusalOf(create(spec))).toBe(`403 pods "web" is forbidden: ${why}`);
  });
});

it('a gated pod says so', async () => {
  const pod = await create({ schedulingGates: [{ name: 'wait' }] });
  expect(pod.status?.conditions).toMatchObject([{ type: 'PodScheduled', reason: 'SchedulingGated' }]);
});

it.each([
  [
    'a pod without a spec',
    { metadata: { name: 'web' } },
    '422 Pod "web" is invalid: spec.containers: Required value',
  ],
  [
    'a spec that is no mapping',
    { metadata: { name: 'web' }, spec: 7 },
    '400 Pod in version "v1" cannot be handled as a Pod',
  ],
  [
    'containers that are no list',
    { metadata: { name: 'web' }, spec: { containers: { a: 1 } } },
    '400 Pod in version "v1" cannot be handled as a Pod',
  ],
])('%s is refused', async (_rule, object, text) => {
  expect(await refusalOf(createIn(api, resources.pods, object))).toContain(text);
});

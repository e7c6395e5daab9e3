/** The decisions of dynamic resources, as tables. */
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Pod } from '../../kube/index.js';
import type { ResourceClaim } from '../../kube-client/index.js';
import { formatDraCheckpoint, parseDraCheckpoint } from './checkpoint.js';
import type { ClaimRecord, PreparedDevice } from './contracts.js';
import { cdiDevicesOf } from './devices.js';
import type { DeviceHealth } from './gen/dra-health.js';
import { applyReport, cutMessage, healthNow, type KnownHealth } from './health.js';
import { formatHealthFile, parseHealthFile } from './health-file.js';
import { claimHealth } from './health-status.js';
import { judgePrepared } from './judge-answer.js';
import { driversOf, judgeClaim } from './judge-claim.js';
import { draLimits } from './limits.js';
import { claimsOfPod, isBackedByClaim } from './pod-claims.js';
import { chooseServices } from './services.js';
import { claimPod } from './test-world.js';

describe('the services of a plugin', () => {
  const known = '(["v1.DRAPlugin" "v1beta1.DRAPlugin"])';
  const refused: [versions: string[], problem: string][] = [
    [[], 'empty list of supported gRPC services (aka supported versions)'],
    [['1.0.0'], `none of services supported by the plugin (["1.0.0"]) are supported by the kubelet ${known}`],
    [
      ['v1.DRAResourceHealth', 'constructor'],
      `none of services supported by the plugin (["v1.DRAResourceHealth" "constructor"]) are supported by the kubelet ${known}`,
    ],
  ];
  it.each(refused)('%j is refused', (versions, problem) => {
    expect(chooseServices(versions)).toEqual({ kind: 'refused', problem });
  });

  const chosen: [versions: string[], prepare: string, health: string | undefined][] = [
    [['v1.DRAPlugin'], '/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources', undefined],
    [
      ['v1beta1.DRAPlugin', 'v1.DRAPlugin'],
      '/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources',
      undefined,
    ],
    [
      ['x', 'v1alpha1.DRAResourceHealth', 'v1.DRAPlugin', 'v1.DRAResourceHealth'],
      '/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources',
      '/v1.DRAResourceHealth/NodeWatchResources',
    ],
    [
      ['v1.DRAPlugin', 'v1alpha1.DRAResourceHealth'],
      '/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources',
      '/v1alpha1.DRAResourceHealth/NodeWatchResources',
    ],
  ];
  it.each(chosen)('of %j the first known one is used', (versions, prepare, health) => {
    const services = chooseServices(versions);
    if (services.kind === 'refused') throw new Error(services.problem);
    expect(services.prepare.nodePrepareResources.path).toBe(prepare);
    expect(services.health?.path).toBe(health);
  });
});

describe('the claims of a pod', () => {
  const withClaims = (spec: Partial<Pod['spec']>, status?: Pod['status']): Pod => ({
    ...claimPod('p', [], spec),
    ...(status === undefined ? {} : { status }),
  });
  const template = { resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 't' }] };

  it('has the direct ones, those made from templates and the one behind extended resources', () => {
    const pod = withClaims(
      { resourceClaims: [{ name: 'net', resourceClaimName: 'shared' }, ...template.resourceClaims] },
      {
        resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'p-gpu-x' }],
        extendedResourceClaimStatus: { resourceClaimName: 'ext', requestMappings: [] },
      },
    );
    expect(claimsOfPod(pod)).toEqual({
      kind: 'named',
      claims: [
        { podClaimName: 'net', name: 'shared', isFromTemplate: false },
        { podClaimName: 'gpu', name: 'p-gpu-x', isFromTemplate: true },
        { podClaimName: undefined, name: 'ext', isFromTemplate: false },
      ],
    });
  });

  it('leaves out a template that needed no claim', () => {
    const pod = withClaims(template, { resourceClaimStatuses: [{ name: 'gpu' }] });
    expect(claimsOfPod(pod)).toEqual({ kind: 'named', claims: [] });
  });

  const unnamed: [rule: string, pod: Pod, problem: string][] = [
    ['a template without a status', withClaims(template), 'pod "default/p": ResourceClaim not created yet'],
    [
      'neither field',
      withClaims({ resourceClaims: [{ name: 'gpu' }] }),
      'pod "default/p", spec.resourceClaim "gpu": none of the supported fields are set',
    ],
  ];
  it.each(unnamed)('cannot be told with %s', (_rule, pod, problem) => {
    expect(claimsOfPod(pod)).toEqual({ kind: 'unnamed', problem });
  });
});

describe('whether a pod may use a claim', () => {
  const pod = claimPod('p', ['c']);
  const reservedFor = [{ resource: 'pods', name: 'p', uid: 'uid-p' }];
  const allocated = (
    results: { driver: string; skipNodeOperations?: string[] }[],
  ): ResourceClaim['status'] => ({
    reservedFor,
    allocation: {
      devices: { results: results.map((each) => ({ request: 'r', pool: 'p', device: 'd', ...each })) },
    },
  });
  const judged = (
    status: ResourceClaim['status'],
    change: { isFromTemplate?: boolean; allowsSkipping?: boolean } = {},
  ) =>
    judgeClaim(
      pod,
      { podClaimName: 'c', name: 'c', isFromTemplate: change.isFromTemplate ?? false },
      { metadata: { name: 'c', namespace: 'default', uid: 'u1' }, ...(status && { status }) },
      { allowsSkipping: change.allowsSkipping ?? false, acceptsPodGroups: false },
    );
  const skipping = allocated([{ driver: 'd', skipNodeOperations: ['*'] }]);

  it.each<[string, ReturnType<typeof judged>, string]>([
    [
      'is not its owner',
      judged(allocated([]), { isFromTemplate: true }),
      'ResourceClaim default/c was not created for Pod default/p (Pod is not owner)',
    ],
    [
      'is not in reservedFor',
      judged({ allocation: {} }),
      'pod p (uid-p) is not allowed to use ResourceClaim c (u1)',
    ],
    ['uses one that is not allocated', judged({ reservedFor }), 'ResourceClaim c: not allocated'],
    [
      'uses one whose driver wants no calls while the gate is off',
      judged(skipping),
      'ResourceClaim c: DRAOptionalNodeOperations feature gate is disabled on kubelet',
    ],
  ])('no: the pod %s', (_rule, outcome, problem) => {
    expect(outcome).toEqual({ kind: 'refused', problem });
  });

  it('yes, with the drivers of its devices', () => {
    expect(judged(allocated([{ driver: 'b' }, { driver: 'a' }, { driver: 'b' }]))).toEqual({
      kind: 'usable',
      uid: 'u1',
      drivers: new Map([
        ['a', []],
        ['b', []],
      ]),
    });
    expect(judged(skipping, { allowsSkipping: true })).toMatchObject({ drivers: new Map([['d', ['*']]]) });
  });

  describe('of a PodGroup', () => {
    const grouped = { ...pod, spec: { ...pod.spec, schedulingGroup: { podGroupName: 'g' } } };
    const owner = {
      apiVersion: 'scheduling.k8s.io/v1beta1',
      kind: 'PodGroup',
      name: 'g',
      uid: 'ug',
      controller: true,
    };
    const user = { apiGroup: 'scheduling.k8s.io', resource: 'podgroups', name: 'g', uid: 'ug' };
    const ofGroup = (change: { acceptsPodGroups?: boolean; of?: object; by?: object; isGrouped?: boolean }) =>
      judgeClaim(
        change.isGrouped === false ? pod : grouped,
        { podClaimName: 'c', name: 'c', isFromTemplate: true },
        {
          metadata: {
            name: 'c',
            namespace: 'default',
            uid: 'u1',
            ownerReferences: [{ ...owner, ...change.of }],
          },
          status: { reservedFor: [{ ...user, ...change.by }], allocation: {} },
        },
        { allowsSkipping: false, acceptsPodGroups: change.acceptsPodGroups ?? true },
      );
    const notCreated = 'ResourceClaim default/c was not created for Pod default/p';
    const neither = `${notCreated} (neither Pod nor PodGroup g is the owner)`;
    const notAllowed = 'pod p (uid-p) is not allowed to use ResourceClaim c (u1)';
    it.each<[string, ReturnType<typeof ofGroup>, string | undefined]>([
      ['yes, for its pods', ofGroup({}), undefined],
      ['no, while the gate is off', ofGroup({ acceptsPodGroups: false }), `${notCreated} (Pod is not owner)`],
      ['no, for a pod of no group', ofGroup({ isGrouped: false }), `${notCreated} (Pod is not owner)`],
      ['no, of another group', ofGroup({ of: { name: 'h' } }), neither],
      ['no, of a kind of another API group', ofGroup({ of: { apiVersion: 'example.com/v1' } }), neither],
      ['no, of a group that does not control it', ofGroup({ of: { controller: false } }), neither],
      ['no, reserved for another group', ofGroup({ by: { name: 'h' } }), notAllowed],
      ['no, reserved for another kind of that name', ofGroup({ by: { resource: 'pods' } }), notAllowed],
    ])('%s', (_rule, outcome, problem) => {
      expect(outcome).toMatchObject(
        problem === undefined ? { kind: 'usable' } : { kind: 'refused', problem },
      );
    });
  });

  it('leaves a call out only if all devices of the driver can do without it', () => {
    const one = { driver: 'd', skipNodeOperations: ['*'] };
    const other = { driver: 'd', skipNodeOperations: ['NodePrepareResources'] };
    expect([...driversOf([one, other])]).toEqual([['d', ['NodePrepareResources']]]);
    expect([...driversOf([one, { driver: 'd' }])]).toEqual([['d', []]]);
  });
});

describe('the answer of a driver', () => {
  const asked = [
    { uid: 'u1', name: 'a' },
    { uid: 'u2', name: 'b' },
  ];
  const device = { requestNames: [], poolName: 'p', deviceName: 'd', cdiDeviceIds: ['v/c=d'] };
  const good = { devices: [device], error: '' };
  const problems = (
    claims: Record<string, { devices: (typeof device)[]; error: string }>,
  ): (string | undefined)[] =>
    [...judgePrepared(asked, { claims }).values()].map((answer) =>
      answer.kind === 'failed' ? answer.problem : undefined,
    );

  it.each<[string, Parameters<typeof problems>[0], (string | undefined)[]]>([
    ['is good', { u1: good, u2: good }, [undefined, undefined]],
    [
      'refuses one claim',
      { u1: good, u2: { devices: [], error: 'no' } },
      [undefined, 'NodePrepareResources failed for ResourceClaim b: no'],
    ],
    ['leaves one out', { u1: good }, [undefined, 'NodePrepareResources skipped 1 ResourceClaims']],
    [
      'tells of a claim that nobody asked for',
      { u1: good, u2: good, u3: good },
      [
        'NodePrepareResources returned result for unknown claim UID u3',
        'NodePrepareResources returned result for unknown claim UID u3',
      ],
    ],
    [
      'is too long',
      {
        u1: good,
        u2: { devices: [{ ...device, poolName: 'x'.repeat(draLimits.nameChars + 1) }], error: '' },
      },
      [
        undefined,
        'NodePrepareResources failed for ResourceClaim b: the driver answered with a name that is too long',
      ],
    ],
    [
      'has too many devices',
      { u1: { devices: Array(draLimits.devices + 1).fill(device), error: '' }, u2: good },
      ['NodePrepareResources failed for ResourceClaim a: the driver answered with 4097 devices', undefined],
    ],
    [
      'has an empty CDI name',
      { u1: { devices: [{ ...device, cdiDeviceIds: [''] }], error: '' }, u2: good },
      [
        'NodePrepareResources failed for ResourceClaim a: the driver answered with a CDI device that is empty or too long',
        undefined,
      ],
    ],
  ])('%s', (_rule, claims, expected) => expect(problems(claims)).toEqual(expected));
});

const prepared = (requestNames: string[], id: string): PreparedDevice => ({
  poolName: 'pool',
  deviceName: id,
  shareId: undefined,
  requestNames,
  cdiDeviceIds: [`v/c=${id}`],
});

describe('the devices of a container', () => {
  const record: ClaimRecord = {
    uid: 'u1',
    name: 'claim',
    namespace: 'default',
    podUids: new Set(['uid-p']),
    drivers: new Map([
      [
        'd',
        {
          devices: [prepared(['a'], 'one'), prepared(['b'], 'two'), prepared([], 'all')],
          skipNodeOperations: [],
        },
      ],
    ]),
  };
  const find = (_: string, name: string): ClaimRecord | undefined => (name === 'claim' ? record : undefined);
  const pod = claimPod('p', [], { resourceClaims: [{ name: 'gpu', resourceClaimName: 'claim' }] });
  const using = (claims: { name: string; request?: string }[]) => ({
    name: 'c',
    image: 'i',
    resources: { claims },
  });

  it.each<[string, { name: string; request?: string }[], string[]]>([
    ['all of a claim', [{ name: 'gpu' }], ['v/c=one', 'v/c=two', 'v/c=all']],
    ['one request and what is for all', [{ name: 'gpu', request: 'a' }], ['v/c=one', 'v/c=all']],
    ['none without claims', [], []],
    ['none of a claim that the pod does not have', [{ name: 'other' }], []],
  ])('are %s', (_rule, claims, expected) => {
    expect(cdiDevicesOf(pod, using(claims), find)).toEqual(expected);
  });

  it('cannot be told for a claim that nobody prepared', () => {
    const unknown = claimPod('p', ['nowhere']);
    expect(() => cdiDevicesOf(unknown, using([{ name: 'nowhere' }]), find)).toThrow(
      'internal error: unable to get claim info for ResourceClaim nowhere in namespace default',
    );
  });

  it('has those behind its extended resources', () => {
    const mapping = (containerName: string, resourceName: string, requestName: string) => ({
      containerName,
      resourceName,
      requestName,
    });
    const extended: Pod = {
      ...claimPod('p', []),
      status: {
        extendedResourceClaimStatus: {
          resourceClaimName: 'claim',
          requestMappings: [
            mapping('c', 'x.io/gpu', 'a'),
            mapping('c', 'x.io/none', 'b'),
            mapping('o', 'x.io/gpu', 'b'),
          ],
        },
      },
    };
    const container = {
      name: 'c',
      image: 'i',
      resources: { requests: { 'x.io/gpu': '1', 'x.io/none': '0' } },
    };
    expect(cdiDevicesOf(extended, container, find)).toEqual(['v/c=one', 'v/c=all']);
    expect(isBackedByClaim(extended, 'c', 'x.io/gpu')).toBe(true);
    expect(isBackedByClaim(extended, 'c', 'x.io/other')).toBe(false);
  });

  it('shows their health by claim and request', () => {
    const sources = {
      claim: find,
      health: (_: string, __: string, device: string) =>
        device === 'one'
          ? { health: 'Unhealthy' as const, message: 'hot' }
          : { health: 'Unknown' as const, message: '' },
      showsMessages: true,
    };
    expect(claimHealth(pod, using([{ name: 'gpu', request: 'a' }]), sources)).toEqual([
      {
        name: 'claim:gpu/a',
        resources: [
          { resourceID: 'v/c=one', health: 'Unhealthy', message: 'hot' },
          { resourceID: 'v/c=all', health: 'Unknown' },
        ],
      },
    ]);
    expect(claimHealth(pod, using([]), sources)).toEqual([]);
  });
});

describe('the file of claims', () => {
  const sum = (text: string): number => JSON.parse(text).Checksum;
  const example: ClaimRecord = {
    uid: '067798be-454e-4be4-9047-1aa06aea63f7',
    name: 'example',
    namespace: 'default',
    podUids: new Set(['139cdb46-f989-4f17-9561-ca10cfb509a6']),
    drivers: new Map([
      [
        'test-driver.cdi.k8s.io',
        {
          devices: [
            {
              poolName: 'worker-1',
              deviceName: 'dev-1',
              shareId: undefined,
              requestNames: ['test request'],
              cdiDeviceIds: ['example.com/example=cdi-example'],
            },
          ],
          skipNodeOperations: [],
        },
      ],
    ]),
  };

  it('has the sums of the reference kubelet', () => {
    expect(sum(formatDraCheckpoint(undefined))).toBe(4010664294);
    expect(sum(formatDraCheckpoint([]))).toBe(2361995144);
    expect(sum(formatDraCheckpoint([example]))).toBe(2570581864);
  });

  it('is read as it was written', () => {
    expect(parseDraCheckpoint(formatDraCheckpoint([example]))).toEqual({ kind: 'read', claims: [example] });
    expect(parseDraCheckpoint(formatDraCheckpoint(undefined))).toEqual({ kind: 'read', claims: [] });
  });

  it('is read in other versions and with missing fields', () => {
    const text = JSON.stringify({
      kind: 'DRACheckpoint',
      apiVersion: 'checkpoint.dra.kubelet.k8s.io/v0',
      New: 1,
      ClaimInfoStateList: [
        {
          ClaimUID: 'u',
          ClaimName: 'c',
          Namespace: 'n',
          DriverState: { d: { Devices: [{ PoolName: 'p' }] } },
        },
      ],
    });
    const { Checksum: _, ...rest } = JSON.parse(formatDraCheckpoint([]));
    const read = parseDraCheckpoint(JSON.stringify({ ...rest, Data: text }));
    expect(read).toMatchObject({ kind: 'damaged', problem: 'its checksum is wrong' });
    const good = parseDraCheckpoint(JSON.stringify({ Data: text, Checksum: crc32(text) }));
    expect(good).toEqual({ kind: 'read', claims: read.claims });
    expect(read.claims[0]?.drivers.get('d')?.devices).toEqual([
      { poolName: 'p', deviceName: '', shareId: undefined, requestNames: [], cdiDeviceIds: [] },
    ]);
  });

  it.each<[string, string]>([
    ['no data', '{}'],
    ['no JSON', '{"Data":"{","Checksum":1}'],
    ['claims that are no list', JSON.stringify({ Data: '{"ClaimInfoStateList":{}}', Checksum: 1 })],
    [
      'a name that is no text',
      JSON.stringify({ Data: '{"ClaimInfoStateList":[{"ClaimName":1}]}', Checksum: 1 }),
    ],
  ])('is not read with %s', (_rule, text) => expect(() => parseDraCheckpoint(text)).toThrow());
});

describe('the health of devices', () => {
  const report = (health: number, change: Partial<DeviceHealth> = {}): DeviceHealth => ({
    device: { poolName: 'p', deviceName: 'd' },
    health: health as DeviceHealth['health'],
    lastUpdatedTime: 0,
    healthCheckTimeoutSeconds: 0,
    message: '',
    ...change,
  });
  const known = (change: Partial<KnownHealth> = {}): KnownHealth => ({
    poolName: 'p',
    deviceName: 'd',
    health: 'Healthy',
    receivedAtMs: 0,
    timeoutMs: 30_000,
    message: '',
    ...change,
  });
  const before = new Map([['p/d', known()]]);

  it.each<[rule: string, DeviceHealth[], nowMs: number, changed: number, left: number]>([
    ['the same again', [report(1)], 5, 0, 1],
    ['another health', [report(2)], 5, 1, 1],
    ['another message', [report(1, { message: 'm' })], 5, 1, 1],
    ['another time limit', [report(1, { healthCheckTimeoutSeconds: 5 })], 5, 1, 1],
    ['left out, and its time is not over', [], 30_000, 0, 1],
    ['left out, and its time is over', [], 30_001, 1, 0],
  ])('changes by a report: %s', (_rule, devices, nowMs, changed, left) => {
    const update = applyReport(before, devices, nowMs);
    expect([update.changed.length, update.devices.size]).toEqual([changed, left]);
  });

  it('is not known after its time, whatever the driver says of its own clock', () => {
    const { devices } = applyReport(
      new Map(),
      [report(1, { lastUpdatedTime: 1, healthCheckTimeoutSeconds: -5 })],
      1000,
    );
    expect(healthNow(devices.get('p/d'), 31_000)).toEqual({ health: 'Healthy', message: '' });
    expect(healthNow(devices.get('p/d'), 31_001)).toEqual({ health: 'Unknown', message: '' });
    expect(healthNow(undefined, 0)).toEqual({ health: 'Unknown', message: '' });
  });

  it('is bounded in devices and messages', () => {
    const many = Array.from({ length: draLimits.healthDevices + 2 }, (_, index) =>
      report(1, { device: { poolName: 'p', deviceName: String(index) } }),
    );
    const update = applyReport(new Map(), many, 0);
    expect([update.devices.size, update.leftOut]).toEqual([draLimits.healthDevices, 2]);
    expect(Buffer.byteLength(cutMessage('x'.repeat(1500)))).toBe(1024);
    expect(cutMessage('x'.repeat(1500)).endsWith('x...')).toBe(true);
    expect(cutMessage(`${'x'.repeat(1020)}ü${'x'.repeat(100)}`)).toBe(`${'x'.repeat(1020)}...`);
  });

  it('is read from its file as it was written', () => {
    const drivers = new Map([['drv', before]]);
    expect(parseHealthFile(formatHealthFile(drivers))).toEqual(drivers);
    expect(JSON.parse(formatHealthFile(drivers)).drv.Devices['p/d']).toEqual({
      PoolName: 'p',
      DeviceName: 'd',
      Health: 'Healthy',
      LastUpdated: '1970-01-01T00:00:00Z',
      HealthCheckTimeout: 30_000_000_000,
      Message: '',
    });
  });
});

/** Hints, health, what is taken over, and which names and answers are taken: the rules one by one. */
import { describe, expect, it } from 'vitest';
import type { Container, Pod } from '../../kube/index.js';
import { mergeResponses } from './added-devices.js';
import type { PluginDevice } from './contracts.js';
import { deviceHints, heldHints } from './device-hints.js';
import { DeviceRecords, idsByNode, idsOf, reusableIds } from './device-records.js';
import { AllocateResponse, ContainerAllocateResponse, ListAndWatchResponse } from './gen/device-plugin.js';
import { deviceLimits } from './limits.js';
import { judgeAllocation, judgeDevices } from './plugin-answers.js';
import { deviceLimitsOf, registrationRefusal, watchedRefusal } from './resource-name.js';
import {
  changedDevices,
  isAwaited,
  isExpired,
  lost,
  type ResourceState,
  remembered,
  reported,
  shownHealth,
} from './resource-state.js';

const device = (id: string, health = 'Healthy', ...numaNodes: number[]): [string, PluginDevice] => [
  id,
  { id, health, numaNodes },
];
const table = (...devices: [string, PluginDevice][]): Map<string, PluginDevice> => new Map(devices);
const near = (...nodes: number[]): PluginDevice[] =>
  nodes.map((node, index) => ({ id: `d${index}`, health: 'Healthy', numaNodes: [node] }));
const tableOf = (devices: PluginDevice[]): Map<string, PluginDevice> =>
  new Map(devices.map((one) => [one.id, one]));

describe('hints', () => {
  const twoNodes = tableOf(near(0, 1));
  const all = (devices: ReadonlyMap<string, PluginDevice>): Set<string> => new Set(devices.keys());
  const demand = { machineNodes: [0, 1], reusable: new Set<string>() };
  it.each<[string, Parameters<typeof deviceHints>[0], ReturnType<typeof deviceHints>]>([
    [
      'one device on each of two nodes, one wanted',
      { ...demand, count: 1, table: twoNodes, available: all(twoNodes) },
      [
        { mask: 1, preferred: true },
        { mask: 2, preferred: true },
        { mask: 3, preferred: false },
      ],
    ],
    [
      'the device of node 0 is in use',
      { ...demand, count: 1, table: twoNodes, available: new Set(['d1']) },
      [
        { mask: 2, preferred: true },
        { mask: 3, preferred: false },
      ],
    ],
    ['more than there are', { ...demand, count: 3, table: twoNodes, available: all(twoNodes) }, []],
    [
      'no device is near a node',
      { ...demand, count: 1, table: table(device('a')), available: new Set(['a']) },
      undefined,
    ],
    [
      'a node that the machine does not have',
      { ...demand, count: 1, table: tableOf(near(0, 9)), available: new Set(['d0', 'd1']) },
      [{ mask: 1, preferred: true }],
    ],
    [
      'what is taken over must be near',
      { ...demand, count: 1, table: twoNodes, available: new Set(['d0']), reusable: new Set(['d1']) },
      [
        { mask: 2, preferred: true },
        { mask: 3, preferred: false },
      ],
    ],
    [
      'nodes have places, not ids',
      { ...demand, machineNodes: [2, 5], count: 1, table: tableOf(near(5)), available: new Set(['d0']) },
      [{ mask: 2, preferred: true }],
    ],
  ])('%s', (_, given, expected) => {
    expect(deviceHints(given)).toEqual(expected);
  });

  it('of a container that has devices only those count', () => {
    const given = { count: 1, table: twoNodes, machineNodes: [0, 1] };
    expect(heldHints(new Set(['d1']), given)).toEqual([
      { mask: 2, preferred: true },
      { mask: 3, preferred: false },
    ]);
    expect(heldHints(new Set(['d0', 'd1']), given)).toEqual([]);
    expect(heldHints(new Set(['a']), { ...given, table: table(device('a')) })).toBeUndefined();
  });
});

describe('the devices of a resource', () => {
  const before = reported(table(device('a'), device('b'), device('c', 'Unhealthy')));
  const counts = ({ healthy, unhealthy }: ResourceState): string => `${healthy.size}+${unhealthy.size}`;
  it.each<[string, ResourceState, string, boolean]>([
    ['two healthy, one not', before, '2+1', false],
    ['the unhealthy one is removed', reported(table(device('a'), device('b'))), '2+0', false],
    ['nothing is left', reported(table()), '0+0', false],
    ['the plugin has gone', lost(before, 0), '0+3', true],
    ['the plugin has not come back after a start', remembered(0), '0+0', true],
  ])('%s', (_, state, expected, awaited) => {
    expect(counts(state)).toBe(expected);
    expect(isAwaited(state)).toBe(awaited);
  });

  it('the devices of a plugin that is gone count for five minutes', () => {
    expect(isExpired(lost(before, 1000), 1000 + deviceLimits.graceMs - 1)).toBe(false);
    expect(isExpired(lost(before, 1000), 1000 + deviceLimits.graceMs)).toBe(true);
    expect(isExpired(before, Number.MAX_SAFE_INTEGER)).toBe(false);
  });

  it.each([
    ['health changed', table(device('a', 'Unhealthy'), device('b'), device('c', 'Unhealthy')), ['a']],
    ['a device is new', table(...before.table, device('x')), ['x']],
    ['a device vanished', table(device('a'), device('b')), []],
  ])('owners are told: %s', (_, after, expected) => {
    expect(changedDevices(before.table, after)).toEqual(expected);
  });

  it('a device that nobody reports is shown as healthy', () => {
    expect(shownHealth(before.table, 'c')).toBe('Unhealthy');
    expect(shownHealth(before.table, 'gone')).toBe('Healthy');
    expect(shownHealth(lost(before, 0).table, 'c')).toBe('Unhealthy');
  });
});

describe('what a container takes over', () => {
  const response = ContainerAllocateResponse.create();
  const container = (name: string, restartPolicy?: 'Always'): Container => ({
    name,
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  });
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'n', uid: 'u' },
    spec: {
      initContainers: [container('one'), container('two'), container('side', 'Always'), container('three')],
      containers: [container('app'), container('other')],
    },
  };
  const held = (of: Record<string, string[]>): DeviceRecords => {
    const records = new DeviceRecords();
    for (const [name, ids] of Object.entries(of)) {
      records.set('u', name, 'r', { idsByNode: new Map([[-1, ids]]), response });
    }
    return records;
  };
  it.each([
    ['a later init container what an earlier one had', 'two', { one: ['a'] }, ['a']],
    ['nothing from a later one', 'one', { two: ['a'] }, []],
    ['an app container what all of them had', 'app', { one: ['a'], three: ['b'] }, ['a', 'b']],
    ['nothing that a sidecar has', 'app', { one: ['a', 'b'], side: ['a'] }, ['b']],
    ['nothing that another app container has', 'other', { one: ['a', 'b'], app: ['b'] }, ['a']],
    ['nothing from a sidecar', 'app', { side: ['a'] }, []],
    ['a sidecar from those before it', 'side', { one: ['a'], two: ['a', 'b'], three: ['c'] }, ['a', 'b']],
  ])('%s', (_, name, of, expected) => {
    const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    const asked = all.find((one) => one.name === name)!;
    expect([...reusableIds(pod, asked, 'r', held(of))].sort()).toEqual(expected);
  });

  it('a device near two nodes stands under both', () => {
    const byNode = idsByNode(['b', 'a'], table(device('a', '', 0, 1), device('b')));
    expect(Object.fromEntries(byNode)).toEqual({ 0: ['a'], 1: ['a'], '-1': ['b'] });
    expect([...idsOf({ idsByNode: byNode, response })].sort()).toEqual(['a', 'b']);
  });
});

describe('names', () => {
  const version = 'v1beta1';
  it.each([
    ['example.com/resource', undefined],
    ['requests.example.com/x', 'the ResourceName "requests.example.com/x" is invalid'],
    ['kubernetes.io/x', 'the ResourceName "kubernetes.io/x" is invalid'],
    ['sub.kubernetes.io/x', 'the ResourceName "sub.kubernetes.io/x" is invalid'],
    ['x', 'the ResourceName "x" is invalid'],
    ['cpu', 'the ResourceName "cpu" is invalid'],
    ['', 'the ResourceName "" is invalid'],
    ['example.com/a/b', 'the ResourceName "example.com/a/b" is invalid'],
    ['Example.com/a', 'the ResourceName "Example.com/a" is invalid'],
  ])('%s', (name, expected) => {
    expect(registrationRefusal(version, name)).toBe(expected);
    expect(watchedRefusal([version], name)).toBe(
      expected && `invalid name of device plugin socket: ${expected}`,
    );
  });

  it('versions', () => {
    expect(registrationRefusal('v1beta2', 'example.com/r')).toBe(
      'requested API version "v1beta2" is not supported by kubelet. Supported version is ["v1beta1"]',
    );
    expect(watchedRefusal(['v1alpha1'], 'example.com/r')).toBe(
      'manager version, v1beta1, is not among plugin supported versions [v1alpha1]',
    );
    expect(watchedRefusal(['v1alpha1', 'v1'], 'example.com/r')).toMatch(/versions \[v1alpha1 v1]$/);
  });

  it('limits that a claim stands for are no devices', () => {
    const limits = { 'example.com/b': '2', 'example.com/a': '1', cpu: '1' };
    const asked: Container = { name: 'c', resources: { limits } };
    const pod: Pod = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [asked] } };
    expect(deviceLimitsOf(pod, asked)).toEqual([
      ['example.com/a', 1],
      ['example.com/b', 2],
    ]);
    const requestMappings = [{ containerName: 'c', resourceName: 'example.com/a', requestName: 'q' }];
    const status = { extendedResourceClaimStatus: { requestMappings, resourceClaimName: 'x' } };
    expect(deviceLimitsOf({ ...pod, status }, asked)).toEqual([['example.com/b', 2]]);
  });
});

describe('what plugins answer', () => {
  const report = (...devices: { id?: string; health?: string; nodes?: number[] }[]) =>
    judgeDevices(
      ListAndWatchResponse.create({
        devices: devices.map(({ nodes = [], ...rest }) => ({
          ...rest,
          topology: { nodes: nodes.map((id) => ({ id })) },
        })),
      }),
    );
  it.each([
    ['no id', [{ id: '' }], 'it reports a device without an id'],
    ['an unprintable id', [{ id: 'a\nb' }], 'it reports a device with an unprintable id "a\\nb"'],
    ['a long id', [{ id: 'x'.repeat(513) }], 'it reports a device whose id has more than 512 bytes'],
    ['a long health', [{ id: 'a', health: 'x'.repeat(65) }], 'the health of device a is too long'],
    [
      'many nodes',
      [{ id: 'a', nodes: Array.from({ length: 17 }, (_, i) => i) }],
      'device a is near 17 NUMA nodes',
    ],
    [
      'many devices',
      Array.from({ length: 10_001 }, (_, i) => ({ id: `${i}` })),
      'it reports 10001 devices; at most 10000 are taken',
    ],
  ])('a report is refused: %s', (_, devices, problem) => {
    expect(report(...devices)).toEqual({ kind: 'refused', problem });
  });

  it('nodes are sorted, and each counts once', () => {
    const judged = report({ id: 'a', health: 'Healthy', nodes: [1, 0, 1] });
    expect(judged).toEqual({
      kind: 'taken',
      devices: new Map([['a', { id: 'a', health: 'Healthy', numaNodes: [0, 1] }]]),
    });
  });

  const answer = (response: Parameters<typeof ContainerAllocateResponse.create>[0]) =>
    judgeAllocation(AllocateResponse.create({ containerResponses: [response ?? {}] }));
  it.each([
    ['a relative path', { mounts: [{ containerPath: 'x', hostPath: '/a' }] }, /unusable path "x"/],
    ['a path upwards', { mounts: [{ containerPath: '/x', hostPath: '/a/../etc' }] }, /unusable path/],
    ['a device without a path', { devices: [{ containerPath: '/dev/x' }] }, /unusable path ""/],
    [
      'permissions',
      { devices: [{ containerPath: '/a', hostPath: '/a', permissions: 'x' }] },
      /permissions "x"/,
    ],
    ['a variable', { envs: { 'A=B': '1' } }, /unusable variable "A=B"/],
    ['a value with a zero byte', { envs: { A: 'a\0' } }, /unusable variable "A"/],
    ['an annotation', { annotations: { '': '1' } }, /unusable annotation ""/],
    ['a CDI device', { cdiDevices: [{ name: '' }] }, /unusable CDI device ""/],
    [
      'too many mounts',
      { mounts: Array.from({ length: 257 }, () => ({ containerPath: '/a', hostPath: '/b' })) },
      /has 257 mounts; at most 256 are taken/,
    ],
    [
      'too much in all',
      { envs: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`A${i}`, 'x'.repeat(20_000)])) },
      /bytes; at most 262144 are taken/,
    ],
  ])('an allocation is refused: %s', (_, response, problem) => {
    const judged = answer(response);
    expect(judged.kind === 'refused' ? judged.problem : '').toMatch(problem);
  });

  it('an answer for no container', () => {
    const judged = judgeAllocation(AllocateResponse.create());
    expect(judged).toMatchObject({
      problem: expect.stringMatching(/^no containers return in allocation response/),
    });
  });

  it('of two plugins that claim one path the first counts', () => {
    const one = ContainerAllocateResponse.create({ mounts: [{ containerPath: '/x', hostPath: '/1' }] });
    const two = ContainerAllocateResponse.create({
      mounts: [{ containerPath: '/x', hostPath: '/2' }],
      envs: { B: '2', A: '1' },
      cdiDevices: [{ name: 'v.com/c=1' }],
    });
    expect(mergeResponses([one, two])).toEqual({
      envs: [
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
      ],
      mounts: [{ containerPath: '/x', hostPath: '/1', readOnly: false }],
      devices: [],
      annotations: {},
      cdiDevices: ['v.com/c=1'],
    });
  });
});

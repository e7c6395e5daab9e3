import { describe, expect, it } from 'vitest';
import type { Node, NodeCondition } from '../../kube/index.js';
import { conditionOf } from './conditions.js';
import { freshMemory, type StatusFacts } from './facts.js';
import { nodeImages } from './images.js';
import { applySetters } from './setters.js';
import { testFacts, testMachine, testSettings } from './test-facts.js';

const earlier = '2025-12-31T00:00:00Z';
const now = '2026-01-01T00:00:00Z';
const bare: Node = { metadata: { name: 'n1' } };
const run = (node: Node, facts: Partial<StatusFacts> = {}, memory = freshMemory) =>
  applySetters(node, testSettings, testFacts(facts), memory);
const ready = (errors: Partial<StatusFacts['readiness']>) => ({
  readiness: { ...testFacts().readiness, ...errors },
});

describe('applySetters', () => {
  it('fills in a new node', () => {
    const { node, events, problems } = run(bare, {
      machine: { ...testMachine, swapBytes: 1024 },
      runtime: {
        name: 'containerd',
        version: 'v2.1.0',
        handlers: [
          { name: 'runc', recursiveReadOnlyMounts: true, userNamespaces: true },
          { name: '', recursiveReadOnlyMounts: true, userNamespaces: false },
        ],
        features: { supplementalGroupsPolicy: true },
      },
      volumesInUse: ['b', 'a', 'b'],
    });
    expect(problems).toEqual([]);
    expect(node.status).toMatchObject({
      addresses: [
        { type: 'InternalIP', address: '10.0.0.5' },
        { type: 'Hostname', address: 'n1' },
      ],
      nodeInfo: {
        machineID: 'm1',
        systemUUID: 's1',
        bootID: 'b1',
        kernelVersion: '6.18.0',
        osImage: 'Test Linux',
        containerRuntimeVersion: 'containerd://2.1.0',
        kubeletVersion: 'v1.37.1',
        kubeProxyVersion: '',
        operatingSystem: 'linux',
        architecture: 'amd64',
        swap: { capacity: 1024 },
        runningInUserNamespace: false,
      },
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      runtimeHandlers: [
        { features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
        { name: 'runc', features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
      ],
      features: { supplementalGroupsPolicy: true },
      volumesInUse: ['a', 'b'],
      declaredFeatures: ['A', 'B'],
    });
    expect(node.status?.conditions?.map(({ type, status, reason }) => [type, status, reason])).toEqual([
      ['MemoryPressure', 'False', 'KubeletHasSufficientMemory'],
      ['DiskPressure', 'False', 'KubeletHasNoDiskPressure'],
      ['PIDPressure', 'False', 'KubeletHasSufficientPID'],
      ['Ready', 'True', 'KubeletReady'],
    ]);
    expect(events.map(({ reason, message }) => [reason, message])).toEqual([
      ['NodeHasSufficientMemory', 'Node n1 status is now: NodeHasSufficientMemory'],
      ['NodeHasNoDiskPressure', 'Node n1 status is now: NodeHasNoDiskPressure'],
      ['NodeHasSufficientPID', 'Node n1 status is now: NodeHasSufficientPID'],
    ]);
    expect(bare.status).toBeUndefined();
  });

  const condition = (type: string, status: NodeCondition['status']): NodeCondition => ({
    type,
    status,
    reason: 'Old',
    message: 'old',
    lastHeartbeatTime: earlier,
    lastTransitionTime: earlier,
  });
  const withConditions = (...conditions: NodeCondition[]): Node => ({ ...bare, status: { conditions } });

  it('lasting pressure only gets a heartbeat', () => {
    const { node, events } = run(withConditions(condition('MemoryPressure', 'False')));
    expect(conditionOf(node.status?.conditions, 'MemoryPressure')).toEqual({
      ...condition('MemoryPressure', 'False'),
      lastHeartbeatTime: now,
    });
    expect(events.map(({ reason }) => reason)).not.toContain('NodeHasSufficientMemory');
  });
  it('new pressure is a transition and an event', () => {
    const { node, events } = run(withConditions(condition('DiskPressure', 'False')), {
      pressure: { memory: false, disk: true, pid: false },
    });
    expect(conditionOf(node.status?.conditions, 'DiskPressure')).toMatchObject({
      status: 'True',
      reason: 'KubeletHasDiskPressure',
      message: 'kubelet has disk pressure',
      lastTransitionTime: now,
    });
    expect(events.map(({ reason }) => reason)).toContain('NodeHasDiskPressure');
  });
  it('conditions keep their order', () => {
    const { node } = run(withConditions(condition('Ready', 'True'), condition('Other', 'True')));
    const types = node.status?.conditions?.map(({ type }) => type);
    expect(types).toEqual(['Ready', 'Other', 'MemoryPressure', 'DiskPressure', 'PIDPressure']);
  });

  it.each([
    ['one error is its text', { runtimeErrors: ['a'] }, 'a'],
    [
      'several errors are in brackets, ordered and distinct',
      {
        runtimeErrors: ['a', 'b', 'a'],
        networkError: 'n',
        storageError: 's',
        shutdownError: 'node is shutting down',
      },
      '[a, b, n, s, node is shutting down]',
    ],
    [
      'a soft requirement is appended',
      { runtimeErrors: ['a'], softRequirementFailed: true },
      'a. WARNING: CPU hardcapping unsupported',
    ],
  ])('Ready: %s', (_rule, errors, message) => {
    const { node } = run(bare, ready(errors));
    expect(conditionOf(node.status?.conditions, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'KubeletNotReady',
      message,
    });
  });
  it('Ready: a soft requirement is appended even if all is well', () => {
    const { node } = run(bare, ready({ softRequirementFailed: true }));
    expect(conditionOf(node.status?.conditions, 'Ready')).toMatchObject({
      status: 'True',
      message: 'kubelet is posting ready status. WARNING: CPU hardcapping unsupported',
    });
  });
  it('Ready: missing capacity', () => {
    const { node } = run(bare, { machine: { ...testMachine, rootFilesystemBytes: undefined } });
    expect(conditionOf(node.status?.conditions, 'Ready')?.message).toBe(
      'missing node capacity for resources: ephemeral-storage',
    );
  });
  it.each([
    ['the same status keeps its transition time and is not an event', 'True', earlier, []],
    ['a change is a transition and an event', 'Unknown', now, ['NodeReady']],
  ] as const)('Ready: %s', (_rule, status, transition, expected) => {
    const { node, events } = run(withConditions(condition('Ready', status)));
    expect(conditionOf(node.status?.conditions, 'Ready')).toMatchObject({
      reason: 'KubeletReady',
      lastTransitionTime: transition,
      lastHeartbeatTime: now,
    });
    expect(events.map(({ reason }) => reason).filter((reason) => reason.startsWith('NodeReady'))).toEqual(
      expected,
    );
  });

  it('a failed address decision leaves the addresses unchanged', () => {
    const known: Node = { ...bare, status: { addresses: [{ type: 'InternalIP', address: '9.9.9.9' }] } };
    const settings = { ...testSettings, addresses: { ...testSettings.addresses, nodeIps: ['127.0.0.1'] } };
    const { node, problems } = applySetters(known, settings, testFacts(), freshMemory);
    expect(node.status?.addresses).toEqual(known.status?.addresses);
    expect(node.status?.nodeInfo?.machineID).toBe('m1');
    expect(problems).toHaveLength(1);
  });

  it('a new boot id is reported once', () => {
    const booted = run(bare).node;
    const rebooted = { machine: { ...testMachine, bootId: 'b2' } };
    const first = run(booted, rebooted);
    expect(first.events).toContainEqual({
      type: 'Warning',
      reason: 'Rebooted',
      message: 'Node n1 has been rebooted, boot id: b2',
    });
    expect(run(booted, rebooted, first.memory).events.map(({ reason }) => reason)).not.toContain('Rebooted');
  });

  it('schedulability is reported when it changes', () => {
    const cordoned: Node = { ...run(bare).node, spec: { unschedulable: true } };
    const first = run(cordoned);
    expect(first.events.map(({ reason }) => reason)).toEqual(['NodeNotSchedulable']);
    expect(run(cordoned, {}, first.memory).events).toEqual([]);
    expect(run({ ...cordoned, spec: {} }, {}, first.memory).events.map(({ reason }) => reason)).toEqual([
      'NodeSchedulable',
    ]);
  });

  it('volumes in use are left alone until they are known', () => {
    const node: Node = { ...bare, status: { volumesInUse: ['v'] } };
    expect(run(node).node.status?.volumesInUse).toEqual(['v']);
    expect(run(node, { volumesInUse: [] }).node.status?.volumesInUse).toEqual([]);
  });
});

describe('nodeImages', () => {
  const image = (id: string, sizeBytes: number) => ({
    id,
    sizeBytes,
    repoTags: [`${id}:1`],
    repoDigests: [],
  });
  const many = Array.from({ length: 60 }, (_, index) => image(`i${index}`, index));
  it.each([
    [50, 50],
    [-1, 60],
    [0, 0],
  ])('a limit of %d leaves %d', (limit, count) => {
    expect(nodeImages(many, limit)).toHaveLength(count);
  });
  it('largest first, ties by ID descending', () => {
    const names = nodeImages([image('a', 1), image('b', 2), image('c', 1)], 50).map(
      ({ names: [name] = [] }) => name,
    );
    expect(names).toEqual(['b:1', 'c:1', 'a:1']);
  });
  it('digests before tags, five in all', () => {
    const repoDigests = ['d1', 'd2', 'd3', 'd4'];
    const [only] = nodeImages([{ id: 'x', sizeBytes: 1, repoDigests, repoTags: ['t1', 't2', 't3'] }], 50);
    expect(only?.names).toEqual(['d1', 'd2', 'd3', 'd4', 't1']);
  });
});

it.each<
  [rule: string, declared: string[] | undefined, gate: boolean, runtime: boolean | undefined, is: unknown]
>([
  ['the gate and the runtime', ['Z'], true, true, ['VolumeBindMountOptions', 'Z']],
  ['the gate alone', ['Z'], true, false, ['Z']],
  ['the gate, and a runtime that says nothing', ['Z'], true, undefined, ['Z']],
  ['the runtime alone', ['Z'], false, true, ['Z']],
  ['nothing is declared at all', undefined, true, true, undefined],
])(
  'declares options of bind mounts: %s',
  (_rule, declaredFeatures, declaresBindMountOptions, mountOptions, is) => {
    const features =
      mountOptions === undefined ? undefined : { supplementalGroupsPolicy: false, mountOptions };
    const runtime = { name: 'containerd', version: 'v2.4.0', handlers: [], features };
    const declaredWithRuntime = declaresBindMountOptions
      ? [{ feature: 'VolumeBindMountOptions', part: 'mountOptions' as const }]
      : [];
    const settings = { ...testSettings, declaredFeatures, declaredWithRuntime };
    const { node } = applySetters(bare, settings, testFacts({ runtime }), freshMemory);
    expect(node.status?.declaredFeatures).toEqual(is);
  },
);

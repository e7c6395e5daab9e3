import { describe, expect, it } from 'vitest';
import type { Node } from '../../kube/index.js';
import {
  changedParts,
  decideReport,
  droppedInfo,
  nodeStatusPatch,
  withForcedLabels,
  withoutInfo,
} from './report.js';

const minute = 60_000;

describe('decideReport', () => {
  const base = { nowMs: 100 * minute, reportFrequencyMs: 5 * minute, delayMs: 0, random: () => 0.9 };
  it.each([
    ['unchanged, 4m ago', { changed: false, lastReportMs: 96 * minute }, { kind: 'skip' }],
    [
      'unchanged, 5m ago: due, and no new delay',
      { changed: false, lastReportMs: 95 * minute },
      { kind: 'report', delayMs: 0 },
    ],
    [
      'unchanged, 4m ago, delay −2m',
      { changed: false, lastReportMs: 96 * minute, delayMs: -2 * minute },
      { kind: 'report', delayMs: 0 },
    ],
    [
      'unchanged, 5m ago, delay 2m',
      { changed: false, lastReportMs: 95 * minute, delayMs: 2 * minute },
      { kind: 'skip' },
    ],
    [
      'changed: at once, with a new delay',
      { changed: true, lastReportMs: 100 * minute },
      { kind: 'report', delayMs: 2 * minute },
    ],
    [
      'the first report, with a delay',
      { changed: false, lastReportMs: undefined },
      { kind: 'report', delayMs: 2 * minute },
    ],
  ])('%s', (_rule, input, expected) => {
    expect(decideReport({ ...base, ...input })).toEqual(expected);
  });
});

describe('changedParts', () => {
  const condition = (type: string, beat: string) => ({
    type,
    status: 'True' as const,
    lastHeartbeatTime: beat,
  });
  it.each([
    ['heartbeats are not a change', [condition('A', '1')], [condition('A', '2')], []],
    [
      'order is not a change',
      [condition('A', '1'), condition('B', '1')],
      [condition('B', '1'), condition('A', '1')],
      [],
    ],
    [
      'a new condition is a change',
      [condition('A', '1')],
      [condition('A', '1'), condition('B', '1')],
      ['conditions'],
    ],
  ])('%s', (_rule, before, after, expected) => {
    expect(changedParts({ conditions: before }, { conditions: after })).toEqual(expected);
  });
  it('the same quantity with another suffix is not a change', () => {
    expect(changedParts({ capacity: { x: '93478772k' } }, { capacity: { x: '93478772000' } })).toEqual([]);
    expect(changedParts({ capacity: { x: '1' } }, { capacity: { x: '2' } })).toEqual(['capacity']);
    expect(changedParts({ capacity: { x: '1' } }, { capacity: {} })).toEqual(['capacity']);
  });
  it('empty and absent are the same', () => {
    expect(changedParts({}, { images: [], volumesInUse: [] })).toEqual([]);
  });
});

describe('nodeStatusPatch', () => {
  const node: Node = {
    metadata: { name: 'n1', labels: { a: '1' } },
    spec: { podCIDR: '10.0.0.0/24' },
    status: { addresses: [{ type: 'InternalIP', address: '1.1.1.1' }], phase: 'x' },
  };
  it('is empty without changes', () => {
    expect(nodeStatusPatch(node, node)).toEqual({});
  });
  it('includes metadata, not the spec', () => {
    const after = { ...node, metadata: { name: 'n1', labels: { a: '2' } }, spec: { unschedulable: true } };
    expect(nodeStatusPatch(node, after)).toEqual({ metadata: { labels: { a: '2' } } });
  });
  it('replaces all addresses if they differ', () => {
    const addresses = [
      { type: 'InternalIP', address: '1.1.1.1' },
      { type: 'InternalIP', address: 'fd00::1' },
    ];
    expect(nodeStatusPatch(node, { ...node, status: { ...node.status, addresses } })).toEqual({
      status: { addresses: [...addresses, { $patch: 'replace' }] },
    });
  });
  it('does not replace if there were none', () => {
    const before = { ...node, status: {} };
    expect(nodeStatusPatch(before, node)).toEqual({ status: node.status });
  });
});

it('platform labels are forced, others untouched', () => {
  const right: Node = {
    metadata: { labels: { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64', x: 'y' } },
  };
  expect(withForcedLabels(right, 'amd64')).toBe(right);
  expect(withForcedLabels({ metadata: { labels: { x: 'y', 'kubernetes.io/arch': 'z' } } }, 'amd64')).toEqual(
    right,
  );
});

it('what a server does not store is no change', () => {
  const info = (more: object): Node['status'] => ({
    nodeInfo: {
      machineID: 'm',
      systemUUID: '',
      bootID: '',
      kernelVersion: '',
      osImage: '',
      containerRuntimeVersion: '',
      kubeletVersion: '',
      kubeProxyVersion: '',
      operatingSystem: '',
      architecture: '',
      ...more,
    },
  });
  const sent = info({ runningInUserNamespace: false });
  const stored = info({});
  expect(changedParts(stored, sent)).toEqual(['nodeInfo']);
  const dropped = droppedInfo(sent, stored);
  expect([...dropped]).toEqual(['runningInUserNamespace']);
  expect(changedParts(stored, withoutInfo(sent, dropped))).toEqual([]);
  expect([...droppedInfo(sent, sent)]).toEqual([]);
});

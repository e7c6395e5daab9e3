import { describe, expect, it } from 'vitest';
import type { EvictionSignal, Pod } from '../../kube/index.js';
import type { PodStatsSummary } from '../stats/index.js';
import type { FileSystemLayout } from './layout.js';
import { chooseFirst, rankPods } from './ranking.js';
import { type EvictionTestPod, gi, mi, type TestUsage, testPod, testStats } from './test-pods.js';

const one: FileSystemLayout = { dedicated: false, split: false };
const dedicated: FileSystemLayout = { dedicated: true, split: false };
const split: FileSystemLayout = { dedicated: true, split: true };

interface Row {
  readonly pod?: EvictionTestPod;
  /** Undefined: the pod has no statistics. */
  readonly uses?: TestUsage;
}

function rank(signal: EvictionSignal, rows: Readonly<Record<string, Row>>, layout = one) {
  const stats = new Map<string, PodStatsSummary>(
    Object.entries(rows).flatMap(([name, { uses }]) =>
      uses === undefined ? [] : [[`uid-${name}`, testStats(name, uses)] as const],
    ),
  );
  return rankPods({
    signal,
    layout,
    pods: Object.entries(rows).map(([name, { pod }]) => testPod(name, pod)),
    statsOf: (uid) => stats.get(uid),
  });
}
const order = (...args: Parameters<typeof rank>): string[] =>
  rank(...args).map(({ pod }) => pod.metadata.name);

const asks = (memory: string): EvictionTestPod => ({ requests: { memory } });
const disk: EvictionTestPod = { spec: { volumes: [{ name: 'data', emptyDir: {} }] } };

describe('who goes first', () => {
  it.each<[string, EvictionSignal, Record<string, Row>, string[], FileSystemLayout?]>([
    [
      'memory: a pod without statistics before one beyond its request',
      'memory.available',
      { over: { pod: asks('100Mi'), uses: { memory: gi } }, unknown: {} },
      ['unknown', 'over'],
    ],
    [
      'memory: beyond its request before within it, whatever the priority',
      'memory.available',
      {
        within: { pod: { ...asks('2Gi'), priority: -5 }, uses: { memory: gi } },
        over: { pod: { ...asks('100Mi'), priority: 1000 }, uses: { memory: 200 * mi } },
      },
      ['over', 'within'],
    ],
    [
      'memory: the lower priority of two beyond their requests',
      'memory.available',
      {
        high: { pod: { ...asks('100Mi'), priority: 10 }, uses: { memory: 800 * mi } },
        low: { pod: { ...asks('100Mi'), priority: 0 }, uses: { memory: 200 * mi } },
      },
      ['low', 'high'],
    ],
    [
      'memory: the larger excess, not the larger usage',
      'allocatableMemory.available',
      {
        big: { pod: asks('900Mi'), uses: { memory: gi } },
        small: { pod: asks('100Mi'), uses: { memory: 500 * mi } },
      },
      ['small', 'big'],
    ],
    [
      'disk: usage of all parts on one file system',
      'imagefs.available',
      { a: { pod: disk, uses: { rootfs: 5 } }, b: { pod: disk, uses: { logs: 3, volumes: { data: 3 } } } },
      ['b', 'a'],
    ],
    [
      'disk: logs and volumes count for the node where images lie apart',
      'nodefs.available',
      { a: { pod: disk, uses: { rootfs: 50 } }, b: { pod: disk, uses: { logs: 3, volumes: { data: 3 } } } },
      ['b', 'a'],
      dedicated,
    ],
    [
      'disk: the own files of containers count for images that lie apart',
      'imagefs.available',
      { b: { pod: disk, uses: { logs: 30, volumes: { data: 3 } } }, a: { pod: disk, uses: { rootfs: 5 } } },
      ['a', 'b'],
      dedicated,
    ],
    [
      'disk: nobody uses the images of a split runtime, so the priority decides',
      'imagefs.available',
      {
        high: { pod: { ...disk, priority: 5 }, uses: { rootfs: 50, logs: 50, volumes: { data: 50 } } },
        low: { pod: disk, uses: {} },
      },
      ['low', 'high'],
      split,
    ],
    [
      'disk: all but images counts for the node of a split runtime',
      'nodefs.available',
      { a: { pod: disk, uses: { rootfs: 50 } }, b: { pod: disk, uses: { logs: 3, volumes: { data: 3 } } } },
      ['a', 'b'],
      split,
    ],
    [
      'disk: a volume in memory takes no disk space',
      'nodefs.available',
      {
        memory: {
          pod: { spec: { volumes: [{ name: 'data', emptyDir: { medium: 'Memory' } }] } },
          uses: { volumes: { data: 50 } },
        },
        onDisk: { pod: disk, uses: { volumes: { data: 5 } } },
      },
      ['onDisk', 'memory'],
    ],
    [
      'inodes: what was asked for of the disk decides between two that use some',
      'nodefs.inodesFree',
      {
        a: { pod: { requests: { 'ephemeral-storage': '1Gi' } }, uses: { inodes: 1000 } },
        b: { uses: { inodes: 10 } },
      },
      ['b', 'a'],
    ],
    [
      'processes: the lower priority',
      'pid.available',
      { high: { pod: { priority: 1 }, uses: { processes: 100 } }, low: { uses: { processes: 1 } } },
      ['low', 'high'],
    ],
    [
      'processes: more of them where priorities are equal, and a pod without statistics before',
      'pid.available',
      { few: { uses: { processes: 1 } }, many: { uses: { processes: 9 } }, unknown: {} },
      ['unknown', 'many', 'few'],
    ],
  ])('%s', (_rule, signal, rows, expected, layout) => {
    expect(order(signal, rows, layout)).toEqual(expected);
  });
});

it('the overhead of a pod counts only beside a request, and its own request before its containers’', () => {
  const overhead = { memory: '1Gi' };
  const ranked = rank('memory.available', {
    none: { pod: { spec: { overhead } }, uses: { memory: 10 } },
    some: { pod: { ...asks('1Mi'), spec: { overhead } }, uses: { memory: 10 } },
    own: {
      pod: { ...asks('5Mi'), spec: { resources: { requests: { memory: '3Mi' } } } },
      uses: { memory: 10 },
    },
  });
  const requests = Object.fromEntries(ranked.map(({ pod, request }) => [pod.metadata.name, request]));
  expect(requests).toEqual({ none: 0, some: gi + mi, own: 3 * mi });
});

it('every place has its reason', () => {
  const ranked = rank('memory.available', {
    c: { pod: asks('2Gi'), uses: { memory: gi } },
    b: { pod: { ...asks('100Mi'), priority: 7 }, uses: { memory: 300 * mi } },
    a: { pod: asks('100Mi'), uses: { memory: 200 * mi } },
    unknown: {},
  });
  expect(ranked.map(({ pod, before, because }) => [pod.metadata.name, before, because])).toEqual([
    ['unknown', 'statistics', 'its usage is not known; its priority is 0; the next one has statistics'],
    [
      'a',
      'priority',
      'it uses 200Mi of memory, more than the 100Mi that it requests; its priority is 0; the next one has a higher priority',
    ],
    [
      'b',
      'request',
      'it uses 300Mi of memory, more than the 100Mi that it requests; its priority is 7; the next one is within its request',
    ],
    ['c', undefined, 'it uses 1Gi of memory, within the 2Gi that it requests; its priority is 0'],
  ]);
});

describe('who is evicted', () => {
  const ranking = (pods: readonly Pod[]) =>
    rankPods({ signal: 'memory.available', layout: one, pods, statsOf: () => undefined });
  const chosen = (pods: readonly Pod[], evicting: readonly string[] = []) => {
    const choice = chooseFirst(ranking(pods), (uid) => evicting.includes(uid));
    return [choice.chosen?.pod.metadata.name, choice.passedOver.map(({ because }) => because)];
  };
  const critical = 'critical pods are not evicted';
  it.each<[string, readonly Pod[], readonly string[], string | undefined, string[]]>([
    ['the first', [testPod('a'), testPod('b')], [], 'a', []],
    ['no static pod', [testPod('a', { isStatic: true }), testPod('b')], [], 'b', [critical]],
    [
      'no critical pod',
      [testPod('a', { isStatic: true }), testPod('b', { priority: 2_000_000_000 })],
      [],
      undefined,
      [critical, critical],
    ],
    ['no pod twice', [testPod('a'), testPod('b')], ['uid-a'], 'b', ['it is being evicted already']],
  ])('%s', (_rule, pods, evicting, name, passedOver) => {
    expect(chosen(pods, evicting)).toEqual([name, passedOver]);
  });
});

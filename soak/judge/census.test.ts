import { describe, expect, it } from 'vitest';
import type { ContainerState as ContainerStateOf, Pod, PodStatus } from '../../src/kube/index.js';
import type { PlannedPod, ShapeName } from '../plan/shapes.js';
import type { SeenContainer, SeenSandbox } from '../sample/runtime-sample.js';
import {
  doubles,
  type LeftSeen,
  leftByRuntime,
  leftovers,
  type Seen,
  unsettled,
  type WantedPod,
} from './census.js';

const plan = (shape: ShapeName = 'plain'): PlannedPod => ({ name: 'a', shape, variant: 0, revision: 0 });
const wanted = (shape: ShapeName = 'plain'): WantedPod[] => [{ plan: plan(shape), shownName: 'a-node' }];

interface Shown {
  readonly name?: string;
  readonly uid?: string;
  readonly phase?: PodStatus['phase'];
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: ContainerStateOf;
  readonly containerID?: string;
}

const running = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const ended = { terminated: { exitCode: 0, reason: 'Completed' } };

const pod = ({
  name = 'a-node',
  uid = 'u1',
  phase = 'Running',
  ready = true,
  restartCount = 0,
  state = running,
  containerID = 'containerd://c1',
}: Shown = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', uid },
  spec: { containers: [{ name: 'app' }] },
  status: {
    phase,
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    containerStatuses: [
      { name: 'app', ready, restartCount, state, containerID, image: 'i', imageID: 'i', started: ready },
    ],
  },
});

const container = (more: Partial<SeenContainer> = {}): SeenContainer => ({
  id: 'c1',
  podUid: 'u1',
  pod: 'a-node',
  name: 'app',
  attempt: 0,
  runs: true,
  ...more,
});
const sandbox = (more: Partial<SeenSandbox> = {}): SeenSandbox => ({
  id: 's1',
  podUid: 'u1',
  pod: 'a-node',
  isReady: true,
  ...more,
});

const seen = (pods: Pod[], containers: SeenContainer[], starts: Record<string, number> = {}): Seen => ({
  pods,
  runtime: { containers, sandboxes: [sandbox()] },
  starts: new Map(Object.entries(starts)),
});

describe('what must never be', () => {
  const rows: [what: string, containers: SeenContainer[], sandboxes: SeenSandbox[], found: number][] = [
    ['one of each', [container()], [sandbox()], 0],
    ['a dead instance beside the live one', [container(), container({ id: 'c0', runs: false })], [], 0],
    ['two live instances', [container(), container({ id: 'c2' })], [], 1],
    ['two containers of a pod', [container(), container({ id: 'c2', name: 'echo' })], [], 0],
    ['two pods', [container(), container({ id: 'c2', podUid: 'u2' })], [], 0],
    ['two ready sandboxes', [], [sandbox(), sandbox({ id: 's2' })], 1],
    ['an ended sandbox beside a ready one', [], [sandbox(), sandbox({ id: 's2', isReady: false })], 0],
  ];
  it.each(rows)('%s', (_, containers, sandboxes, found) => {
    expect(doubles({ containers, sandboxes })).toHaveLength(found);
  });
});

describe('what is unsettled', () => {
  const rows: [what: string, wanted: WantedPod[], seen: Seen, problem: RegExp | undefined][] = [
    ['a pod as it should be', wanted(), seen([pod()], [container()], { 'u1.app': 1 }), undefined],
    ['a pod that is missing', wanted(), seen([], []), /is not there/],
    ['a pod that is not wanted', [], seen([pod()], []), /not wanted and still there/],
    ['a container of nobody', [], seen([], [container()]), /runs and is not wanted/],
    ['a dead container of nobody', [], seen([], [container({ runs: false })]), undefined],
    ['a pod that is not ready', wanted(), seen([pod({ ready: false })], [container()]), /not ready/],
    [
      'a crashing pod that is not ready',
      wanted('crash'),
      seen([pod({ ready: false, restartCount: 2 })], [container({ attempt: 2 })], { 'u1.app': 3 }),
      undefined,
    ],
    ['a job that has not ended', wanted('job'), seen([pod()], [container()]), /is Running, not Succeeded/],
    [
      'a job that has',
      wanted('job'),
      seen([pod({ phase: 'Succeeded', state: ended })], [container({ runs: false })], { 'u1.app': 1 }),
      undefined,
    ],
    [
      'a job that ran twice',
      wanted('job'),
      seen(
        [pod({ phase: 'Succeeded', state: ended, restartCount: 1 })],
        [container({ runs: false, attempt: 1 })],
        {
          'u1.app': 2,
        },
      ),
      /must run once and was started 2 times/,
    ],
    [
      'a restart that is not shown',
      wanted(),
      seen([pod()], [container({ attempt: 1 })]),
      /shows 0 restarts, and the runtime has attempt 1/,
    ],
    [
      'more starts than shown',
      wanted(),
      seen([pod()], [container()], { 'u1.app': 3 }),
      /was started 3 times, and shows 0 restarts/,
    ],
    ['a status that runs alone', wanted(), seen([pod()], []), /shown as running, and the runtime has none/],
    [
      'a status that is behind',
      wanted(),
      seen([pod()], [container({ runs: false })]),
      /does not run, and its status says so/,
    ],
    [
      'another container than shown',
      wanted(),
      seen([pod({ containerID: 'containerd://old' })], [container()]),
      /shown as containerd:\/\/old, and the runtime runs c1/,
    ],
  ];
  it.each(rows)('%s', (_, pods, all, problem) => {
    const problems = unsettled(pods, all);
    if (problem === undefined) expect(problems).toEqual([]);
    else
      expect(
        problems.some((text) => problem.test(text)),
        problems.join('\n'),
      ).toBe(true);
  });
});

describe('what is left', () => {
  const clean: LeftSeen = {
    ...seen([pod()], [container()]),
    machine: {
      mounts: ['/root/pods/u1/volumes/x', '/root/plugins/staged'],
      cgroups: ['/kubepods', '/kubepods/podu1', '/kubepods/podu1/c1'],
      shims: ['s1'],
      networkNamespaces: 1,
      links: 1,
      addresses: 1,
    },
    files: {
      rootFiles: 9,
      rootBytes: 9,
      timelineBytes: 9,
      logFiles: 1,
      logBytes: 1,
      logLinks: 1,
      podDirectories: ['u1'],
      logDirectories: ['default_a-node_u1'],
    },
  };
  const machine = (more: Partial<LeftSeen['machine']>): LeftSeen => ({
    ...clean,
    machine: { ...clean.machine, ...more },
  });
  const files = (more: Partial<LeftSeen['files']>): LeftSeen => ({
    ...clean,
    files: { ...clean.files, ...more },
  });
  const rows: [what: string, seen: LeftSeen, problem: RegExp | undefined][] = [
    ['nothing', clean, undefined],
    ['a mount', machine({ mounts: ['/root/pods/u2/volumes/x'] }), /the mount .*u2/],
    ['a cgroup', machine({ cgroups: ['/kubepods/besteffort/podu2'] }), /the cgroup .*podu2/],
    ['a directory', files({ podDirectories: ['u1', 'u2'] }), /the directory of pod u2/],
    ['a log directory', files({ logDirectories: ['default_b_u2'] }), /the log directory default_b_u2/],
    [
      'a dead container',
      { ...clean, runtime: { ...clean.runtime, containers: [container({ podUid: 'u2', runs: false })] } },
      /container c1 \(app\) of pod a-node is left/,
    ],
    [
      'a sandbox',
      {
        ...clean,
        runtime: { ...clean.runtime, sandboxes: [sandbox(), sandbox({ id: 's2', podUid: 'u2' })] },
      },
      /sandbox s2 of pod a-node is left/,
    ],
  ];
  it.each(rows)('%s', (_, all, problem) => {
    const problems = leftovers(wanted(), all);
    if (problem === undefined) expect(problems).toEqual([]);
    else
      expect(
        problems.some((text) => problem.test(text)),
        problems.join('\n'),
      ).toBe(true);
  });

  it.each([
    ['nothing', clean, []],
    ['a shim', machine({ shims: ['s1', 's9'] }), ['the shim of sandbox s9']],
    ['a network namespace', machine({ networkNamespaces: 2 }), ['2 network namespaces for 1 sandboxes']],
    ['a link', machine({ links: 2 }), ['2 links of pods for 1 sandboxes']],
    ['an address', machine({ addresses: 2 }), ['2 addresses of pods for 1 sandboxes']],
  ])('by the runtime: %s', (_, all, expected) => {
    expect(leftByRuntime(all)).toEqual(expected);
    expect(leftovers(wanted(), all)).toEqual([]);
  });
});

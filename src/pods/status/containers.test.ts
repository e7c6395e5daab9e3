import { describe, expect, it } from 'vitest';
import type { ObservedContainerStatus } from '../../cri/index.js';
import type { Container, ContainerKind, ContainerStatus } from '../../kube/index.js';
import { containerStatuses } from './containers.js';
import { instance, makePod, observe, type PodOptions, sidecar, statusOf } from './pod-fixtures.js';
import type { ContainerStartFailure } from './reason-cache.js';

interface Row {
  pod?: PodOptions;
  kind?: ContainerKind;
  old?: ContainerStatus[];
  seen?: ObservedContainerStatus[];
  failures?: Record<string, ContainerStartFailure>;
  restartingAll?: boolean;
  showsStopSignals?: boolean;
  showsVolumeImages?: boolean;
  expected: object[];
}

const deleted = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };
const crashLoop = {
  a: { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting failed container=a' },
};
const unknownEnd = (message: string) => ({
  terminated: { reason: 'ContainerStatusUnknown', exitCode: 137, message, startedAt: null, finishedAt: null },
});
const vanished = unknownEnd(
  'The container could not be located when the pod was deleted.  The container used to be Running',
);
const removedMessage = 'The container is removed because RestartAllContainers in place';
const finished = statusOf('a', 'exit 3', { restartCount: 5, containerID: 'containerd://a-9' });

const imageVolumeMounts = ['i', 'j', 'v', 'long'].map((name) => ({ name, mountPath: `/${name}` }));
const imageMounts = [
  { containerPath: '/i', hostPath: '', image: 'sha256:1' },
  { containerPath: '/j', hostPath: '', image: 'sha256:2', imageRef: 'x@sha256:2' },
  { containerPath: '/v', hostPath: '/pods/v' },
  { containerPath: '/long', hostPath: '', image: 'x'.repeat(257) },
];

const rows: Record<string, Row> = {
  'nothing created: ContainerCreating': {
    expected: [
      { name: 'a', image: 'a:1', state: { waiting: { reason: 'ContainerCreating' } }, restartCount: 0 },
    ],
  },
  'nothing created with init containers: PodInitializing': {
    pod: { initContainers: ['i'] },
    expected: [{ state: { waiting: { reason: 'PodInitializing' } } }],
  },
  'running and vanished: last state unknown, one restart more': {
    old: [statusOf('a', 'running', { restartCount: 2 })],
    expected: [{ state: { waiting: { reason: 'ContainerCreating' } }, lastState: vanished, restartCount: 3 }],
  },
  'running and vanished while deleted: no restart counted': {
    pod: deleted,
    old: [statusOf('a', 'running', { restartCount: 2 })],
    expected: [{ lastState: vanished, restartCount: 2 }],
  },
  'running and vanished with a last state: that stays': {
    old: [statusOf('a', 'running', { last: 7, restartCount: 2 })],
    expected: [{ lastState: { terminated: { exitCode: 7 } }, restartCount: 2 }],
  },
  'terminated and missing: the old status is unchanged': { old: [finished], expected: [finished] },
  'removed for a restart of all': {
    old: [statusOf('a', 'running', { restartCount: 1 })],
    restartingAll: true,
    expected: [
      {
        state: { waiting: { reason: 'RestartingAllContainers', message: removedMessage } },
        lastState: {
          terminated: { reason: 'RestartingAllContainers', exitCode: 137, message: removedMessage },
        },
        restartCount: 2,
      },
    ],
  },
  'unknown to the runtime after running: terminated': {
    old: [statusOf('a', 'running', { restartCount: 4 })],
    seen: [instance('a', 'unknown', { restartCount: 1 })],
    expected: [
      {
        state: unknownEnd('The container could not be located when the pod was terminated'),
        restartCount: 5,
      },
    ],
  },
  'unknown to the runtime and never running: waiting': {
    seen: [instance('a', 'unknown')],
    expected: [{ state: { waiting: {} } }],
  },
  'created: waiting without a reason': {
    seen: [instance('a', 'created')],
    expected: [{ state: { waiting: {} }, containerID: 'containerd://a-0' }],
  },
  'running: image, ids and start time': {
    seen: [instance('a', 'running', { image: 'real:2', restartCount: 3 })],
    expected: [
      {
        state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
        image: 'real:2',
        imageID: 'repo/a@sha256:1',
        containerID: 'containerd://a-0',
        restartCount: 3,
        ready: false,
      },
    ],
  },
  'exited with a start failure on record: waiting, last state terminated': {
    seen: [instance('a', 'exited', { exitCode: 1 })],
    failures: crashLoop,
    expected: [
      {
        state: { waiting: crashLoop.a },
        lastState: { terminated: { exitCode: 1, containerID: 'containerd://a-0' } },
      },
    ],
  },
  'exited while deleted: stays terminated': {
    pod: deleted,
    seen: [instance('a', 'exited', { exitCode: 1 })],
    failures: crashLoop,
    expected: [
      {
        state: {
          terminated: {
            exitCode: 1,
            reason: 'Error',
            startedAt: '2026-01-01T00:00:00Z',
            finishedAt: '2026-01-01T00:01:00Z',
          },
        },
      },
    ],
  },
  'exited for good: a start failure says nothing': {
    pod: { policy: 'Never' },
    seen: [instance('a', 'exited', { exitCode: 1 })],
    failures: crashLoop,
    expected: [{ state: { terminated: { exitCode: 1 } } }],
  },
  'never started with a start failure: the failure is the waiting reason': {
    failures: { a: { reason: 'ErrImagePull', message: 'no such image' } },
    expected: [{ state: { waiting: { reason: 'ErrImagePull', message: 'no such image' } }, lastState: {} }],
  },
  'an init container that is gone counts as completed': {
    kind: 'initContainer',
    pod: { initContainers: ['i'] },
    seen: [instance('a', 'running')],
    expected: [{ state: { terminated: { reason: 'Completed', exitCode: 0 } } }],
  },
  'a sidecar that is gone waits': {
    kind: 'initContainer',
    pod: { initContainers: [sidecar('i')] },
    seen: [instance('a', 'running')],
    expected: [{ state: { waiting: { reason: 'PodInitializing' } } }],
  },
  'an init container that succeeded stays so': {
    kind: 'initContainer',
    pod: { initContainers: ['a'], containers: ['b'] },
    seen: [instance('a', 'exited')],
    failures: crashLoop,
    expected: [{ state: { terminated: { exitCode: 0, reason: 'Completed' } } }],
  },
  'the newest of several is the state, the second the last state': {
    seen: [
      instance('a', 'running', { id: 'a-2', restartCount: 2 }),
      instance('a', 'exited', { id: 'a-1', exitCode: 4 }),
      instance('a', 'exited', { id: 'a-0', exitCode: 9 }),
    ],
    expected: [
      {
        containerID: 'containerd://a-2',
        lastState: { terminated: { exitCode: 4, containerID: 'containerd://a-1' } },
        restartCount: 2,
      },
    ],
  },
  'a new container after a terminated one that is gone carries its end and counts on': {
    old: [finished],
    seen: [instance('a', 'running', { id: 'a-10' })],
    expected: [{ lastState: { terminated: { exitCode: 3 } }, restartCount: 6, state: { running: {} } }],
  },
  'the restart count never falls': {
    old: [statusOf('a', 'running', { restartCount: 5, last: 8 })],
    seen: [instance('a', 'running', { restartCount: 2 })],
    expected: [{ restartCount: 5, lastState: { terminated: { exitCode: 8 } } }],
  },
  'a running container inherits started and keeps its volume mounts': {
    old: [statusOf('a', 'running', { started: true, volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
    seen: [instance('a', 'running')],
    expected: [{ started: true, volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
  },
  'a container that failed to start began at the epoch': {
    pod: { policy: 'Never' },
    seen: [instance('a', 'exited', { exitCode: 128, startedAtNs: 0n })],
    expected: [{ state: { terminated: { startedAt: '1970-01-01T00:00:00Z' } } }],
  },
  'the user as the runtime reports it': {
    seen: [instance('a', 'running', { user: { uid: 5, gid: 6, supplementalGroups: [7] } })],
    expected: [{ user: { linux: { uid: 5, gid: 6, supplementalGroups: [7] } } }],
  },
  'the signal that stops it, where it is told': {
    showsStopSignals: true,
    seen: [instance('a', 'running', { stopSignal: 'SIGUSR1' })],
    expected: [{ stopSignal: 'SIGUSR1' }],
  },
  'the images of its image volumes, where they are told': {
    showsVolumeImages: true,
    old: [statusOf('a', 'running', { volumeMounts: imageVolumeMounts })],
    seen: [instance('a', 'running', { mounts: imageMounts })],
    expected: [
      {
        volumeMounts: [
          { name: 'i', mountPath: '/i', volumeStatus: { image: { imageRef: 'sha256:1' } } },
          { name: 'j', mountPath: '/j', volumeStatus: { image: { imageRef: 'x@sha256:2' } } },
          { name: 'v', mountPath: '/v' },
          { name: 'long', mountPath: '/long' },
        ],
      },
    ],
  },
  'no images of its image volumes by default': {
    old: [statusOf('a', 'running', { volumeMounts: imageVolumeMounts })],
    seen: [instance('a', 'running', { mounts: imageMounts })],
    expected: [{ volumeMounts: imageVolumeMounts }],
  },
  'regular containers come out by name, others are ignored': {
    pod: { containers: ['b', 'a'] },
    seen: [instance('x', 'running'), instance('b', 'running')],
    expected: [{ name: 'a' }, { name: 'b', state: { running: {} } }],
  },
  'init containers come out in the order of the spec': {
    kind: 'initContainer',
    pod: { initContainers: ['z', 'y'] },
    expected: [{ name: 'z' }, { name: 'y' }],
  },
};

const statusesOf = ({ pod, kind = 'container', old, seen = [], failures = {}, ...row }: Row) => {
  const made = makePod(pod);
  const containers = kind === 'initContainer' ? (made.spec.initContainers ?? []) : made.spec.containers;
  return containerStatuses(kind, containers, old, {
    pod: made,
    observed: observe(seen),
    runtimeName: 'containerd',
    isRestartingAll: row.restartingAll ?? false,
    showsStopSignals: row.showsStopSignals,
    showsVolumeImages: row.showsVolumeImages,
    startFailure: (name) => failures[name],
    supportsRecursiveReadOnly: true,
  });
};

describe('containerStatuses', () => {
  it.each(Object.entries(rows))('%s', (_, row) => {
    const statuses = statusesOf(row);
    expect(statuses).toHaveLength(row.expected.length);
    expect(statuses).toMatchObject(row.expected);
  });

  it('a new instance does not inherit `started` from the former one', () => {
    const old = [statusOf('a', 'running', { started: true, containerID: 'containerd://former' })];
    const [status] = statusesOf({ old, seen: [instance('a', 'running')], expected: [] });
    expect(status?.started).toBeUndefined();
  });

  it('counts no restart when an instance seems to run again after its exit was seen', () => {
    const [ran] = statusesOf({ pod: { policy: 'Never' }, seen: [instance('a', 'exited')], expected: [] });
    const [status] = statusesOf({ old: [ran!], seen: [instance('a', 'running')], expected: [] });
    expect(status?.restartCount).toBe(0);
  });

  it('omits stop signals unless enabled', () => {
    const seen = [instance('a', 'running', { stopSignal: 'SIGUSR1' })];
    expect(statusesOf({ seen, expected: [] })[0]?.stopSignal).toBeUndefined();
  });

  it('shows the mounts of the spec until the first status is cached', () => {
    const mounts: Container['volumeMounts'] = [
      { name: 'rw', mountPath: '/rw' },
      { name: 'ro', mountPath: '/ro', readOnly: true },
      { name: 'rro', mountPath: '/rro', readOnly: true, recursiveReadOnly: 'IfPossible' },
      {
        name: 'p',
        mountPath: '/p',
        readOnly: true,
        recursiveReadOnly: 'Enabled',
        mountPropagation: 'HostToContainer',
      },
    ];
    const pod = { containers: [{ name: 'a', volumeMounts: mounts }] };
    expect(statusesOf({ pod, expected: [] })[0]?.volumeMounts).toEqual([
      { name: 'rw', mountPath: '/rw' },
      { name: 'ro', mountPath: '/ro', readOnly: true, recursiveReadOnly: 'Disabled' },
      { name: 'rro', mountPath: '/rro', readOnly: true, recursiveReadOnly: 'Enabled' },
      { name: 'p', mountPath: '/p', readOnly: true, recursiveReadOnly: 'Disabled' },
    ]);
    const seen = [instance('a', 'running')];
    expect(statusesOf({ pod, seen, expected: [] })[0]?.volumeMounts).toBeUndefined();
  });
});

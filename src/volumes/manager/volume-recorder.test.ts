import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { Timeline } from '../../timeline/index.js';
import { FileSystemMismatch, type VolumeSpec } from '../contracts.js';
import { createVolumeMetrics } from '../metrics.js';
import { FailedMount } from './mount-operation.js';
import type { PlannedOperation } from './plan.js';
import { VolumeRecorder } from './volume-recorder.js';

const pod: Pod = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [] } };
const persistent: VolumeSpec = {
  kind: 'persistent',
  volume: { name: 'data' },
  persistentVolume: { metadata: { name: 'pv', uid: 'of pv' }, spec: {} },
  readOnly: false,
};
const mountOf = (spec: VolumeSpec): PlannedOperation => ({
  name: 'volume_mount',
  key: { uniqueName: 'x/pv', podUid: 'u' },
  because: 'a pod wants it',
  isRemount: false,
  isRoutine: false,
  wanted: {
    uniqueName: 'x/pv',
    podUid: 'u',
    pluginName: 'kubernetes.io/local-volume',
    innerName: 'pv',
    mode: 'Filesystem',
    volumeNames: ['data'],
    hasDevice: true,
    refreshes: false,
    pod,
    spec,
    extraGroup: undefined,
  },
});
const refused = new Error('mount failed: wrong fs type');

it.each<[rule: string, problem: Error, spec: VolumeSpec, told: boolean]>([
  ['another file system than it should', new FileSystemMismatch(refused), persistent, true],
  ['some other fault', refused, persistent, false],
  [
    'no PersistentVolume',
    new FileSystemMismatch(refused),
    { kind: 'inline', volume: { name: 'data' } },
    false,
  ],
])('who made a volume is told that it has %s', (_rule, problem, spec, isTold) => {
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const recorder = new VolumeRecorder(timeline, clock, createVolumeMetrics());
  recorder.failed(mountOf(spec), new FailedMount('MountVolume.MountDevice failed', 'pv', problem), 500, 10);
  const events = timeline.ofNode().flatMap(({ event, message }) => (event ? [{ event, message }] : []));
  const expected = {
    event: {
      type: 'Warning',
      reason: 'FailedMountOnFilesystemMismatch',
      volume: { name: 'pv', uid: 'of pv' },
    },
    message: 'MountVolume failed for volume "pv" mount failed: wrong fs type',
  };
  expect(events).toEqual(isTold ? [expected] : []);
});

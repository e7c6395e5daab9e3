import { describe, expect, it } from 'vitest';
import type { PersistentVolume, Volume } from '../../kube/index.js';
import { type ContainerVolumeMode, VolumeFailure, type VolumePlugin } from '../contracts.js';
import {
  mergeWanted,
  selectPlugin,
  unwantedMounts,
  usedVolumes,
  volumeSpec,
  wantedMount,
} from './desired-state.js';
import { mountRefusal } from './mount-operation.js';
import { nodeAffinityProblem } from './node-affinity.js';
import {
  begun,
  failed,
  type OperationEntry,
  operationKey,
  operationKeyText,
  permission,
} from './operations.js';
import { afterFailedMount, afterFailedUnmount, afterMount, failureClass } from './outcome.js';
import { type PlannedOperation, planVolumes, type VolumePlanInput } from './plan.js';
import { judgeDirectories } from './reconstruct.js';
import type { ActualDevice, ActualMount, WantedMount } from './states.js';
import { actual, byKey, FakePlugin, podWith, wanted } from './test-fixtures.js';
import { mountWait, mountWaitText, unmountWaitText } from './wait-texts.js';

interface World {
  readonly desired?: readonly WantedMount[];
  readonly mounts?: readonly ActualMount[];
  readonly devices?: readonly ActualDevice[];
  readonly operations?: readonly OperationEntry[];
  readonly ready?: boolean;
  readonly gone?: readonly string[];
  readonly nowMs?: number;
}

function plan({
  desired = [],
  mounts = [],
  devices = [],
  operations = [],
  ready = true,
  gone = [],
  nowMs = 0,
}: World) {
  const input: VolumePlanInput = {
    desired: byKey(desired),
    actual: { mounts: byKey(mounts), devices: new Map(devices.map((device) => [device.uniqueName, device])) },
    operations: new Map(operations.map((entry) => [operationKeyText(entry), entry])),
    nowMs,
    readyToUnmount: ready,
    isRuntimeGone: (uid) => gone.includes(uid),
  };
  const result = planVolumes(input);
  return {
    ...result,
    texts: result.operations.map(operationText),
  };
}

function operationText(operation: PlannedOperation): string {
  switch (operation.name) {
    case 'volume_mount':
      return `${operation.isRemount ? 'remount' : 'mount'} ${operation.wanted.innerName}`;
    case 'map_volume':
      return `${operation.isRemount ? 'remap' : 'map'} ${operation.wanted.innerName}`;
    case 'volume_unmount':
      return `unmount ${operation.mount.innerName}`;
    case 'unmap_volume':
      return `unmap ${operation.mount.innerName}`;
    case 'unmount_device':
      return `unmount device ${operation.device.innerName}`;
    case 'volume_fs_resize':
      return `expand ${operation.wanted.innerName}`;
    case 'unmap_device':
      return `unmap device ${operation.device.innerName}`;
  }
}

const pending = (
  name: OperationEntry['name'],
  key: { uniqueName: string; podUid: string | undefined },
): OperationEntry => ({
  ...key,
  name,
  pending: true,
  delayMs: 0,
  failedAtMs: 0,
});
const device = (name: string, state: ActualDevice['state'] = 'mounted'): ActualDevice => ({
  uniqueName: `fake/device/${name}`,
  pluginName: 'fake/device',
  innerName: name,
  mode: 'Filesystem',
  state,
});
const onDevice = (name: string, podUid: string): WantedMount =>
  wanted(name, { podUid, uniqueName: `fake/device/${name}`, pluginName: 'fake/device', hasDevice: true });
const deviceMount = (name: string, podUid: string): ActualMount =>
  actual(name, { podUid, uniqueName: `fake/device/${name}`, pluginName: 'fake/device' });
const v = wanted('v');
const mountOfV = { uniqueName: v.uniqueName, podUid: v.podUid };

describe('planVolumes', () => {
  const rows: readonly {
    rule: string;
    world: World;
    expected: readonly string[];
    heldBack?: boolean;
    retryAtMs?: number;
  }[] = [
    { rule: 'does nothing without wanted or actual volumes', world: {}, expected: [] },
    {
      rule: 'mounts a wanted volume that is not mounted',
      world: { desired: [v] },
      expected: ['mount v'],
    },
    { rule: 'leaves a mounted volume alone', world: { desired: [v], mounts: [actual('v')] }, expected: [] },
    {
      rule: 'mounts an uncertain volume again',
      world: { desired: [v], mounts: [actual('v', { state: 'uncertain' })] },
      expected: ['mount v'],
    },
    {
      rule: 'sets up a reconstructed volume as a remount',
      world: { desired: [v], mounts: [actual('v', { state: 'uncertain', reconstructed: true })] },
      expected: ['remount v'],
    },
    {
      rule: 'sets up a volume again that needs a remount',
      world: { desired: [v], mounts: [actual('v', { remountRequired: true })] },
      expected: ['remount v'],
    },
    {
      rule: 'verifies a volume for the pod that has it before another one tries to get it',
      world: {
        desired: [onDevice('d', 'new'), onDevice('d', 'holder')],
        mounts: [{ ...deviceMount('d', 'holder'), state: 'uncertain', reconstructed: true }],
      },
      // One operation on a device at a time.
      expected: ['remount d'],
    },
    {
      rule: 'unmounts an unwanted volume once nothing of its pod runs',
      world: { mounts: [actual('v')], gone: ['u1'] },
      expected: ['unmount v'],
    },
    {
      rule: 'unmounts an unwanted uncertain volume, too',
      world: { mounts: [actual('v', { state: 'uncertain' })], gone: ['u1'] },
      expected: ['unmount v'],
    },
    {
      rule: 'maps a wanted block volume, and unmaps an unwanted one before its device',
      world: {
        desired: [wanted('v', { mode: 'Block' })],
        mounts: [actual('w', { mode: 'Block', podUid: 'u2' })],
        devices: [{ ...device('d'), mode: 'Block' }],
        gone: ['u2'],
      },
      expected: ['unmap w', 'map v', 'unmap device d'],
    },
    {
      rule: 'unmounts nothing before all sources are ready',
      world: { mounts: [actual('v')], gone: ['u1'], ready: false },
      expected: [],
      heldBack: true,
    },
    {
      rule: 'unmounts nothing of a pod that may still run',
      world: { mounts: [actual('v', { state: 'uncertain', reconstructed: true })] },
      expected: [],
      heldBack: true,
    },
    {
      rule: 'unmounts come before mounts',
      world: { desired: [wanted('w')], mounts: [actual('v', { podUid: 'u2' })], gone: ['u2'] },
      expected: ['unmount v', 'mount w'],
    },
    {
      rule: 'a pending operation on the same volume of the pod blocks',
      world: { desired: [v], operations: [pending('volume_mount', mountOfV)] },
      expected: [],
    },
    {
      rule: 'a pending operation of another pod on a volume without device does not',
      world: { desired: [v], operations: [pending('volume_mount', { ...mountOfV, podUid: 'u2' })] },
      expected: ['mount v'],
    },
    {
      rule: 'mounts of a device run one at a time across pods',
      world: { desired: [onDevice('pv', 'u1'), onDevice('pv', 'u2')] },
      expected: ['mount pv'],
    },
    {
      rule: 'a pod’s unmount of a device volume waits for its mount in another pod',
      world: {
        mounts: [deviceMount('pv', 'u1')],
        gone: ['u1'],
        operations: [pending('volume_mount', { uniqueName: 'fake/device/pv', podUid: undefined })],
      },
      expected: [],
    },
    {
      rule: 'a device that no pod uses is unmounted',
      world: { devices: [device('pv')] },
      expected: ['unmount device pv'],
    },
    {
      rule: 'an uncertain device is unmounted, too',
      world: { devices: [device('pv', 'uncertain')] },
      expected: ['unmount device pv'],
    },
    {
      rule: 'a device is not unmounted before all sources are ready',
      world: { devices: [device('pv')], ready: false },
      expected: [],
      heldBack: true,
    },
    {
      rule: 'a device is not unmounted while a pod has it mounted',
      world: { devices: [device('pv')], mounts: [deviceMount('pv', 'u1')] },
      expected: [],
      heldBack: true,
    },
    {
      rule: 'a device is not unmounted while a pod wants it',
      world: { devices: [device('pv')], desired: [onDevice('pv', 'u1')], mounts: [deviceMount('pv', 'u1')] },
      expected: [],
    },
    {
      rule: 'a volume with another SELinux label waits until no pod has it',
      world: {
        desired: [{ ...onDevice('d', 'u2'), seLinuxLabel: 'new' }],
        mounts: [{ ...deviceMount('d', 'u1'), seLinuxLabel: 'old' }],
        devices: [{ ...device('d'), seLinuxLabel: 'old' }],
        gone: ['u1'],
      },
      expected: ['unmount d'],
    },
    {
      rule: 'a device with another SELinux label than pods want is unmounted',
      world: {
        desired: [{ ...onDevice('d', 'u2'), seLinuxLabel: 'new' }],
        devices: [{ ...device('d'), seLinuxLabel: 'old' }],
      },
      expected: ['unmount device d'],
    },
    {
      rule: 'a device with another SELinux label stays while it is not known which pods there are',
      world: {
        desired: [{ ...onDevice('d', 'u2'), seLinuxLabel: 'new' }],
        devices: [{ ...device('d'), seLinuxLabel: 'old' }],
        ready: false,
      },
      expected: [],
      heldBack: true,
    },
    {
      rule: 'a device with the wanted SELinux label is used',
      world: {
        desired: [{ ...onDevice('d', 'u2'), seLinuxLabel: 'one' }],
        devices: [{ ...device('d'), seLinuxLabel: 'one' }],
      },
      expected: ['mount d'],
    },
    {
      rule: 'a pod that has the volume keeps it, whatever SELinux label its device has',
      world: {
        desired: [{ ...onDevice('d', 'u1'), seLinuxLabel: 'own' }],
        mounts: [{ ...deviceMount('d', 'u1'), seLinuxLabel: 'own', state: 'uncertain', reconstructed: true }],
        devices: [{ ...device('d', 'uncertain'), seLinuxLabel: 'old' }],
      },
      expected: ['remount d'],
    },
    {
      rule: 'no SELinux label and an empty one are the same',
      world: { desired: [{ ...onDevice('d', 'u2'), seLinuxLabel: '' }], devices: [device('d')] },
      expected: ['mount d'],
    },
    {
      rule: 'a failed mount waits for its back-off',
      world: {
        desired: [v],
        operations: [{ ...mountOfV, name: 'volume_mount', pending: false, delayMs: 500, failedAtMs: 100 }],
        nowMs: 599,
      },
      expected: [],
      retryAtMs: 600,
    },
    {
      rule: 'a failed mount is retried after its back-off',
      world: {
        desired: [v],
        operations: [{ ...mountOfV, name: 'volume_mount', pending: false, delayMs: 500, failedAtMs: 100 }],
        nowMs: 600,
      },
      expected: ['mount v'],
    },
    {
      rule: 'an operation of another name does not wait for the back-off',
      world: {
        mounts: [actual('v', { state: 'uncertain' })],
        gone: ['u1'],
        operations: [{ ...mountOfV, name: 'volume_mount', pending: false, delayMs: 500, failedAtMs: 0 }],
      },
      expected: ['unmount v'],
    },
  ];
  it.each(rows)('$rule', ({ world, expected, heldBack = false, retryAtMs }) => {
    const result = plan(world);
    expect(result.texts).toEqual(expected);
    expect(result.isHeldBack).toBe(heldBack);
    expect(result.retryAtMs).toBe(retryAtMs);
    for (const { because } of result.operations) expect(because).not.toBe('');
  });
});

describe('operations', () => {
  it('have keys that exclude conflicting operations', () => {
    const volume = { uniqueName: 'n', podUid: 'u', hasDevice: false };
    expect(operationKey('volume_mount', volume)).toEqual({ uniqueName: 'n', podUid: 'u' });
    expect(operationKey('volume_mount', { ...volume, hasDevice: true })).toEqual({
      uniqueName: 'n',
      podUid: undefined,
    });
    expect(operationKey('volume_unmount', { ...volume, hasDevice: true })).toEqual({
      uniqueName: 'n',
      podUid: 'u',
    });
    expect(operationKey('unmount_device', volume)).toEqual({ uniqueName: 'n', podUid: undefined });
  });

  it('are retried after 500 ms, doubling up to 2m2s', () => {
    const key = { uniqueName: 'n', podUid: 'u' };
    let entry = begun(undefined, key, 'volume_mount');
    const delays: number[] = [];
    for (let attempt = 0; attempt < 10; attempt++) {
      const after = failed(entry, 0);
      delays.push(after.delayMs);
      entry = begun(after, key, 'volume_mount');
    }
    expect(delays).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 122_000, 122_000]);
    expect(failed(begun(entry, key, 'volume_unmount'), 0).delayMs).toBe(500);
  });

  it('without a pod exclude those of every pod, and vice versa', () => {
    const book = (entry: OperationEntry) => new Map([[operationKeyText(entry), entry]]);
    const ofPod = book(pending('volume_unmount', { uniqueName: 'n', podUid: 'u' }));
    expect(permission(ofPod, { uniqueName: 'n', podUid: undefined }, 'unmount_device', 0).kind).toBe('busy');
    expect(permission(ofPod, { uniqueName: 'n', podUid: 'other' }, 'volume_unmount', 0).kind).toBe('go');
    expect(permission(ofPod, { uniqueName: 'm', podUid: undefined }, 'unmount_device', 0).kind).toBe('go');
    const ofVolume = book(pending('volume_mount', { uniqueName: 'n', podUid: undefined }));
    expect(permission(ofVolume, { uniqueName: 'n', podUid: 'u' }, 'volume_unmount', 0).kind).toBe('busy');
  });
});

describe('outcomes', () => {
  const mounted = actual('v');
  const uncertain = actual('v', { state: 'uncertain' });
  const found = actual('v', { state: 'uncertain', reconstructed: true });
  it.each([
    {
      rule: 'final: an unmounted volume stays unmounted',
      before: undefined,
      kind: 'final',
      state: undefined,
    },
    { rule: 'final: uncertain becomes unmounted', before: uncertain, kind: 'final', state: undefined },
    { rule: 'final: a reconstructed mount stays', before: found, kind: 'final', state: 'uncertain' },
    { rule: 'final: a failed refresh stays mounted', before: mounted, kind: 'final', state: 'mounted' },
    {
      rule: 'uncertain: an unmounted volume becomes uncertain',
      before: undefined,
      kind: 'uncertain',
      state: 'uncertain',
    },
    {
      rule: 'uncertain: a mounted volume stays mounted',
      before: mounted,
      kind: 'uncertain',
      state: 'mounted',
    },
    { rule: 'transient: nothing changes', before: undefined, kind: 'transient', state: undefined },
    {
      rule: 'transient: nothing changes for uncertain ones',
      before: uncertain,
      kind: 'transient',
      state: 'uncertain',
    },
  ] as const)('$rule', ({ before, kind, state }) => {
    expect(afterFailedMount(before, v, kind)?.state).toBe(state);
  });

  it('a set-up clears the remount flag, unless the pod was processed meanwhile', () => {
    expect(afterMount(v, false)).toMatchObject({
      state: 'mounted',
      remountRequired: false,
      reconstructed: false,
    });
    expect(afterMount(v, true).remountRequired).toBe(true);
  });
  it('a failed tear-down leaves an uncertain mount', () => {
    expect(afterFailedUnmount(mounted).state).toBe('uncertain');
  });
  it('an error without a class is final', () => {
    expect(failureClass(new Error('x'))).toBe('final');
    expect(failureClass(new VolumeFailure('transient', 'x'))).toBe('transient');
  });
});

const plain = new FakePlugin('fake/plain', ({ emptyDir }) => emptyDir !== undefined);
const configs = new FakePlugin('fake/config', ({ configMap }) => configMap !== undefined, true);
const shared = new FakePlugin(
  'fake/device',
  ({ persistentVolumeClaim }) => persistentVolumeClaim !== undefined,
  false,
  {
    uniqueName: (spec) =>
      `fake/device/${spec.kind === 'persistent' ? spec.persistentVolume.metadata.name : ''}`,
    mountDevice: async () => {},
    unmountDevice: async () => {},
  },
);
const plugins: readonly VolumePlugin[] = [plain, configs, shared];
const claimOf = (name: string): Volume => ({ name, persistentVolumeClaim: { claimName: 'c' } });
const pv = (spec: PersistentVolume['spec'] = {}): PersistentVolume => ({ metadata: { name: 'pv-1' }, spec });
const resolved = (spec: PersistentVolume['spec'] = {}) => ({
  persistentVolume: pv(spec),
  readOnly: false,
  extraGroup: undefined,
});

describe('what a pod wants', () => {
  it('is what its containers of any kind use', () => {
    const pod = podWith(
      [
        { name: 'a', emptyDir: {} },
        { name: 'b', emptyDir: {} },
      ],
      { unused: ['a', 'b'] },
    );
    pod.spec.volumes = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, emptyDir: {} }));
    pod.spec.initContainers = [{ name: 'i', volumeMounts: [{ name: 'b', mountPath: '/b' }] }];
    pod.spec.ephemeralContainers = [{ name: 'e', volumeMounts: [{ name: 'c', mountPath: '/c' }] }];
    pod.spec.containers[0]!.volumeDevices = [{ name: 'd', devicePath: '/dev/x' }];
    expect(usedVolumes(pod).map(({ name }) => name)).toEqual(['b', 'c', 'd']);
  });
  it('is an emptyDir if a volume names no source', () => {
    expect(volumeSpec({ name: 'v' }, undefined)).toEqual({
      kind: 'inline',
      volume: { name: 'v', emptyDir: {} },
    });
  });
  it('is named per pod, or across pods if they share a device', () => {
    const volume: Volume = { name: 'v', emptyDir: {} };
    expect(wantedMount(podWith([volume]), volume, undefined, plugins).uniqueName).toBe('fake/plain/u1-v');
    const mount = wantedMount(podWith([claimOf('d')]), claimOf('d'), resolved(), plugins);
    expect(mount).toMatchObject({ uniqueName: 'fake/device/pv-1', innerName: 'pv-1', hasDevice: true });
  });
  it('is one mount if two volumes name one claim', () => {
    const pod = podWith([claimOf('a'), claimOf('b')]);
    const mounts = ['a', 'b'].map((name) => wantedMount(pod, claimOf(name), resolved(), plugins));
    expect([...mergeWanted(mounts).values()].map(({ volumeNames }) => volumeNames)).toEqual([['a', 'b']]);
  });
  it.each([
    ['nobody', [], 'no volume plugin matched'],
    [
      'two',
      [plain, new FakePlugin('fake/other', () => true)],
      'multiple volume plugins matched: fake/plain,fake/other',
    ],
  ] as const)('needs exactly one plugin: %s matches', (_, offered, problem) => {
    const spec = volumeSpec({ name: 'v', emptyDir: {} }, undefined);
    expect(() => selectPlugin(offered, spec)).toThrow(
      `failed to get Plugin from volumeSpec for volume "v" err=${problem}`,
    );
  });
  it.each([
    ['Block', 'volumeMounts', 'volume d has volumeMode Block, but is specified in volumeMounts'],
    ['Filesystem', 'volumeDevices', 'volume d has volumeMode Filesystem, but is specified in volumeDevices'],
  ])('is refused with volumeMode %s in %s', (volumeMode, where, message) => {
    const pod = podWith([claimOf('d')], { unused: where === 'volumeDevices' ? ['d'] : [] });
    if (where === 'volumeDevices')
      pod.spec.containers[0]!.volumeDevices = [{ name: 'd', devicePath: '/dev/d' }];
    expect(() => wantedMount(pod, claimOf('d'), resolved({ volumeMode }), plugins)).toThrow(message);
  });

  const removal = { mounted: true, busy: false, configured: true, gone: true };
  it.each([
    { rule: 'is dropped when nothing of the pod runs', given: removal, unwanted: true },
    { rule: 'stays while something of the pod may run', given: { ...removal, gone: false }, unwanted: false },
    {
      rule: 'stays while its first mount is running',
      given: { ...removal, mounted: false, busy: true },
      unwanted: false,
    },
    {
      rule: 'is dropped with a pod that is gone, even then',
      given: { ...removal, mounted: false, busy: true, configured: false },
      unwanted: true,
    },
    { rule: 'is dropped if it was never mounted', given: { ...removal, mounted: false }, unwanted: true },
  ])('$rule', ({ given, unwanted }) => {
    const found = unwantedMounts({
      desired: byKey([v]),
      actual: { mounts: byKey(given.mounted ? [actual('v')] : []), devices: new Map() },
      isBusy: () => given.busy,
      isConfigured: () => given.configured,
      isRuntimeGone: () => given.gone,
    });
    expect(found.length > 0).toBe(unwanted);
  });
});

describe('reconstruction', () => {
  const dir = (plugin: string, name: string, podUid = 'u1', mode: ContainerVolumeMode = 'Filesystem') => ({
    mode,
    podUid,
    pluginDirectory: plugin,
    name,
  });
  it('treats directories of known plugins as uncertain mounts', () => {
    const { mounts, devices, leftovers } = judgeDirectories([dir('fake~plain', 'v')], '/r', plugins);
    expect(mounts).toEqual([
      actual('v', {
        pluginName: 'fake/plain',
        uniqueName: 'fake/plain/u1-v',
        state: 'uncertain',
        reconstructed: true,
      }),
    ]);
    expect([devices, leftovers]).toEqual([[], []]);
  });
  it('counts a shared device once, whatever pods use it', () => {
    const dirs = [dir('fake~device', 'pv-1'), dir('fake~device', 'pv-1', 'u2')];
    const { mounts, devices } = judgeDirectories(dirs, '/r', plugins);
    expect(mounts.map(({ uniqueName, podUid }) => [uniqueName, podUid])).toEqual([
      ['fake/device/pv-1', 'u1'],
      ['fake/device/pv-1', 'u2'],
    ]);
    expect(devices).toEqual([device('pv-1', 'uncertain')]);
  });
  it('keeps directories of unknown plugins as leftovers', () => {
    const { leftovers } = judgeDirectories([dir('kubernetes.io~csi', 'pv')], '/r', plugins);
    expect(leftovers).toEqual([
      {
        podUid: 'u1',
        pluginName: 'kubernetes.io/csi',
        innerName: 'pv',
        mode: 'Filesystem',
        path: '/r/pods/u1/volumes/kubernetes.io~csi/pv',
        problem: 'no volume plugin matched',
        isKept: false,
      },
    ]);
  });

  it('keeps a directory for the administrator that its plugin cannot make out', () => {
    const place = dir('fake~plugin', 'pv');
    const fake = new FakePlugin('fake/plugin', () => true);
    const judged = judgeDirectories([place], '/r', [fake], new Map([[place, new Error('no data')]]));
    expect(judged.mounts).toEqual([]);
    expect(judged.leftovers).toMatchObject([{ problem: 'no data', isKept: true }]);
  });

  it('takes the name across pods from the plugin', () => {
    const place = dir('fake~plugin', 'pv');
    const fake = new FakePlugin('fake/plugin', () => true);
    const judged = judgeDirectories([place], '/r', [fake], new Map([[place, { uniqueName: 'fake/x' }]]));
    expect(judged.mounts).toMatchObject([{ uniqueName: 'fake/x', innerName: 'pv', reconstructed: true }]);
    expect(judged.devices).toMatchObject([{ uniqueName: 'fake/x', state: 'uncertain' }]);
  });
});

describe('texts of waits', () => {
  it('list missing volumes, sorted', () => {
    const pod = podWith([{ name: 'z' }, { name: 'a' }, { name: 'm' }]);
    const desired = byKey([wanted('z', { pod }), wanted('m', { pod })]);
    const wait = mountWait(pod, desired, { mounts: byKey([actual('m')]), devices: new Map() });
    expect(mountWaitText(wait, 'context deadline exceeded')).toBe(
      'unmounted volumes=[a z], unattached volumes=[], failed to process volumes=[a]: context deadline exceeded',
    );
  });
  it('list uncertain volumes as unmounted', () => {
    const pod = podWith([{ name: 'v' }]);
    const mounts = byKey([actual('v', { state: 'uncertain' })]);
    expect(mountWait(pod, byKey([wanted('v', { pod })]), { mounts, devices: new Map() }).unmounted).toEqual([
      'v',
    ]);
  });
  it('list mounted volumes by unique name', () => {
    expect(unmountWaitText(['b', 'a'], 'context deadline exceeded')).toBe(
      'mounted volumes=[a b]: context deadline exceeded',
    );
  });
});

describe('a persistent volume', () => {
  const node = { name: 'n1', labels: { zone: 'a', cores: '4' } };
  const affinity = (key: string, operator: string, values?: string[]): PersistentVolume =>
    pv({
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key, operator, ...(values && { values }) }] }],
        },
      },
    });
  it.each([
    ['In', affinity('zone', 'In', ['a', 'b']), true],
    ['In, another value', affinity('zone', 'In', ['b']), false],
    ['In, no such label', affinity('rack', 'In', ['b']), false],
    ['NotIn', affinity('zone', 'NotIn', ['b']), true],
    ['NotIn, no such label', affinity('rack', 'NotIn', ['b']), true],
    ['Exists', affinity('zone', 'Exists'), true],
    ['DoesNotExist', affinity('zone', 'DoesNotExist'), false],
    ['Gt', affinity('cores', 'Gt', ['3']), true],
    ['Lt', affinity('cores', 'Lt', ['3']), false],
    ['an unknown operator', affinity('cores', 'Near', ['3']), false],
    ['no term', pv({ nodeAffinity: { required: { nodeSelectorTerms: [] } } }), false],
    ['an empty term', pv({ nodeAffinity: { required: { nodeSelectorTerms: [{}] } } }), false],
    ['no affinity', pv(), true],
    [
      'a field',
      pv({
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['other'] }] },
              { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] },
            ],
          },
        },
      }),
      true,
    ],
  ] as const)('is used where its affinity allows it: %s', (_, volume, fits) => {
    expect(nodeAffinityProblem(volume, node)).toBe(fits ? undefined : 'no matching NodeSelectorTerms');
  });

  const refusal = (spec: PersistentVolume['spec'], others: readonly ActualMount[] = []): string | undefined =>
    mountRefusal({
      wanted: wanted('pv-1', {
        pluginName: 'fake/device',
        spec: { kind: 'persistent', volume: claimOf('d'), persistentVolume: pv(spec), readOnly: false },
      }),
      plugin: shared,
      node,
      actual: { mounts: byKey(others), devices: new Map() },
    })?.message;
  it('is refused on a node that its affinity excludes', () => {
    expect(refusal({ nodeAffinity: { required: { nodeSelectorTerms: [] } } })).toBe(
      'MountVolume.NodeAffinity check failed for volume "pv-1" : no matching NodeSelectorTerms',
    );
  });
  it('is refused with mount options that its plugin does not support', () => {
    expect(refusal({ mountOptions: ['ro'] })).toBe(
      'MountVolume.MountOptionSupport check failed for volume "pv-1" : mount options are not supported for this volume type',
    );
  });
  it('is refused to a second pod if it is ReadWriteOncePod', () => {
    const spec = { accessModes: ['ReadWriteOncePod'] };
    const used = (podUid: string) => [
      actual('pv-1', { podUid, pluginName: 'fake/device', state: 'uncertain' }),
    ];
    expect(refusal(spec, used('u2'))).toBe(
      'MountVolume.SetUp failed for volume "pv-1" : volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    );
    expect(refusal(spec, used('u1'))).toBeUndefined();
    expect(refusal({ accessModes: ['ReadWriteOncePod', 'ReadWriteMany'] }, used('u2'))).toBeUndefined();
  });
});

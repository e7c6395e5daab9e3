import { describe, expect, it } from 'vitest';
import { operationKeyText } from '../manager/operations.js';
import { planVolumes } from '../manager/plan.js';
import type { ActualMount, WantedMount } from '../manager/states.js';
import { actual, byKey, wanted } from '../manager/test-fixtures.js';
import { VolumeSizes } from './volume-sizes.js';

const shared = { uniqueName: 'fake/disk', hasDevice: true };

function sized(
  overrides: Partial<WantedMount> = {},
  { volumeBytes = 2n, readOnly = false } = {},
): WantedMount {
  const volume = { name: 'v' };
  return wanted('v', {
    ...shared,
    spec: { kind: 'persistent', volume, persistentVolume: { metadata: {}, spec: {} }, readOnly },
    size: {
      claim: { namespace: 'ns', name: 'c', uid: 'u' },
      claimBytes: 1n,
      volumeBytes,
      progress: '',
    },
    ...overrides,
  });
}

const mounted = (overrides: Partial<ActualMount> = {}): ActualMount =>
  actual('v', { uniqueName: shared.uniqueName, ...overrides });

interface Case {
  readonly desired?: readonly WantedMount[];
  readonly mounts?: readonly ActualMount[];
  readonly size?: bigint;
  readonly isInUse?: boolean;
  readonly failedAtMs?: number;
}

describe('a volume in use', () => {
  it.each<[string, Case, string[]]>([
    ['is expanded when its PersistentVolume is larger', {}, ['volume_fs_resize']],
    ['is left alone at its size', { size: 2n }, []],
    ['is left alone when the PersistentVolume is smaller', { size: 3n }, []],
    ['is left alone while its size is not known', { size: 0n }, []],
    [
      'is left alone without the size of a PersistentVolume',
      { desired: [sized({}, { volumeBytes: 0n })] },
      [],
    ],
    ['is left alone without a claim', { desired: [sized({ size: undefined })] }, []],
    ['is left alone by a pod that only reads it', { desired: [sized({}, { readOnly: true })] }, []],
    ['is left alone when it cannot grow in use', { isInUse: true }, []],
    ['is refreshed first', { mounts: [mounted({ remountRequired: true })] }, ['volume_mount']],
    ['is mounted first', { mounts: [] }, ['volume_mount']],
    ['waits after a failure', { failedAtMs: 900 }, []],
    ['is tried again after that', { failedAtMs: 400 }, ['volume_fs_resize']],
    [
      'is expanded once for two pods',
      {
        desired: [sized(), sized({ podUid: 'u2' })],
        mounts: [mounted(), mounted({ podUid: 'u2' })],
      },
      ['volume_fs_resize'],
    ],
  ])(
    '%s',
    (_, { desired = [sized()], mounts = [mounted()], size = 1n, isInUse = false, failedAtMs }, names) => {
      const sizes = new VolumeSizes();
      sizes.seen(shared.uniqueName, size);
      if (isInUse) sizes.inUse(shared.uniqueName);
      const key = { uniqueName: shared.uniqueName, podUid: undefined };
      const entry = { ...key, name: 'volume_fs_resize' as const, pending: false, delayMs: 500 };
      const plan = planVolumes({
        desired: byKey(desired),
        actual: { mounts: byKey(mounts), devices: new Map(), sizes },
        operations: new Map(
          failedAtMs === undefined ? [] : [[operationKeyText(key), { ...entry, failedAtMs }]],
        ),
        nowMs: 1000,
        readyToUnmount: true,
        isRuntimeGone: () => false,
      });
      expect(plan.operations.map(({ name }) => name)).toEqual(names);
    },
  );
});

describe('the sizes of volumes', () => {
  it('are those of claims at first, and then those that volumes were expanded to', () => {
    const sizes = new VolumeSizes();
    sizes.seen('a', 1n);
    sizes.seen('a', 5n);
    expect(sizes.sizeOf('a')).toBe(1n);
    sizes.reached('a', 2n);
    expect(sizes.sizeOf('a')).toBe(2n);
  });

  it('are forgotten with the volume, but not that its driver refused', () => {
    const sizes = new VolumeSizes();
    for (const name of ['a', 'b', 'c']) sizes.seen(name, 1n);
    sizes.refused('a');
    sizes.inUse('a');
    sizes.forget('a');
    sizes.keep(new Set(['b']));
    expect(['a', 'b', 'c'].map((name) => sizes.sizeOf(name))).toEqual([0n, 1n, 0n]);
    expect(sizes.isInUse('a')).toBe(false);
    expect(sizes.wasRefused('a')).toBe(true);
  });

  it('remember at most so many refusals', () => {
    const sizes = new VolumeSizes();
    for (let i = 0; i <= 1000; i++) sizes.refused(`v${i}`);
    expect(sizes.wasRefused('v0')).toBe(false);
    expect(sizes.wasRefused('v1')).toBe(true);
  });
});

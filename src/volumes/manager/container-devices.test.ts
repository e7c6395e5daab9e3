/** What the runtime is told of a container's block volumes. */
import { describe, expect, it } from 'vitest';
import type { VolumeDevice } from '../../kube/index.js';
import { containerDevices } from './container-devices.js';
import { wanted } from './test-fixtures.js';

const blockVolume = (name: string, readOnly = false) =>
  wanted(name, {
    mode: 'Block',
    spec: {
      kind: 'persistent',
      volume: { name },
      persistentVolume: { metadata: { name }, spec: { volumeMode: 'Block' } },
      readOnly,
    },
  });

const devicesOf = (volumeDevices: VolumeDevice[], linked = true) =>
  containerDevices({
    container: { name: 'app', image: 'i', volumeDevices },
    volume: (name) => (name === 'missing' ? undefined : blockVolume(name, name === 'ro')),
    device: async ({ innerName }) => (linked ? `/links/${innerName}` : undefined),
  });

describe('the devices of a container', () => {
  it('are its block volumes in the order of the spec, read-only if the claim is', async () => {
    const given = [
      { name: 'b', devicePath: '/dev/b' },
      { name: 'ro', devicePath: '/dev/ro' },
      { name: 'a', devicePath: '/dev/a' },
    ];
    expect(await devicesOf(given)).toEqual([
      { containerPath: '/dev/b', hostPath: '/links/b', permissions: 'mrw' },
      { containerPath: '/dev/ro', hostPath: '/links/ro', permissions: 'r' },
      { containerPath: '/dev/a', hostPath: '/links/a', permissions: 'mrw' },
    ]);
  });

  it('leave out a volume whose link is gone', async () => {
    expect(await devicesOf([{ name: 'b', devicePath: '/dev/b' }], false)).toEqual([]);
  });

  it.each([
    ['missing', '/dev/x', 'cannot find volume "missing" to pass into container "app"'],
    ['b', 'dev/x', 'error DevicePath `dev/x` must be an absolute path'],
  ])('are refused: %s at %s', async (name, devicePath, message) => {
    await expect(devicesOf([{ name, devicePath }])).rejects.toThrow(message);
  });
});

/** The file of devices: the reference kubelet's checksums, and what is refused. */
import { describe, expect, it } from 'vitest';
import { formatDeviceCheckpoint, parseDeviceCheckpoint } from './device-checkpoint.js';
import { ContainerAllocateResponse } from './gen/device-plugin.js';

const registered = new Map([['example.com/resource', ['Dev-1', 'Dev-2']]]);
const holder = {
  podUid: 'p1',
  container: 'c1',
  resource: 'example.com/resource',
  record: { idsByNode: new Map([[-1, ['Dev-1']]]), response: ContainerAllocateResponse.create() },
};
const tegra =
  '{"Data":{"PodDeviceEntries":[{"PodUID":"bf52b2cd-b611-4e79-86b1-280b283185c3","ContainerName":"check","ResourceName":"nvidia.com/gpu","DeviceIDs":{"-1":["tegra"]},"AllocResp":"Ch8KFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSBXRlZ3Jh"}],"RegisteredDevices":{"nvidia.com/gpu":["tegra"]}},"Checksum":3660592824}';

describe('checksums', () => {
  it.each([
    ['nothing', { holders: [], registered: new Map() }, 3467439661],
    ['no pods', { holders: [], registered }, 468646588],
    ['one pod', { holders: [holder], registered }, 2206160431],
  ])('%s', (_, checkpoint, checksum) => {
    const text = formatDeviceCheckpoint(checkpoint);
    expect(JSON.parse(text)).toMatchObject({ Checksum: checksum });
    expect(parseDeviceCheckpoint(text)).toEqual(checkpoint);
  });

  it('a file of another kubelet', () => {
    const read = parseDeviceCheckpoint(tegra);
    expect(read.registered).toEqual(new Map([['nvidia.com/gpu', ['tegra']]]));
    expect(read.holders).toMatchObject([
      {
        podUid: 'bf52b2cd-b611-4e79-86b1-280b283185c3',
        container: 'check',
        resource: 'nvidia.com/gpu',
        record: {
          idsByNode: new Map([[-1, ['tegra']]]),
          response: { envs: { NVIDIA_VISIBLE_DEVICES: 'tegra' } },
        },
      },
    ]);
    expect(JSON.parse(formatDeviceCheckpoint(read))).toEqual(JSON.parse(tegra));
  });
});

it('no pods are written as null', () => {
  expect(formatDeviceCheckpoint({ holders: [], registered: new Map() })).toBe(
    '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661}',
  );
});

it.each([
  ['one byte is flipped', tegra.replace('tegra', 'tegrb'), 'its checksum is wrong'],
  ['no data', '{}', 'it has no data'],
  ['entries', '{"Data":{"PodDeviceEntries":{}}}', 'its entries are not a list'],
  ['an entry', '{"Data":{"PodDeviceEntries":[1]}}', 'an entry is not that of a container'],
  [
    'a node',
    '{"Data":{"PodDeviceEntries":[{"PodUID":"","ContainerName":"","ResourceName":"","DeviceIDs":{"x":[]}}]}}',
    'devices of an entry are not sorted by NUMA node',
  ],
  ['ids', '{"Data":{"RegisteredDevices":{"a":[1]}}}', 'devices are not lists of ids'],
])('refused: %s', (_, text, message) => {
  expect(() => parseDeviceCheckpoint(text)).toThrow(message);
});

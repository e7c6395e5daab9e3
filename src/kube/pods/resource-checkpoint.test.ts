import { describe, expect, it } from 'vitest';
import {
  formatResourceCheckpoint,
  type PodResourceEntry,
  parseResourceCheckpoint,
  resourceChecksum,
} from './resource-checkpoint.js';

const one = { limits: { cpu: '1' }, requests: { cpu: '1' } };

describe('the checkpoint of resources', () => {
  it('has the checksum of the reference kubelet', () => {
    const data =
      '{"entries":{"pod1":{"ContainerResources":{"container1":{"requests":{"cpu":"1Ki","memory":"1Ki"}}}}}}';
    expect(resourceChecksum(data)).toBe(1_178_570_812);
  });

  it('is written as the reference kubelet writes it', () => {
    const text = formatResourceCheckpoint(new Map([['uid1', { ContainerResources: { c1: one } }]]));
    expect(JSON.parse(text)).toEqual({
      data: '{"entries":{"uid1":{"ContainerResources":{"c1":{"limits":{"cpu":"1"},"requests":{"cpu":"1"}}},"PodLevelResources":null,"EmptyDirVolumeLimits":null}}}',
      checksum: 3_634_971_702,
    });
  });

  it('names the size limits of volumes in memory, sorted', () => {
    const text = formatResourceCheckpoint(
      new Map([['uid1', { EmptyDirVolumeLimits: { w: '1Gi', v: '64Mi' } }]]),
    );
    expect(JSON.parse(text).data).toBe(
      '{"entries":{"uid1":{"ContainerResources":null,"PodLevelResources":null,"EmptyDirVolumeLimits":{"v":"64Mi","w":"1Gi"}}}}',
    );
    expect(formatResourceCheckpoint(new Map([['a', { EmptyDirVolumeLimits: {} }]]))).toContain(
      'EmptyDirVolumeLimits\\":null',
    );
  });

  it('is read as it was written, and equal entries have equal texts', () => {
    const entries = new Map<string, PodResourceEntry>([
      ['b', { ContainerResources: { z: { claims: [{ name: 'gpu', request: 'r' }] }, a: {} } }],
      [
        'a',
        {
          ContainerResources: { c: { requests: { memory: '1Gi', cpu: '1' } } },
          PodLevelResources: one,
          EmptyDirVolumeLimits: { v: '64Mi', constructor: '1Gi' },
        },
      ],
    ]);
    const text = formatResourceCheckpoint(entries);
    expect(parseResourceCheckpoint(text)).toEqual(entries);
    expect(formatResourceCheckpoint(new Map([...entries].reverse()))).toBe(text);
  });

  const file = (data: string): string => JSON.stringify({ data, checksum: resourceChecksum(data) });
  it.each([
    ['no data', '{}', 'it has no data'],
    ['a wrong checksum', JSON.stringify({ data: '{}', checksum: 1 }), 'its checksum is wrong'],
    ['entries that are a list', file('{"entries":[]}'), 'its entries are not those of pods'],
    ['an entry that is a text', file('{"entries":{"a":"b"}}'), 'its entries are not those of pods'],
    [
      'an amount that is none',
      file('{"entries":{"a":{"ContainerResources":{"c":{"requests":{"cpu":"much"}}}}}}'),
      'an amount of an entry is not a quantity',
    ],
    [
      'requests that are a list',
      file('{"entries":{"a":{"PodLevelResources":{"requests":["cpu"]}}}}'),
      'a part of an entry is not a mapping',
    ],
    [
      'a size limit that is none',
      file('{"entries":{"a":{"EmptyDirVolumeLimits":{"v":[]}}}}'),
      'an amount of an entry is not a quantity',
    ],
    [
      'a claim without a name',
      file('{"entries":{"a":{"PodLevelResources":{"claims":[{}]}}}}'),
      'has no name',
    ],
  ])('is refused with %s', (_, text, problem) => {
    expect(() => parseResourceCheckpoint(text)).toThrow(problem);
  });

  it('may lack every part, and may have parts of newer kubelets', () => {
    expect(parseResourceCheckpoint(file('{}'))).toEqual(new Map());
    const data = '{"entries":{"a":{"ContainerResources":null,"VolumeColours":{"v":"red"}}},"more":1}';
    expect(parseResourceCheckpoint(file(data))).toEqual(new Map([['a', {}]]));
  });
});

/** The state file: what is written has the reference's checksums, and what kubelets have written can be read. */
import { describe, expect, it } from 'vitest';
import { CpuSet } from '../../kube/index.js';
import { formatCpuCheckpoint, parseCpuCheckpoint } from './cpu-checkpoint.js';
import type { CpuState } from './cpu-state.js';

function state(
  defaultCpuSet: string,
  entries: Readonly<Record<string, Readonly<Record<string, string>>>> = {},
  podEntries: Readonly<Record<string, string>> = {},
): CpuState {
  return {
    defaultCpuSet: CpuSet.parse(defaultCpuSet),
    entries: new Map(
      Object.entries(entries).map(([pod, containers]) => [
        pod,
        new Map(Object.entries(containers).map(([name, cpus]) => [name, CpuSet.parse(cpus)])),
      ]),
    ),
    podEntries: new Map(Object.entries(podEntries).map(([pod, cpus]) => [pod, CpuSet.parse(cpus)])),
  };
}

const read = (text: string, readsV2Names = true): string => {
  const { policyName, state } = parseCpuCheckpoint(text, { readsV2Names });
  const entries = [...state.entries].map(
    ([pod, containers]) => `${pod}{${[...containers].map(([name, cpus]) => `${name}=${cpus}`).join(' ')}}`,
  );
  const pods = [...state.podEntries].map(([pod, cpus]) => `${pod}=${cpus}`);
  return [policyName, String(state.defaultCpuSet), ...entries, ...pods].join(' ');
};

describe('what is written', () => {
  it('by policy none, without anything given out', () => {
    expect(formatCpuCheckpoint({ policyName: 'none', state: state('') })).toBe(
      '{"policyName":"none","defaultCpuSet":"","checksum":1353318690,"data":"{\\"policyName\\":\\"none\\",\\"defaultCpuSet\\":\\"\\"}","dataChecksum":3028111495}',
    );
  });

  it.each<[CpuState, number, number]>([
    [state('0-7'), 14413152, 3294586087],
    [state('0,2-4,6-7', { p1: { c1: '1,5' } }), 3836207222, 933126825],
  ])('has the checksums of the reference', (given, checksum, dataChecksum) => {
    const file = JSON.parse(formatCpuCheckpoint({ policyName: 'static', state: given }));
    expect([file.checksum, file.dataChecksum]).toEqual([checksum, dataChecksum]);
  });

  it('can be read again, with pods and containers sorted', () => {
    const given = state('0', { b: { y: '3', x: '1-2' }, a: { z: '4' } }, { a: '4-5' });
    const text = formatCpuCheckpoint({ policyName: 'static', state: given });
    expect(read(text)).toBe('static 0 a{z=4} b{x=1-2 y=3} a=4-5');
    expect(Object.keys(JSON.parse(text))).not.toContain('podEntries');
  });
});

describe('what is read', () => {
  const flat = (checksum: number, more = {}): string =>
    JSON.stringify({
      policyName: 'static',
      defaultCpuSet: '7-9',
      entries: { pod: { container1: '4-6', container2: '1-3' } },
      ...more,
      checksum,
    });
  const v4 = JSON.parse(formatCpuCheckpoint({ policyName: 'static', state: state('0-7') }));

  it.each([
    ['a flat file', flat(964019483), 'static 7-9 pod{container1=4-6 container2=1-3}'],
    ['a flat file without a checksum', flat(0), 'static 7-9 pod{container1=4-6 container2=1-3}'],
    ['an outer checksum that is wrong', JSON.stringify({ ...v4, checksum: 1 }), 'static 0-7'],
    [
      'fields of the data that are not known',
      withData({ policyName: 'static', defaultCpuSet: '0', x: 1 }),
      'static 0',
    ],
  ])('%s', (_, text, expected) => expect(read(text)).toBe(expected));

  it.each([
    ['a flat file with a wrong checksum', flat(5), 'checkpoint is corrupted'],
    [
      'a wrong checksum of the data',
      JSON.stringify({ ...v4, dataChecksum: v4.dataChecksum + 1 }),
      'could not load v4 checkpoint: checkpoint is corrupted',
    ],
    [
      'data that is not JSON',
      withText('{"policyName'),
      'could not load v4 checkpoint: failed to deserialize cpu manager checkpoint data: it is not JSON',
    ],
    [
      'a default set that is none',
      withData({ policyName: 'static', defaultCpuSet: 'x' }),
      'could not parse default CPU set "x": "x" is neither a CPU number nor a range such as 0-3',
    ],
    [
      'a set of a container that is none',
      withData({ policyName: 'static', defaultCpuSet: '0', entries: { p: { c: '3-1' } } }),
      'could not parse cpuset "3-1" for container "c" in pod "p": invalid range "3-1" (3 > 1)',
    ],
    [
      'entries by container id, as very old kubelets wrote them',
      JSON.stringify({ policyName: 'static', defaultCpuSet: '7-9', entries: { id: '4-6' }, checksum: 0 }),
      'checkpoint is corrupted',
    ],
    ['no JSON', '{"policy', 'checkpoint is corrupted'],
    ['no mapping', '[]', 'checkpoint is corrupted'],
  ])('%s fails', (_, text, message) => expect(() => read(text)).toThrow(message));

  function withText(data: string): string {
    const probe = JSON.parse(formatCpuCheckpoint({ policyName: 'none', state: state('') }));
    return JSON.stringify({ ...probe, data, dataChecksum: checksumOf(data) });
  }
  function withData(data: object): string {
    return withText(JSON.stringify(data));
  }
  function checksumOf(data: string): number {
    let hash = 0x811c9dc5;
    for (const byte of new TextEncoder().encode(`(string)${data}`)) hash = Math.imul(hash ^ byte, 0x01000193);
    return hash >>> 0;
  }
});

/** What devices bring into a container: whose value wins, and in which order it stands. */
import { describe, expect, it } from 'vitest';
import type { ContainerAdditions } from '../contracts.js';
import { addedMounts, expandableEnvironment, mergeAdditions, withAdditions } from './additions.js';

const text = (value: string): Uint8Array => Buffer.from(value, 'utf8');

describe('the config of a container with additions', () => {
  it('variables stand before the own ones, and both stay', () => {
    const config = { envs: [{ key: 'A', value: text('2') }] };
    expect(withAdditions(config, { envs: [{ name: 'A', value: '1' }] }).envs).toEqual([
      { key: 'A', value: text('1') },
      { key: 'A', value: text('2') },
    ]);
  });

  it("the agent's annotations win", () => {
    const config = { annotations: { 'io.kubernetes.container.hash': 'ab' } };
    const additions = { annotations: { 'io.kubernetes.container.hash': 'ff', extra: '1' } };
    expect(withAdditions(config, additions).annotations).toEqual({
      'io.kubernetes.container.hash': 'ab',
      extra: '1',
    });
  });

  it('devices stand before the own ones, and CDI names are given by name', () => {
    const device = { containerPath: '/dev/a', hostPath: '/dev/x', permissions: 'rw' };
    const own = { containerPath: '/dev/block', hostPath: '/dev/sda', permissions: 'r' };
    const config = withAdditions({ devices: [own] }, { devices: [device], cdiDevices: ['v.com/c=1'] });
    expect(config.devices).toEqual([device, own]);
    expect(config.cdiDevices).toEqual([{ name: 'v.com/c=1' }]);
  });

  it('nothing added changes nothing', () => {
    const config = { command: ['a'] };
    expect(withAdditions(config, undefined)).toBe(config);
    expect(withAdditions(config, {})).toEqual({ command: ['a'], envs: [], annotations: {} });
  });

  it('mounts are private, and writable if not said otherwise', () => {
    const mounts = [{ containerPath: '/a', hostPath: '/b', readOnly: true }];
    expect(addedMounts({ mounts })).toEqual([{ containerPath: '/a', hostPath: '/b', readonly: true }]);
  });

  it('added variables can be expanded, and the own value of a name wins', () => {
    const own = new Map([['A', '2']]);
    const added = {
      envs: [
        { name: 'A', value: '1' },
        { name: 'B', value: '3' },
      ],
    };
    expect(Object.fromEntries(expandableEnvironment(own, added))).toEqual({ A: '2', B: '3' });
  });
});

it('of two managers the first one wins, and all CDI names stay', () => {
  const first: ContainerAdditions = {
    envs: [{ name: 'A', value: '1' }],
    mounts: [{ containerPath: '/x', hostPath: '/1', readOnly: false }],
    devices: [{ containerPath: '/dev/x', hostPath: '/dev/1', permissions: 'r' }],
    annotations: { a: '1' },
    cdiDevices: ['v.com/c=1'],
  };
  const second: ContainerAdditions = {
    envs: [{ name: 'A', value: '2' }],
    mounts: [{ containerPath: '/x', hostPath: '/2', readOnly: false }],
    devices: [{ containerPath: '/dev/x', hostPath: '/dev/2', permissions: 'r' }],
    annotations: { a: '2', b: '2' },
    cdiDevices: ['v.com/c=1', 'v.com/c=2'],
  };
  expect(mergeAdditions([first, {}, second])).toEqual({
    ...first,
    annotations: { a: '1', b: '2' },
    cdiDevices: ['v.com/c=1', 'v.com/c=1', 'v.com/c=2'],
  });
});

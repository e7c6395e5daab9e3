/** Whether a container can have devices, and which: the rules one by one. */
import { describe, expect, it } from 'vitest';
import {
  chooseDevices,
  type DeviceSupply,
  type DeviceVerdict,
  judgeDemand,
  preferenceQuestion,
  splitByHint,
} from './choose-devices.js';
import type { PluginDevice } from './contracts.js';
import { connected, lost, type ResourceState, remembered, reported } from './resource-state.js';

const resource = 'example.com/resource';
const device = (id: string, health = 'Healthy', ...numaNodes: number[]): [string, PluginDevice] => [
  id,
  { id, health, numaNodes },
];
const table = (...devices: [string, PluginDevice][]): Map<string, PluginDevice> => new Map(devices);
const two = reported(table(device('Dev-1'), device('Dev-2')));
const supply = (change: Partial<DeviceSupply>): DeviceSupply => ({
  state: two,
  held: new Set(),
  reusable: new Set(),
  inUse: new Set(),
  ranBefore: false,
  ...change,
});
const refused = (message: string, isAwaited = false): DeviceVerdict => ({
  kind: 'refused',
  message,
  isAwaited,
});
const none = `no healthy devices present; cannot allocate unhealthy devices ${resource}`;

describe('the verdict on a demand', () => {
  const gone: ResourceState = lost(two, 0);
  it.each<[string, number, Partial<DeviceSupply>, DeviceVerdict]>([
    ['enough', 1, {}, { kind: 'needs', taken: [], available: ['Dev-1', 'Dev-2'] }],
    [
      'one is held',
      2,
      { inUse: new Set(['Dev-1']) },
      refused(`requested number of devices unavailable for ${resource}. Requested: 2, Available: 1`),
    ],
    [
      'another count than before',
      2,
      { held: new Set(['Dev-1']) },
      refused(`pod "u" container "c" changed request for resource "${resource}" from 1 to 2`),
    ],
    ['it has them', 1, { held: new Set(['Dev-1']), inUse: new Set(['Dev-1']) }, { kind: 'has it' }],
    ['it ran before the start', 1, { ranBefore: true, state: remembered(0) }, { kind: 'has it' }],
    [
      'known only from its holders',
      1,
      { state: undefined },
      refused(`cannot allocate unregistered device ${resource}`),
    ],
    ['the plugin has gone', 1, { state: gone }, refused(none, true)],
    ['the plugin has not come back', 1, { state: remembered(0) }, refused(none, true)],
    ['the plugin is back and silent', 1, { state: connected(gone) }, refused(none, true)],
    ['no device is healthy', 1, { state: reported(table(device('a', 'Unhealthy'))) }, refused(none)],
    ['none is asked for, none is healthy', 0, { state: reported(table()) }, refused(none)],
    ['none is asked for', 0, {}, { kind: 'has it' }],
    [
      'what it has is not healthy any more',
      1,
      {
        held: new Set(['Dev-1']),
        state: reported(table(device('Dev-1', 'Unhealthy'), device('Dev-2'))),
      },
      refused(
        `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`,
      ),
    ],
    [
      'what init containers had is taken over first, healthy or not',
      2,
      {
        state: reported(table(device('Dev-1', 'Unhealthy'), device('Dev-2'))),
        reusable: new Set(['Dev-1']),
        inUse: new Set(['Dev-1']),
      },
      { kind: 'needs', taken: ['Dev-1'], available: ['Dev-2'] },
    ],
    [
      'what is missing is told without what is taken over',
      3,
      { reusable: new Set(['Dev-1']), inUse: new Set(['Dev-1']) },
      refused(`requested number of devices unavailable for ${resource}. Requested: 2, Available: 1`),
    ],
  ])('%s', (_, count, change, expected) => {
    const demand = { podUid: 'u', container: 'c', resource, count };
    expect(judgeDemand(demand, supply(change))).toEqual(expected);
  });
});

describe('near which nodes', () => {
  const devices = table(
    device('a', 'Healthy', 0),
    device('b', 'Healthy', 1),
    device('c'),
    device('d', '', 0, 1),
  );
  it.each([
    ['no hint', undefined, { aligned: [], unaligned: [], nodeless: ['a', 'b', 'c', 'd'] }],
    ['node 0', new Set([0]), { aligned: ['a', 'd'], unaligned: ['b'], nodeless: ['c'] }],
    ['an unknown node', new Set([9]), { aligned: [], unaligned: ['a', 'b', 'd'], nodeless: ['c'] }],
  ])('%s', (_, nodes, expected) => {
    expect(splitByHint(['a', 'b', 'c', 'd'], devices, nodes)).toEqual(expected);
  });
  it('no device is near a node', () => {
    expect(splitByHint(['c'], table(device('c')), new Set([0])).nodeless).toEqual(['c']);
  });
});

describe('the choice', () => {
  const split = (aligned: string[], unaligned: string[] = [], nodeless: string[] = []) => ({
    aligned,
    unaligned,
    nodeless,
  });
  it.each([
    [
      'need 2 of 3 aligned: asked among them',
      2,
      [],
      split(['a', 'b', 'c']),
      { available: ['a', 'b', 'c'], mustInclude: [] },
    ],
    ['need all aligned: nothing to ask', 3, [], split(['a', 'b', 'c']), undefined],
    [
      'need 3, 2 aligned and 2 not: aligned ones are a must',
      3,
      [],
      split(['a', 'b'], ['c', 'd']),
      { available: ['a', 'b', 'c', 'd'], mustInclude: ['a', 'b'] },
    ],
    [
      'what is taken over is a must',
      2,
      ['x'],
      split([], [], ['a', 'b']),
      { available: ['a', 'b', 'x'], mustInclude: ['x'] },
    ],
    ['everything is taken over', 1, ['x'], split([], [], ['a']), undefined],
  ])('%s', (_, count, taken, by, expected) => {
    expect(preferenceQuestion(count, taken, by)).toEqual(expected);
  });

  it.each([
    ["the plugin's answer is used", 2, [], split(['a', 'b', 'c']), ['c', 'b'], ['c', 'b']],
    ['an unavailable id is replaced', 2, [], split([], [], ['a', 'b', 'c']), ['z', 'c'], ['c', 'a']],
    ['a short answer is filled up', 3, [], split([], [], ['a', 'b', 'c']), ['b'], ['b', 'a', 'c']],
    ['a long answer is cut', 1, [], split([], [], ['a', 'b']), ['b', 'a'], ['b']],
    ['an id twice counts once', 2, [], split([], [], ['a', 'b']), ['b', 'b'], ['b', 'a']],
    [
      'aligned before preferred before others',
      3,
      [],
      split(['a'], ['b', 'c'], ['d']),
      ['d'],
      ['a', 'd', 'b'],
    ],
    ['without an answer by id', 2, ['x'], split([], [], ['a', 'b']), [], ['x', 'a']],
  ])('%s', (_, count, taken, by, preferred, expected) => {
    expect(chooseDevices(count, taken, by, preferred)).toEqual(expected);
  });
});

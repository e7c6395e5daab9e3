import { describe, expect, it } from 'vitest';
import type { HollowNodeState } from '../node/contracts.js';
import type { HollowAction } from './contracts.js';
import { readSelection, selectNodes } from './selection.js';

const states: readonly HollowNodeState[] = ['ready', 'ready', 'cut', 'dead', 'waiting', 'failed'];
const nodes = states.map((state, index) => ({
  name: `n${index}`,
  state,
  pods: 0,
  port: undefined,
  problem: undefined,
}));
const nothing = { names: [], count: undefined, all: false };

describe('the nodes that a request means', () => {
  it.each<[string, HollowAction, object, string[]]>([
    ['those that it names', 'kill', { names: ['n2', 'n0', 'n2'] }, ['n2', 'n0']],
    ['the first ready ones to kill', 'kill', { count: 1 }, ['n0']],
    ['all ready ones to cut', 'cut', { all: true }, ['n0', 'n1']],
    ['those that are away to restore', 'restore', { all: true }, ['n2', 'n3', 'n5']],
    ['every one to remove', 'remove', { all: true }, ['n0', 'n1', 'n2', 'n3', 'n4', 'n5']],
  ])('%s', (_, action, selection, names) => {
    expect(selectNodes(action, { ...nothing, ...selection }, nodes)).toEqual({ kind: 'nodes', names });
  });

  it.each<[string, object, string]>([
    ['nothing', {}, 'name nodes to kill, or a count of them, or all'],
    ['two ways at once', { names: ['n0'], all: true }, 'name nodes to kill'],
    ['a name that is not there', { names: ['n0', 'n9'] }, 'no such node here: n9'],
    ['more than there are', { count: 3 }, 'only 2 nodes are ready: 3 are too many'],
  ])('%s is refused', (_, selection, message) => {
    const decision = selectNodes('kill', { ...nothing, ...selection }, nodes);
    expect(decision).toEqual({ kind: 'refuse', message: expect.stringContaining(message) });
  });
});

it.each([
  ['no object', 3, 'no JSON object'],
  ['names that are none', { names: [1] }, 'names is no list of texts'],
  ['half a node', { count: 1.5 }, 'count is no whole number'],
  ['a word for all', { all: 'yes' }, 'true or false'],
  ['too many names', { names: Array(20_001).fill('n') }, 'more than 20000 entries'],
])('a request with %s is refused', (_, body, message) => {
  expect(() => readSelection(body)).toThrow(message);
});

import { expect, it } from 'vitest';
import { Timeline } from '../timeline/index.js';
import {
  announceUserNamespace,
  type PreparationStep,
  type UserNamespaceRule,
  userNamespaceRemedy,
  userNamespaceRule,
} from './user-namespace.js';

it.each<[gate: boolean, inUserNamespace: boolean, UserNamespaceRule]>([
  [true, false, 'machine'],
  [false, false, 'machine'],
  [true, true, 'tolerant'],
  [false, true, 'strict'],
])('gate %s, in a user namespace %s: %s', (gate, inUserNamespace, rule) => {
  expect(userNamespaceRule({ enabled: () => gate }, inUserNamespace)).toBe(rule);
});

it.each<[UserNamespaceRule, unknown[]]>([
  ['machine', []],
  ['tolerant', [expect.stringMatching(/^the agent runs in a user namespace: what it may not set/)]],
  ['strict', [expect.stringContaining('KubeletInUserNamespace is off')]],
])('tells of the rule %s', (rule, messages) => {
  const timeline = new Timeline();
  announceUserNamespace(rule, timeline);
  expect(timeline.ofNode().map(({ message }) => message)).toEqual(messages);
});

const failure = (code: string): Error => Object.assign(new Error('failed'), { code });
it.each<[string, PreparationStep, UserNamespaceRule, unknown, RegExp | undefined]>([
  ['a machine', 'kernel settings', 'machine', failure('EACCES'), undefined],
  ['a kernel setting', 'kernel settings', 'strict', failure('EACCES'), /KubeletInUserNamespace to true$/],
  ['cgroups', 'cgroups', 'tolerant', failure('EPERM'), /Delegate=yes.*cgroupsPerQOS to false/],
  [
    'a wrapped refusal',
    'cgroups',
    'strict',
    new Error('x', { cause: failure('EROFS') }),
    /enforceNodeAllocatable/,
  ],
  ['another failure', 'cgroups', 'tolerant', failure('ENOSPC'), undefined],
  ['no error at all', 'cgroups', 'tolerant', 'text', undefined],
])('what helps: %s', (_, step, rule, error, expected) => {
  const remedy = userNamespaceRemedy(step, rule, error);
  if (expected === undefined) expect(remedy).toBeUndefined();
  else expect(remedy).toMatch(expected);
});

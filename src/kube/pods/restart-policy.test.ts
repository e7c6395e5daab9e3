import { describe, expect, it } from 'vitest';
import type { ContainerRestartRule } from '../types/container.js';
import {
  couldRestartAllContainers,
  isContainerRestartable,
  requestsRestartOfAll,
  shouldBeRestarted,
} from './restart-policy.js';

const rule = (operator: string, values: number[], action = 'Restart'): ContainerRestartRule => ({
  action,
  exitCodes: { operator, values },
});

describe('isContainerRestartable', () => {
  it.each<
    [string, string | undefined, ContainerRestartRule[] | undefined, string | undefined, number, boolean]
  >([
    ['pod Always restarts a success', undefined, undefined, 'Always', 0, true],
    ['pod OnFailure leaves a success', undefined, undefined, 'OnFailure', 0, false],
    ['pod OnFailure restarts a failure', undefined, undefined, 'OnFailure', 1, true],
    ['pod Never leaves a failure', undefined, undefined, 'Never', 1, false],
    ['no policy counts as Always', undefined, undefined, undefined, 0, true],
    ['an unknown policy counts as Always', undefined, undefined, 'Sometimes', 0, true],
    ['the container policy replaces that of the pod', 'Never', undefined, 'Always', 1, false],
    ['the container policy Always in a Never pod', 'Always', undefined, 'Never', 0, true],
    ['a listed code with In restarts', 'Never', [rule('In', [42])], 'Never', 42, true],
    ['another code with In falls to the policy', 'Never', [rule('In', [42])], 'Never', 1, false],
    ['NotIn restarts what is not listed', 'Never', [rule('NotIn', [0])], 'Never', 7, true],
    ['NotIn leaves what is listed', 'Never', [rule('NotIn', [0])], 'Never', 0, false],
    ['RestartAllContainers restarts', 'Never', [rule('In', [3], 'RestartAllContainers')], 'Never', 3, true],
    ['rules without a container policy do not count', undefined, [rule('In', [42])], 'Never', 42, false],
    ['an unknown operator never matches', 'Never', [rule('Exists', [42])], 'Never', 42, false],
  ])('%s', (_, containerPolicy, rules, podPolicy, exitCode, expected) => {
    const pod = { spec: { containers: [], restartPolicy: podPolicy } };
    const container = { restartPolicy: containerPolicy, restartPolicyRules: rules };
    expect(isContainerRestartable(pod, container, exitCode)).toBe(expected);
  });
});

describe('shouldBeRestarted', () => {
  const never = { metadata: {}, spec: { containers: [], restartPolicy: 'Never' } };
  const always = { metadata: {}, spec: { containers: [] } };
  const deleted = { ...always, metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };
  it.each([
    ['not in a pod that is being deleted', deleted, undefined, false],
    ['what has never run', never, undefined, true],
    ['what was created and never started', never, 'created', true],
    ['what got lost', never, 'unknown', true],
    ['not what runs', always, 'running', false],
    ['what exited, as its policy says', always, 'exited', true],
    ['what exited, as its policy says', never, 'exited', false],
  ] as const)('%s', (_, pod, state, expected) => {
    const newest = state === undefined ? undefined : { state, exitCode: 1 };
    expect(shouldBeRestarted(pod, {}, newest)).toBe(expected);
  });
});

describe('restarting all containers', () => {
  const all = {
    name: 'a',
    restartPolicy: 'Never',
    restartPolicyRules: [rule('In', [9], 'RestartAllContainers')],
  };
  it('is requested by the first matching rule', () => {
    expect(requestsRestartOfAll(all, 9)).toBe(true);
    expect(requestsRestartOfAll(all, 8)).toBe(false);
    expect(
      requestsRestartOfAll({ ...all, restartPolicyRules: [rule('In', [9]), ...all.restartPolicyRules] }, 9),
    ).toBe(false);
  });
  it('is possible when an init or regular container has such a rule', () => {
    expect(couldRestartAllContainers({ spec: { containers: [all] } })).toBe(true);
    expect(couldRestartAllContainers({ spec: { initContainers: [all], containers: [{ name: 'b' }] } })).toBe(
      true,
    );
    expect(couldRestartAllContainers({ spec: { containers: [{ name: 'b' }] } })).toBe(false);
  });
});

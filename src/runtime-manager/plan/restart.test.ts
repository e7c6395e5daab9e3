import { describe, expect, it } from 'vitest';
import type { ContainerRestartRule } from '../../kube/index.js';
import { planReasonText } from '../../timeline/index.js';
import { container, makePod } from '../test-fixtures.js';
import { restartDecision } from './restart.js';

describe('restartDecision', () => {
  const deleted = makePod({}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
  const pod = (restartPolicy?: string) => makePod({ restartPolicy });
  const dead = (exitCode: number) => ({ state: 'exited', exitCode }) as const;
  const rules = (...list: [action: string, operator: string, values: number[]][]): ContainerRestartRule[] =>
    list.map(([action, operator, values]) => ({ action, exitCodes: { operator, values } }));
  it.each([
    ['a pod being deleted', deleted, {}, undefined, false, 'the pod is being deleted'],
    ['never run', pod('Never'), {}, undefined, true, 'it has not run yet'],
    [
      'created',
      pod('Never'),
      {},
      { state: 'created', exitCode: 0 },
      true,
      'it was created but never started',
    ],
    ['running', pod('Always'), {}, { state: 'running', exitCode: 0 }, false, 'its state is running'],
    ['unknown', pod('Never'), {}, { state: 'unknown', exitCode: 0 }, true, 'its state is unknown'],
    ['no policy is Always', pod(), {}, dead(0), true, 'exited 0, policy Always'],
    ['OnFailure, success', pod('OnFailure'), {}, dead(0), false, 'exited 0, policy OnFailure'],
    ['OnFailure, failure', pod('OnFailure'), {}, dead(3), true, 'exited 3, policy OnFailure'],
    ['Never', pod('Never'), {}, dead(3), false, 'exited 3, policy Never'],
    [
      'own policy',
      pod('Never'),
      { restartPolicy: 'Always' },
      dead(0),
      true,
      'exited 0, container policy Always',
    ],
    [
      'rule In',
      pod('Never'),
      { restartPolicy: 'Never', restartPolicyRules: rules(['Restart', 'In', [42]]) },
      dead(42),
      true,
      'exited 42, rule Restart',
    ],
    [
      'rule NotIn',
      pod('Never'),
      { restartPolicy: 'Never', restartPolicyRules: rules(['Restart', 'NotIn', [42]]) },
      dead(42),
      false,
      'exited 42, container policy Never',
    ],
    [
      'the first matching rule wins',
      pod('Never'),
      {
        restartPolicy: 'Never',
        restartPolicyRules: rules(['Restart', 'In', [1]], ['RestartAllContainers', 'In', [1]]),
      },
      dead(1),
      true,
      'exited 1, rule Restart',
    ],
    [
      'rules without an own policy do not count',
      pod('Never'),
      { restartPolicyRules: rules(['Restart', 'In', [42]]) },
      dead(42),
      false,
      'exited 42, policy Never',
    ],
  ] as const)('%s', (_, wanted, extra, status, restart, because) => {
    const { cause, ...verdict } = restartDecision(wanted, container('c', { ...extra }), status);
    expect(verdict).toEqual({ restart, because });
    expect(planReasonText(cause)).toBe(because);
  });
});

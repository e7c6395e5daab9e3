import { describe, expect, it } from 'vitest';
import type { PodStatus } from '../../kube/index.js';
import { failureText } from './failure-text.js';

function ended(
  name: string,
  terminated: { exitCode: number; signal?: number; reason?: string; message?: string },
) {
  return { name, ready: false, restartCount: 0, image: 'i', imageID: '', state: { terminated } };
}

describe('failureText', () => {
  const cases: { rule: string; status: PodStatus | undefined; text: string }[] = [
    { rule: 'nothing is known', status: undefined, text: '' },
    {
      rule: "the pod's own message says it best",
      status: { phase: 'Failed', reason: 'OutOfcpu', message: 'no room' },
      text: 'no room',
    },
    {
      rule: 'else its reason',
      status: { phase: 'Failed', reason: 'DeadlineExceeded' },
      text: 'DeadlineExceeded',
    },
    {
      rule: 'else each container that did not end well',
      status: {
        phase: 'Failed',
        initContainerStatuses: [ended('prepare', { exitCode: 0, reason: 'Completed' })],
        containerStatuses: [
          ended('a', { exitCode: 3, reason: 'Error' }),
          ended('b', { exitCode: 128, reason: 'StartError', message: 'exec: "x": not found\n' }),
        ],
      },
      text: 'container a exited with code 3; container b exited with code 128 (StartError): exec: "x": not found',
    },
    {
      rule: 'a signal is named',
      status: {
        phase: 'Failed',
        containerStatuses: [ended('a', { exitCode: 137, signal: 9, reason: 'OOMKilled' })],
      },
      text: 'container a was killed by signal 9 (OOMKilled)',
    },
  ];
  for (const { rule, status, text } of cases) it(rule, () => expect(failureText(status)).toBe(text));
});

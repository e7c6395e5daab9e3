import { expect, it } from 'vitest';
import type { PodPredicate } from '../../pods/workers/index.js';
import { Link } from '../link.js';
import { type WorkerStates, workerStates } from './pod-states.js';

it.each<keyof Omit<WorkerStates, 'hasWorker'>>([
  'isTerminationRequested',
  'shouldContentBeRemoved',
  'shouldRuntimeBeRemoved',
  'couldHaveRunningContainers',
  'shouldContainersBeTerminating',
])('%s asks the workers exactly that', (question) => {
  const workers = new Link<{ is(asked: PodPredicate, uid: string): boolean; stateOf(): undefined }>(
    'workers',
  );
  const states = workerStates(workers);
  expect(() => states[question]('p')).toThrow('not built yet');
  workers.connect({ is: (asked, uid) => asked === question && uid === 'p', stateOf: () => undefined });
  expect(states[question]('p')).toBe(true);
  expect(states[question]('q')).toBe(false);
  expect(states.hasWorker('p')).toBe(false);
});

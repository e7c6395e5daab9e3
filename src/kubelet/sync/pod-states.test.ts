import { expect, it } from 'vitest';
import { Link } from '../link.js';
import { type StateQuestions, type WorkerStates, workerStates } from './pod-states.js';

type Question = keyof Omit<WorkerStates, 'hasWorker'>;
const questions: readonly Question[] = [
  'isTerminationRequested',
  'shouldContentBeRemoved',
  'shouldRuntimeBeRemoved',
  'couldHaveRunningContainers',
  'shouldContainersBeTerminating',
];

it.each(questions)('%s asks the workers exactly that', (question) => {
  const workers = new Link<StateQuestions>('workers');
  const states = workerStates(workers);
  expect(() => states[question]('p')).toThrow('not built yet');
  const answer = (asked: Question) => (uid: string) => asked === question && uid === 'p';
  workers.connect({
    isTerminationRequested: answer('isTerminationRequested'),
    shouldContentBeRemoved: answer('shouldContentBeRemoved'),
    shouldRuntimeBeRemoved: answer('shouldRuntimeBeRemoved'),
    couldHaveRunningContainers: answer('couldHaveRunningContainers'),
    shouldContainersBeTerminating: answer('shouldContainersBeTerminating'),
    stateOf: () => undefined,
  });
  expect(states[question]('p')).toBe(true);
  expect(states[question]('q')).toBe(false);
  expect(states.hasWorker('p')).toBe(false);
});

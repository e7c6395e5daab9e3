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
  const states = workerStates(workers, () => false);
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

const neverSeen: StateQuestions = {
  isTerminationRequested: () => false,
  shouldContentBeRemoved: () => true,
  shouldRuntimeBeRemoved: () => true,
  couldHaveRunningContainers: () => false,
  shouldContainersBeTerminating: () => true,
  stateOf: () => undefined,
};

it.each<[string, boolean, Partial<StateQuestions>, Record<Question, boolean>]>([
  [
    'a pod without a worker is gone',
    false,
    {},
    {
      isTerminationRequested: false,
      shouldContentBeRemoved: true,
      shouldRuntimeBeRemoved: true,
      couldHaveRunningContainers: false,
      shouldContainersBeTerminating: true,
    },
  ],
  [
    'a pod that waits in admission keeps what it has',
    true,
    {},
    {
      isTerminationRequested: false,
      shouldContentBeRemoved: false,
      shouldRuntimeBeRemoved: false,
      couldHaveRunningContainers: true,
      shouldContainersBeTerminating: false,
    },
  ],
  [
    'a pod that was evicted while it waits in admission has a worker, which decides',
    true,
    { stateOf: () => ({ kind: 'finished' }) as ReturnType<StateQuestions['stateOf']> },
    {
      isTerminationRequested: false,
      shouldContentBeRemoved: true,
      shouldRuntimeBeRemoved: true,
      couldHaveRunningContainers: false,
      shouldContainersBeTerminating: true,
    },
  ],
])('%s', (_rule, isInAdmission, known, answers) => {
  const workers = new Link<StateQuestions>('workers');
  workers.connect({ ...neverSeen, ...known });
  const states = workerStates(workers, () => isInAdmission);
  expect(Object.fromEntries(questions.map((question) => [question, states[question]('p')]))).toEqual(answers);
});

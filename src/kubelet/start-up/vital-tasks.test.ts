import { expect, it } from 'vitest';
import { settle, TaskGroup } from '../../async/index.js';
import { untilVitalFailure } from './vital-tasks.js';

const untilStopped = (signal: AbortSignal): Promise<void> =>
  new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true }),
  );

it('resolves with the error of the first vital task that fails, and reports each', async () => {
  const reported: string[] = [];
  const tasks = new TaskGroup({ onError: (task, error) => void reported.push(`${task}: ${String(error)}`) });
  const failure = untilVitalFailure(tasks, (vital) => {
    vital('the loop', untilStopped);
    vital('the source', async () => {
      throw new Error('no directory');
    });
    tasks.start('the collector', async () => {
      throw new Error('not vital');
    });
  });
  expect((await failure).message).toBe('no directory');
  await settle();
  expect(reported.sort()).toEqual(['the collector: Error: not vital', 'the source: Error: no directory']);
  await tasks.stop();
});

it('stopping is no failure', async () => {
  const tasks = new TaskGroup({ onError: () => {} });
  let failed = false;
  void untilVitalFailure(tasks, (vital) => vital('the loop', untilStopped)).then(() => {
    failed = true;
  });
  await tasks.stop();
  await settle();
  expect(failed).toBe(false);
});

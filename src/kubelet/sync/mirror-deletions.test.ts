import { expect, it } from 'vitest';
import { settle, TaskGroup } from '../../async/index.js';
import { mirrorDeletions } from './mirror-deletions.js';

it('a name is not deleted twice at once, and a slow API holds nobody up', async () => {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const tasks = new TaskGroup({ onError: (_task, error) => expect.fail(String(error)) });
  const deleteSoon = mirrorDeletions(
    {
      delete: async (name) => {
        asked.push(name);
        await new Promise<void>((answer) => answers.push(answer));
      },
    },
    tasks,
  );
  deleteSoon(['a_default', 'b_default']);
  deleteSoon(['a_default', 'b_default']);
  expect(asked).toEqual(['a_default']);
  answers.shift()?.();
  await settle();
  expect(asked).toEqual(['a_default', 'b_default']);
  answers.shift()?.();
  await settle();
  deleteSoon([]);
  deleteSoon(['b_default']);
  expect(asked).toEqual(['a_default', 'b_default', 'b_default']);
  answers.shift()?.();
  await tasks.stop();
});

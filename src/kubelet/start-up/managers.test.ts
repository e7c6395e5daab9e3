import { expect, it } from 'vitest';
import { settle, TaskGroup } from '../../async/index.js';
import { runtimeStart } from './managers.js';

it('what needs the runtime starts in order, and after a failure from where it failed', async () => {
  const started: string[] = [];
  let isEvictionBroken = true;
  const tasks = new TaskGroup({ onError: (_task, error) => expect.fail(String(error)) });
  const start = runtimeStart(
    {
      containerManager: async () => void started.push('container manager'),
      evictionManager: async () => {
        if (isEvictionBroken) throw new Error('no statistics yet');
        started.push('eviction manager');
      },
      shutdownManager: async () => void started.push('shutdown manager'),
    },
    tasks,
    async () => void started.push('log rotation'),
  );
  await expect(start()).rejects.toThrow('no statistics yet');
  isEvictionBroken = false;
  await start();
  await start();
  await settle();
  expect(started).toEqual(['container manager', 'eviction manager', 'log rotation', 'shutdown manager']);
  await tasks.stop();
});

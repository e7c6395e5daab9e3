/** Two that remove one tree: neither stumbles over what the other has removed already. */
import { expect, it } from 'vitest';
import { removeTree } from './remove-tree.js';
import { simulatedHost } from './simulated/simulated-host.js';

it('a directory that another removal took away meanwhile is gone, and that is fine', async () => {
  const host = simulatedHost();
  for (const path of ['/a', '/a/b', '/a/b/c', '/a/etc']) await host.files.mkdir(path);
  await host.files.writeFile('/a/b/c/file', 'text');
  const { files, mounts } = host;
  let isTaken = false;
  const hold: typeof host.hold = async (path) => {
    const held = await host.hold(path);
    return {
      ...held,
      child: async (name) => {
        if (name === 'etc' && !isTaken) {
          isTaken = true;
          await files.rmdir('/a/etc');
        }
        return await held.child(name);
      },
    };
  };
  await removeTree({ files, mounts, hold }, '/a');
  expect(isTaken).toBe(true);
  expect(await files.readdir('/')).not.toContain('a');
});

/** The real agent on a disk that is full, then read-only: it lives, says so, its pods go on, and it recovers by itself. */
import { appendFile, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommand } from '../env/command.js';
import { unmountBelow } from '../env/mounts.js';
import { eventually, manifest, TestNode } from './agent.js';

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.create();
  await mkdir(node.root);
  await runCommand('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', node.root]);
  // Before the directory is removed, so that nothing is removed through the mount.
  node.cleanups.defer('the small disk', () => unmountBelow(node.root));
  await node.start();
});
afterAll(() => node.stop());

const filler = (): string => path.join(node.root, 'filler');

/** Takes all the room that is left. */
async function fill(): Promise<void> {
  for (let bytes = 64 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    try {
      for (;;) await appendFile(filler(), Buffer.alloc(bytes));
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    }
  }
}

/** A pod whose directories, volume and checkpoint are written below the agent's root. */
const writing = (name: string) =>
  manifest(name, {
    spec: {
      volumes: [
        {
          name: 'labels',
          downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] },
        },
      ],
    },
  });

async function expectRefusal(name: string, code: string): Promise<void> {
  await eventually(`the agent tells of ${code}`, async () =>
    node.logOf(name).some((line) => line.includes(code) && line.includes(node.root)),
  );
  expect(await node.get('/healthz', 'healthz')).toBe('ok');
  expect(await node.running(name)).toEqual([]);
}

it('a full disk: pods go on, new ones wait and say why, and start when there is room', async () => {
  await node.apply('old.yaml', writing('old'));
  await node.untilReady('old');
  const before = await node.running('old');
  await fill();
  await node.apply('web.yaml', writing('web'));
  await expectRefusal('web', 'ENOSPC');
  expect(await node.running('old')).toEqual(before);
  await rm(filler());
  await node.untilReady('web');
});

it('an agent that is killed and starts on a full disk adopts its pods, and recovers when there is room', async () => {
  const before = await node.running();
  await fill();
  await node.kill('SIGKILL');
  await node.start();
  await node.apply('late.yaml', writing('late'));
  await expectRefusal('late', 'ENOSPC');
  expect(await node.running()).toEqual(before);
  await rm(filler());
  await node.untilReady('late');
  expect((await node.running()).filter((id) => before.includes(id))).toEqual(before);
});

it('an agent that is killed and starts on a read-only disk: the same', async () => {
  const before = await node.running();
  // The kernel makes nothing read-only that somebody has open for writing.
  await node.kill('SIGKILL');
  await runCommand('mount', ['-o', 'remount,bind,ro', node.root]);
  await node.start();
  await node.apply('ro.yaml', writing('ro'));
  await expectRefusal('ro', 'EROFS');
  expect(await node.running()).toEqual(before);
  await runCommand('mount', ['-o', 'remount,bind,rw', node.root]);
  await node.untilReady('ro');
});

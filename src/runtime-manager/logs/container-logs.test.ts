/** Following the log of a container that ends, is removed, or whose runtime is away. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import { ContainerState, ContainerStatusResponse, CriError, type CriRuntime } from '../../cri/index.js';
import { readContainerLogs } from './container-logs.js';
import { logOptions } from './options.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'nodelet-logs-'));
  await writeFile(join(dir, '0.log'), '2026-01-01T00:00:00.000000000Z stdout F here\n');
});
afterEach(() => rm(dir, { recursive: true }));

const running = (): Promise<ContainerStatusResponse> =>
  Promise.resolve(
    ContainerStatusResponse.create({
      status: {
        id: 'c',
        metadata: { name: 'app' },
        state: ContainerState.CONTAINER_RUNNING,
        createdAt: 1n,
        startedAt: 1n,
        logPath: join(dir, '0.log'),
        image: { image: 'i' },
        imageRef: 'i',
      },
    }),
  );

it('ends without an error when the container is removed meanwhile', async () => {
  const answers = [running];
  const cri: Pick<CriRuntime, 'containerStatus'> = {
    containerStatus: async () => {
      const answer = answers.shift();
      if (answer === undefined) throw new CriError('NotFound', 'no such container');
      return answer();
    },
  };
  let text = '';
  const sink = {
    write: async (bytes: Buffer) => {
      text += bytes.toString();
    },
  };
  await readContainerLogs({
    cri,
    clock: systemClock,
    containerId: 'containerd://c',
    options: logOptions({ follow: true }, 0),
    sinks: { stdout: sink, stderr: sink },
  });
  expect(text).toBe('here\n');
});

/** How far a pull is, from a real runtime that pulls from a registry on a slow line. */
import { randomBytes } from 'node:crypto';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock, TaskGroup } from '../../src/async/index.js';
import { ContainerdContent } from '../../src/cri/index.js';
import { type PullProgress, PullWatch } from '../../src/runtime-manager/images/index.js';
import { buildBusyboxImage, startRegistry, type TestRegistry } from '../env/index.js';
import { TestNode } from './agent.js';

/** A quarter of a megabyte a second: the layer below takes eight. */
const partBytes = 32 * 1024;
const partMs = 125;
const layerBytes = 2 * 1024 * 1024;

let node: TestNode;
let registry: TestRegistry;
beforeAll(async () => {
  node = await TestNode.create();
  registry = await startRegistry({ cleanups: node.cleanups });
  node.containerd.useRegistry(registry.host, await slowLine(registry.url));
});
afterAll(() => node.stop());

/** Passes requests on to the registry, and its answers back slowly. */
async function slowLine(target: string): Promise<string> {
  const server = createServer((asked, answer) => {
    const { method, url, headers } = asked;
    const passed = httpRequest(new URL(url ?? '/', target), { method, headers }, async (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      for await (const chunk of response as AsyncIterable<Buffer>) {
        for (let at = 0; at < chunk.length; at += partBytes) {
          const part = chunk.subarray(at, at + partBytes);
          answer.write(part);
          if (part.length === partBytes) await sleep(partMs);
        }
      }
      answer.end();
    });
    passed.on('error', () => answer.destroy());
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  node.cleanups.defer('slow line', async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('a slow pull tells its bytes, its rate and its end', async () => {
  const built = await buildBusyboxImage({ name: 'nodelet.test/large:1', config: {} }, [
    { type: 'file', path: 'large', content: randomBytes(layerBytes) },
  ]);
  const image = await registry.push(built);
  const totalBytes = built.layers.reduce((sum, { content }) => sum + content.length, 0);
  const problems: unknown[] = [];
  const tasks = new TaskGroup({ onError: (_, error) => problems.push(error) });
  const watch = new PullWatch({
    clock: systemClock,
    tasks,
    open: () => new ContainerdContent(node.containerd.endpoint),
    onFailure: (_, error) => problems.push(error),
  });
  const told: PullProgress[] = [];
  const stop = watch.watch(image, (progress) => told.push(progress));
  await node.cri.pullImage({ image: { image } });
  stop();
  await tasks.drained();
  expect(problems).toEqual([]);
  expect(told.length).toBeGreaterThanOrEqual(2);
  for (const progress of told) expect(progress.totalBytes).toBe(totalBytes);
  const done = told.map(({ doneBytes }) => doneBytes);
  expect(done).toEqual([...done].sort((a, b) => a - b));
  expect(done[0]).toBeGreaterThan(0);
  expect(done[0]).toBeLessThan(totalBytes);
  expect(Math.max(...told.map(({ bytesPerSecond }) => bytesPerSecond))).toBeGreaterThan(10_000);
});

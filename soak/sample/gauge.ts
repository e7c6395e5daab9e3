/**
 * Loaded into the agent before the agent itself, to tell from inside what cannot be seen from outside: its heap after a
 * garbage collection, what keeps its event loop alive, and how late the loop is. Answers on a socket: one word, one line.
 */
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString, writeHeapSnapshot } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

const socketPath = process.env.SOAK_GAUGE_SOCKET;
const longestWord = 16;

if (isMainThread && socketPath !== undefined) {
  setFlagsFromString('--expose-gc');
  // What the flag above makes.
  const collect = runInNewContext('gc') as () => void;
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();

  const report = (): string => {
    const resources: Record<string, number> = {};
    for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
    const { used_heap_size, total_heap_size } = getHeapStatistics();
    const { rss, external, arrayBuffers } = process.memoryUsage();
    const answer = {
      heapUsedBytes: used_heap_size,
      heapTotalBytes: total_heap_size,
      externalBytes: external,
      arrayBufferBytes: arrayBuffers,
      rssBytes: rss,
      loopDelayMs: Number.isFinite(delay.percentile(99)) ? delay.percentile(99) / 1e6 : 0,
      loopDelayMaxMs: delay.max / 1e6,
      resources,
    };
    delay.reset();
    return `${JSON.stringify(answer)}\n`;
  };

  // The agent before may have been killed.
  rmSync(socketPath, { force: true });
  const server = createServer((client) => {
    client.unref();
    let word = '';
    client.setEncoding('utf8');
    client.on('error', () => client.destroy());
    client.on('data', (text: string) => {
      word += text;
      if (word.length > longestWord) return void client.destroy();
      if (!word.endsWith('\n')) return;
      // Twice, as what the first one finalizes is freed by the second.
      if (word === 'collect\n') for (let round = 0; round < 2; round++) collect();
      if (word === 'snapshot\n') writeHeapSnapshot(`${socketPath}.heapsnapshot`);
      client.end(report());
    });
  });
  // Who cannot be asked is only not measured.
  server.on('error', (error) => process.stderr.write(`soak gauge: ${error.message}\n`));
  server.listen(socketPath);
  server.unref();
}

/** What the agent costs when nothing happens, and how soon after its start it works; a bare Node process is the yardstick. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, buildAgent, manifestsDirOf, plansPod, processRssBytes, syncsPods } from './agent.js';
import { type BenchGround, onContainerd } from './ground.js';
import {
  type Bench,
  type BenchContext,
  below,
  type Measure,
  medianOf,
  observedMs,
  roundsOf,
} from './measure.js';
import { idlePods, removeAllPods, showManifests, untilRunning } from './pods.js';

const podCount = 50;
/** After a burst of starts, memory that was needed for it is given back. */
const settleMs = 10_000;
const idleMs = 20_000;
const startRounds = 5;

export const idle: Bench = {
  name: 'idle',
  summary: `the agent at rest with ${podCount} pods, and its start-up`,
  run: (context) =>
    onContainerd(async (ground) => {
      const program = await buildAgent(ground.dir, context.note);
      return [
        ...(await measureStart(ground, program, context)),
        ...(await measureRest(ground, program, context)),
      ];
    }),
};

async function measureStart(
  ground: BenchGround,
  program: string,
  { note, options }: BenchContext,
): Promise<Measure[]> {
  const rounds = roundsOf(options, startRounds);
  const bareMs: number[] = [];
  const readyMs: number[] = [];
  const firstSyncMs: number[] = [];
  // The first round reads the program from the disk; it is not counted.
  for (let round = -1; round < rounds; round++) {
    const bare = await bareNodeMs();
    const agent = await startUp(ground, program, `start-${round}`);
    await removeAllPods(ground.cri);
    if (round < 0) continue;
    bareMs.push(bare);
    readyMs.push(agent.readyMs);
    firstSyncMs.push(agent.firstSyncMs);
  }
  note(`${rounds} starts done`);
  return [
    medianOf("process start → first pod's first sync", 'ms', firstSyncMs, below(500)),
    medianOf('process start → ready to sync pods', 'ms', readyMs),
    medianOf('a bare `node -e 0`, start to end', 'ms', bareMs),
  ];
}

async function bareNodeMs(): Promise<number> {
  const startMs = performance.now();
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit');
  return performance.now() - startMs;
}

async function startUp(
  { containerd, dir }: BenchGround,
  program: string,
  name: string,
): Promise<{ readonly readyMs: number; readonly firstSyncMs: number }> {
  const agentDir = join(dir, name);
  showManifests(manifestsDirOf(agentDir), idlePods(1));
  const agent = new Agent({ program, containerd, dir: agentDir });
  try {
    const ready = await agent.line('that it syncs pods', syncsPods);
    const firstSync = await agent.line('a plan for its first pod', plansPod);
    return { readyMs: ready.timeMs - agent.spawnedAtMs, firstSyncMs: firstSync.timeMs - agent.spawnedAtMs };
  } finally {
    await agent.stop();
  }
}

async function measureRest(
  ground: BenchGround,
  program: string,
  { note, options }: BenchContext,
): Promise<Measure[]> {
  const { cri, containerd, dir } = ground;
  const agent = new Agent({ program, containerd, dir: join(dir, 'rest') });
  try {
    await agent.line('that it syncs pods', syncsPods);
    showManifests(agent.manifestsDir, idlePods(podCount));
    await untilRunning(cri, podCount, () => agent.problems());
    await sleep(observedMs(options, settleMs));
    const restMs = observedMs(options, idleMs);
    note(`${podCount} pods run; ${restMs / 1000} s of rest begin`);
    const bareBytes = await bareNodeRssBytes();
    const rssBytes: number[] = [];
    const cpuBeforeMs = agent.cpuMs();
    const startMs = performance.now();
    while (performance.now() - startMs < restMs) {
      await sleep(1_000);
      rssBytes.push(agent.rssBytes());
    }
    const cpuPercent = (100 * (agent.cpuMs() - cpuBeforeMs)) / (performance.now() - startMs);
    const megabytes = rssBytes.map((bytes) => bytes / 1e6);
    return [
      medianOf(`memory (RSS) at rest with ${podCount} pods`, 'MB', megabytes, below(110)),
      { name: 'memory (RSS) of a bare Node process', unit: 'MB', value: bareBytes / 1e6 },
      { name: `CPU at rest with ${podCount} pods, of one core`, unit: '%', value: cpuPercent },
    ];
  } finally {
    await agent.stop();
    await removeAllPods(cri);
  }
}

async function bareNodeRssBytes(): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const exited = once(child, 'exit');
  await once(child, 'spawn');
  await sleep(1_000);
  const rssBytes = processRssBytes(child.pid ?? 0);
  child.stdin.end();
  await exited;
  return rssBytes;
}

/** One soak from its start to its clean-up: cycles of churn with faults, a quiet point after each, and samples all the time. */
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CleanupStack } from '../test/env/index.js';
import { Churn } from './churn.js';
import { Journal } from './journal.js';
import { doubles } from './judge/census.js';
import type { QuietPoint } from './judge/figures.js';
import type { SoakOptions } from './options.js';
import { lastingPods, planCycle, scheduleOf } from './plan/plan.js';
import { manifestOf } from './plan/shapes.js';
import { quietPoint } from './quiet.js';
import { askGauge } from './sample/agent-pages.js';
import { SampleRing } from './sample/sample-ring.js';
import { type Look, look } from './sample/sampler.js';
import { createWorld, type SoakWorld } from './world/world.js';

export interface SoakResult {
  readonly journal: Journal;
  readonly samples: SampleRing;
  readonly points: readonly QuietPoint[];
  readonly tookMs: number;
  readonly lives: number;
  readonly wasBrokenOff: boolean;
}

export const soakLimits = {
  sampleEveryMs: 5_000,
  sampleRows: 3_000,
  /** Over which rates are counted at a quiet point. */
  windowMs: 20_000,
} as const;

export async function soak(
  options: SoakOptions,
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<SoakResult> {
  const cleanups = new CleanupStack();
  const startedMs = performance.now();
  let origin = startedMs;
  const nowMs = (): number => performance.now() - origin;
  const journal = new Journal(nowMs, say);
  const samples = new SampleRing(soakLimits.sampleRows);
  const points: QuietPoint[] = [];
  let lives = 0;
  try {
    const world = await createWorld(options, cleanups, say);
    origin = performance.now();
    say(`everything is up after ${Math.round((origin - startedMs) / 1000)} s`);
    for (const pod of lastingPods) await world.source.create(manifestOf(pod, world.shapes));
    const over = new AbortController();
    const watching = watch(world, { journal, samples, nowMs, signal: over.signal });
    try {
      await cyclesOf(options, { world, journal, points, nowMs, signal, say });
    } catch (error) {
      // What was measured until then is reported.
      journal.find(
        `the soak cannot go on: ${error instanceof Error ? (error.stack ?? error.message) : error}`,
      );
    } finally {
      over.abort();
      await watching;
      lives = world.agent.life;
    }
  } finally {
    await cleanups.run();
  }
  return { journal, samples, points, tookMs: nowMs(), lives, wasBrokenOff: signal.aborted };
}

interface CyclesOptions {
  readonly world: SoakWorld;
  readonly journal: Journal;
  readonly points: QuietPoint[];
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

async function cyclesOf(options: SoakOptions, on: CyclesOptions): Promise<void> {
  const { world, journal, points, nowMs, signal, say } = on;
  const { cycles, warmUpCycles } = scheduleOf(options);
  const churn = new Churn(world, journal);
  // A machine that is slow to settle makes fewer cycles of the same time; a quick one makes a few more.
  const mostCycles = options.quick ? 1 : 2 * cycles;
  for (let index = 0; nowMs() < options.durationMs && index < mostCycles && !signal.aborted; index++) {
    const cycle = planCycle(options, index);
    await churn.run(cycle, signal);
    if (signal.aborted) return;
    const windowMs = options.quick ? soakLimits.windowMs / 4 : soakLimits.windowMs;
    const point = await quietPoint(cycle, points.at(-1), {
      world,
      journal,
      nowMs,
      signal,
      windowMs,
    });
    if (point === undefined) return;
    points.push(point);
    say(lineOf(point));
    if (options.snapshots && index === warmUpCycles) await keepHeap(world, options.reportDir, 'first');
  }
  if (options.snapshots && !signal.aborted) await keepHeap(world, options.reportDir, 'last');
}

/** Two of them tell what there is more of: the developer tools of Chromium compare them. */
async function keepHeap({ agent }: SoakWorld, reportDir: string, which: 'first' | 'last'): Promise<void> {
  await askGauge(agent.gaugeSocket, 'snapshot');
  await mkdir(reportDir, { recursive: true });
  await copyFile(`${agent.gaugeSocket}.heapsnapshot`, join(reportDir, `${which}.heapsnapshot`));
}

/** Samples until it is over, and what must never be is looked for in each. */
async function watch(
  world: SoakWorld,
  on: {
    readonly journal: Journal;
    readonly samples: SampleRing;
    readonly nowMs: () => number;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { journal, samples, nowMs, signal } = on;
  let before: Look | undefined;
  while (!signal.aborted) {
    const { agent } = world;
    if (agent.isWanted && !agent.isRunning) {
      journal.find(`the agent ended by itself:\n${agent.logTail(2_000)}`);
      journal.event('agent ended');
      await agent.start();
    }
    const taken = await look(world, nowMs(), before === undefined ? {} : { since: before });
    if (taken.runtime !== undefined) for (const text of doubles(taken.runtime)) journal.find(text);
    samples.add({ atMs: taken.atMs, values: { ...taken.values, life: taken.life } });
    before = taken;
    await sleep(soakLimits.sampleEveryMs, undefined, { signal }).catch(() => undefined);
  }
}

function lineOf({ cycle, atMs, life, settledAfterMs, values }: QuietPoint): string {
  const MiB = (name: string): string => `${((values[name] ?? 0) / 1024 / 1024).toFixed(1)} MiB`;
  const count = (name: string): string => String(Math.round((values[name] ?? 0) * 10) / 10);
  return [
    `quiet point ${cycle} at ${Math.round(atMs / 1000)} s`,
    `life ${life}`,
    `settled in ${Math.round(settledAfterMs / 1000)} s`,
    `RSS ${MiB('rssBytes')}`,
    `heap ${MiB('heapBytes')}`,
    `handles ${count('handles')}`,
    `mounts ${count('mounts')}`,
    `cgroups ${count('cgroups')}`,
    `CPU ${count('cpuMsPerSecond')} ms/s`,
    `runtime calls ${count('runtimeCallsPerSecond')}/s`,
  ].join(', ');
}

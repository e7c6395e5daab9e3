/** The pause between two cycles: everything settles, what is wanted is compared with what is there, and the figures are taken. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Journal } from './journal.js';
import { leftByRuntime, leftovers, type Seen, unsettled, type WantedPod } from './judge/census.js';
import { median } from './judge/drift.js';
import { type QuietPoint, timelineLimitBytes } from './judge/figures.js';
import { lastingPods } from './plan/plan.js';
import type { PlannedPod } from './plan/shapes.js';
import { type Cycle, clientKinds } from './plan/steps.js';
import { sampleFiles, sampleMachine } from './sample/machine-sample.js';
import { sampleRuntime } from './sample/runtime-sample.js';
import { look, readStarts } from './sample/sampler.js';
import { visit } from './world/clients.js';
import type { SoakWorld } from './world/world.js';

export interface QuietOptions {
  readonly world: SoakWorld;
  readonly journal: Journal;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
  /** Over which rates are counted. */
  readonly windowMs: number;
}

/** Long enough for back-offs, for garbage collections of each minute, and for a machine that others use too. */
const settleLimitMs = 200_000;
const askEveryMs = 2_000;
const rssSamples = 3;
const scrapeLimitMs = 30_000;

/** `undefined` when it was broken off. */
export async function quietPoint(
  cycle: Cycle,
  last: QuietPoint | undefined,
  options: QuietOptions,
): Promise<QuietPoint | undefined> {
  const { world, journal, nowMs, signal, windowMs } = options;
  const { source } = world;
  const wantedOf = (pods: readonly PlannedPod[]): WantedPod[] =>
    pods.map((plan) => ({ plan, shownName: source.shownName(plan.name) }));
  const lasting = wantedOf(lastingPods);
  const all = [...lasting, ...wantedOf(cycle.left)];
  await settle('after the churn', (seen) => unsettled(all, seen), options);
  for (const { name } of cycle.left) await source.remove(name, false);
  const settledAfterMs = await settle(
    'without the pods of the cycle',
    (seen) => [
      ...unsettled(lasting, seen),
      ...leftovers(lasting, {
        ...seen,
        machine: sampleMachine(world.containerd, world.agent),
        files: sampleFiles(world.agent),
      }),
    ],
    options,
  );
  const runtime = await sampleRuntime(world.cri);
  if (runtime !== undefined) {
    const machine = sampleMachine(world.containerd, world.agent);
    for (const text of leftByRuntime({ runtime, machine })) journal.remark(text);
  }
  if (signal.aborted) return undefined;
  await forgetStarts(world, lasting);
  world.driver.calls.length = 0;
  world.agent.trimLog();

  await visitAll(options);
  await scrape(world);
  const before = await look(world, nowMs());
  await sleep(windowMs, undefined, { signal }).catch(() => undefined);
  if (signal.aborted) return undefined;
  const taken = await look(world, nowMs(), { since: before, countsRules: true });
  // After the rates, as a collection takes processor time.
  const collected = await look(world, nowMs(), { collects: true });
  const rss = [collected.values.rssBytes];
  while (rss.length < rssSamples) {
    await sleep(500);
    rss.push((await look(world, nowMs())).values.rssBytes);
  }
  const timelineBytes = taken.values.timelineBytes ?? 0;
  if (timelineBytes > timelineLimitBytes) {
    journal.find(`the timeline takes ${timelineBytes} bytes of ${timelineLimitBytes}`);
  }
  const values: Record<string, number> = { ...taken.values };
  for (const name of ['heapBytes', 'externalBytes', 'resources']) {
    const value = collected.values[name];
    if (value !== undefined) values[name] = value;
  }
  values.rssBytes = median(rss.filter((value) => value !== undefined));
  return {
    cycle: cycle.index,
    atMs: nowMs(),
    life: taken.life,
    age: last?.life === taken.life ? last.age + 1 : 0,
    settledAfterMs,
    values,
  };
}

/** While nothing is broken, every kind of client is answered. */
async function visitAll({ world, journal }: QuietOptions): Promise<void> {
  const { agent, source } = world;
  const [pod] = lastingPods;
  if (pod === undefined) return;
  for (const client of clientKinds) {
    const step = { kind: 'client', client, name: pod.name, lastsMs: 1_500, breaksOff: false } as const;
    const isAnswered = await visit(step, agent.apiUrl, source.shownName(pod.name));
    if (!isAnswered) journal.find(`a ${client} of pod ${pod.name} is not answered though nothing is broken`);
  }
}

/**
 * The agent keeps files of cgroups open for minutes after a scrape, for the next one. After a scrape of our own, which
 * closes those of cgroups that are gone, there are as many at every quiet point.
 */
async function scrape({ agent }: SoakWorld): Promise<void> {
  for (const page of ['/stats/summary', '/metrics/cadvisor']) {
    const response = await fetch(`${agent.readOnlyUrl}${page}`, {
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(scrapeLimitMs),
    });
    await response.text();
  }
}

/** Waits until nothing is wrong; what still is when the time is up is found. Returns how long it took. */
async function settle(
  when: string,
  problemsOf: (seen: Seen) => string[],
  { world, journal, signal }: QuietOptions,
): Promise<number> {
  const startedMs = performance.now();
  for (;;) {
    const seen = await census(world);
    const problems =
      typeof seen === 'string' ? [seen] : problemsOf(seen).filter((text) => !journal.isKnown(text));
    const tookMs = performance.now() - startedMs;
    if (problems.length === 0 || signal.aborted) return tookMs;
    if (tookMs > settleLimitMs) {
      for (const text of problems) journal.find(text);
      journal.count(`not settled ${when}`);
      return tookMs;
    }
    await sleep(askEveryMs, undefined, { signal }).catch(() => undefined);
  }
}

/** A text says why there is none. */
async function census({ source, cri, shapes }: SoakWorld): Promise<Seen | string> {
  try {
    const pods = await source.pods();
    const runtime = await sampleRuntime(cri);
    if (runtime === undefined) return 'the runtime does not answer';
    return { pods, runtime, starts: readStarts(shapes.startsDir) };
  } catch (error) {
    return `pods cannot be listed: ${String(error)}`;
  }
}

/** Files of pods that are gone, of which there would be more and more. */
async function forgetStarts({ source, shapes }: SoakWorld, lasting: readonly WantedPod[]): Promise<void> {
  const names = new Set(lasting.map(({ shownName }) => shownName));
  const pods = await source.pods().catch(() => undefined);
  if (pods === undefined) return;
  const uids = new Set(
    pods.filter(({ metadata }) => names.has(metadata.name ?? '')).map(({ metadata }) => metadata.uid),
  );
  for (const name of readStarts(shapes.startsDir).keys()) {
    if (!uids.has(name.replace(/\..*$/, ''))) rmSync(join(shapes.startsDir, name), { force: true });
  }
}

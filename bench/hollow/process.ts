/**
 * A process of the bench of hollow nodes: opens nodes and prints what they hold or use as one line of JSON. A process of
 * its own has nobody else's memory and CPU in its figures. `MODE NODES PODS [OBSERVED_MS]`; see `modes`.
 */
import { systemClock, VirtualClock } from '../../src/async/index.js';
import { CountingClock } from './counting-clock.js';
import { HollowNodes } from './nodes.js';

const minuteMs = 60_000;
/** The first nodes have code compiled and tables made that all share. */
const firstNodes = 10;

/** Bytes of what is still reachable. */
async function liveHeapBytes(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('start this program with --expose-gc');
  for (let round = 0; round < 4; round++) {
    // What only the stack of this turn reaches goes with the turn.
    await new Promise((resolve) => setTimeout(resolve, 10));
    globalThis.gc();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function allReady(hollow: HollowNodes): Promise<void> {
  const ready = await hollow.readyNodes();
  if (ready !== hollow.nodes.length) throw new Error(`${ready} of ${hollow.nodes.length} nodes are Ready`);
}

/** Moves time until every pod runs. */
async function untilAllRun(hollow: HollowNodes, clock: VirtualClock): Promise<void> {
  for (let second = 0; second < 600; second++) {
    await clock.advance(1_000);
    const pods = await hollow.pods();
    if (pods.every(({ status }) => status?.phase === 'Running')) return;
  }
  throw new Error('the pods do not run');
}

interface Held {
  readonly heapBytes: number;
  readonly rssBytes: number;
}

export interface MemoryFigures {
  readonly before: Held;
  /** With the nodes, and no pods on them. */
  readonly empty: Held;
  readonly full: Held;
  /** What a client holds that reads a pod, and the events about it, from the API. */
  readonly object: { readonly podBytes: number; readonly eventBytes: number };
}

/** Of one node in a minute. */
export interface IdleCounts {
  readonly timersFired: number;
  readonly timersSet: number;
  readonly runtimeCalls: number;
  readonly apiCalls: number;
}

export interface CpuFigures {
  /** Of one node. */
  readonly cpuMsPerSecond: number;
}

async function held(hollow: HollowNodes): Promise<Held> {
  hollow.forgetHistory();
  const heapBytes = await liveHeapBytes();
  return { heapBytes, rssBytes: process.memoryUsage.rss() };
}

/** What objects take that were read from JSON, and share nothing with others. */
async function decodedBytes(objects: readonly object[]): Promise<number> {
  const texts = objects.map((object) => JSON.stringify(object));
  const startBytes = await liveHeapBytes();
  const decoded = texts.map((text) => JSON.parse(text) as object);
  const endBytes = await liveHeapBytes();
  // Both are still there: what nobody uses afterwards would be collected before it is measured.
  if (decoded.length !== texts.length) throw new Error('some objects were lost');
  return endBytes - startBytes;
}

/** What nodes hold without pods and with them, after quiet minutes. */
async function memory(nodes: number, podsEach: number): Promise<MemoryFigures> {
  const clock = new VirtualClock();
  const first = new HollowNodes(clock);
  await first.open(firstNodes);
  await first.createPods(2);
  await untilAllRun(first, clock);
  await clock.advance(5 * minuteMs);
  const before = await held(first);
  const hollow = new HollowNodes(clock);
  await hollow.open(nodes);
  await clock.advance(11 * minuteMs);
  await allReady(hollow);
  const empty = await held(hollow);
  let full = empty;
  let object = { podBytes: 0, eventBytes: 0 };
  if (podsEach > 0) {
    await hollow.createPods(podsEach);
    await untilAllRun(hollow, clock);
    await clock.advance(6 * minuteMs);
    full = await held(hollow);
    const pods = nodes * podsEach;
    object = {
      podBytes: (await decodedBytes(await hollow.pods())) / pods,
      eventBytes: (await decodedBytes(await hollow.events())) / pods,
    };
  }
  await first.stop();
  await hollow.stop();
  return { before, empty, full, object };
}

/** What an idle minute is made of, on time that does not depend on the machine. */
async function counts(nodes: number, podsEach: number): Promise<IdleCounts> {
  const time = new VirtualClock();
  const clock = new CountingClock(time);
  const hollow = new HollowNodes(clock, 1_000_000);
  await hollow.open(nodes);
  await time.advance(2 * minuteMs);
  await allReady(hollow);
  await hollow.createPods(podsEach);
  if (podsEach > 0) await untilAllRun(hollow, time);
  await time.advance(5 * minuteMs);
  const runtimeCalls = (): number =>
    hollow.nodes.reduce(
      (sum, { runtime }) => sum + Object.values(runtime.calls).reduce((calls, count) => calls + count, 0),
      0,
    );
  const apiCalls = (): number => hollow.apis.reduce((sum, { calls }) => sum + calls.length, 0);
  const minutes = 10;
  const start = { fired: clock.fired, set: clock.set, runtime: runtimeCalls(), api: apiCalls() };
  await time.advance(minutes * minuteMs);
  const each = (from: number, to: number): number => (to - from) / minutes / nodes;
  const result = {
    timersFired: each(start.fired, clock.fired),
    timersSet: each(start.set, clock.set),
    runtimeCalls: each(start.runtime, runtimeCalls()),
    apiCalls: each(start.api, apiCalls()),
  };
  await hollow.stop();
  return result;
}

const sleepMs = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** CPU of nodes at rest on real time. */
async function cpu(
  nodes: number,
  podsEach: number,
  observedMs: number,
  networkReady: boolean,
): Promise<CpuFigures> {
  const hollow = new HollowNodes(systemClock);
  // Staggered, as nobody starts all nodes of a cluster at once.
  for (let opened = 0; opened < nodes; opened++) {
    await hollow.open(1, { networkReady });
    await sleepMs(5);
  }
  await hollow.createPods(podsEach);
  // What runs often is compiled by then.
  await sleepMs(2 * observedMs);
  if (networkReady) await allReady(hollow);
  const start = process.cpuUsage();
  const startMs = performance.now();
  await sleepMs(observedMs);
  const { user, system } = process.cpuUsage(start);
  const seconds = (performance.now() - startMs) / 1000;
  await hollow.stop();
  return { cpuMsPerSecond: (user + system) / 1000 / seconds / nodes };
}

const modes: Readonly<
  Record<string, (nodes: number, podsEach: number, observedMs: number) => Promise<object>>
> = {
  memory,
  counts,
  cpu: (nodes, podsEach, observedMs) => cpu(nodes, podsEach, observedMs, true),
  'cpu-not-ready': (nodes, podsEach, observedMs) => cpu(nodes, podsEach, observedMs, false),
};

const [mode = '', nodes = '', podsEach = '', observedMs = ''] = process.argv.slice(2);
const run = modes[mode];
if (run === undefined) throw new Error(`no mode ${mode}`);
console.log(JSON.stringify(await run(Number(nodes), Number(podsEach), Number(observedMs))));

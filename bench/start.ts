/** How much nodelet adds to what the runtime itself needs to start many pods at once. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Gate } from '../src/async/index.js';
import { ContainerState, type CriClient } from '../src/cri/index.js';
import { defaultStartsAtOnce } from '../src/kubelet/settings.js';
import { freePort } from '../test/env/index.js';
import { Agent, buildAgent, syncsPods } from './agent.js';
import { type BenchGround, onContainerd } from './ground.js';
import {
  atMost,
  type Bench,
  type BenchContext,
  type Measure,
  median,
  medianOf,
  roundsOf,
} from './measure.js';
import { containerStatuses, idlePods, removeAllPods, showManifests, untilRunning } from './pods.js';
import { type RecordedPod, recordPod, replica, startReplica } from './recorded-pod.js';

const podCount = 50;
const minRounds = 3;
const maxRounds = 7;
/** No further round is begun after this time, so that a slow machine does not take for ever. */
const roundsBudgetMs = 110_000;
/** As many bare pods at a time as the agent starts by default on this machine. */
const startsAtOnce = defaultStartsAtOnce();
/** What an agent does after its own start should be over before it is measured. */
const settleMs = 1_500;

interface Burst {
  /** From the start of the burst until each container ran, as the runtime noted it, in order. */
  readonly runningAfterMs: readonly number[];
  /** Of the one who calls the runtime. */
  readonly cpuMs: number;
}

interface AgentBurst extends Burst {
  readonly runtimeCalls: number;
}

export const start: Bench = {
  name: 'start',
  summary: `${podCount} pods at once: nodelet against bare CRI calls`,
  run: (context) =>
    onContainerd(async (ground) => measure(ground, await buildAgent(ground.dir, context.note), context)),
};

async function measure(
  ground: BenchGround,
  program: string,
  { note, options }: BenchContext,
): Promise<Measure[]> {
  const recorded = await recordPod(ground);
  // The first pods of a runtime pay for what all later ones find done.
  await bareBurst(ground, recorded, 'warm', 2 * startsAtOnce);
  await removeAllPods(ground.cri);
  const bare: Burst[] = [];
  const nodelet: AgentBurst[] = [];
  const endMs = performance.now() + roundsBudgetMs;
  const least = roundsOf(options, minRounds);
  const most = roundsOf(options, maxRounds);
  for (let round = 0; round < least || (round < most && performance.now() < endMs); round++) {
    const sides = [
      async () => void bare.push(await bareBurst(ground, recorded, `bare-${round}`, podCount)),
      async () => void nodelet.push(await agentBurst(ground, program, `nodelet-${round}`)),
    ];
    // Whoever comes second may find warmer caches or a more tired machine, so each side is second about as often.
    for (const side of round % 2 === 0 ? sides : sides.reverse()) {
      await side();
      await removeAllPods(ground.cri);
    }
    const [bareMs, nodeletMs] = [bare.at(-1), nodelet.at(-1)].map(totalMs);
    note(`round ${round + 1}: bare ${bareMs?.toFixed(0)} ms, nodelet ${nodeletMs?.toFixed(0)} ms`);
  }
  return report(bare, nodelet);
}

function report(bare: readonly Burst[], nodelet: readonly AgentBurst[]): Measure[] {
  const [bareMs, nodeletMs] = [bare.map(totalMs), nodelet.map(totalMs)];
  const inSeconds = (values: readonly number[]): number[] => values.map((ms) => ms / 1000);
  return [
    // Of neighbours in time, as each pair saw about the same machine.
    medianOf(
      `all ${podCount} pods run: nodelet / bare CRI calls`,
      'ratio',
      nodeletMs.map((ms, round) => ms / (bareMs[round] ?? Number.NaN)),
      atMost(1.1),
    ),
    {
      name: 'the same, best round of each side',
      unit: 'ratio',
      value: Math.min(...nodeletMs) / Math.min(...bareMs),
    },
    medianOf("nodelet's median pod runs, of its own total", '%', nodelet.map(medianShare), atMost(60)),
    medianOf("bare calls' median pod runs, of their own total", '%', bare.map(medianShare)),
    medianOf('all pods run, bare calls', 's', inSeconds(bareMs)),
    medianOf('all pods run, nodelet', 's', inSeconds(nodeletMs)),
    medianOf('first pod runs, bare calls', 's', inSeconds(bare.map(firstMs))),
    medianOf('first pod runs, nodelet', 's', inSeconds(nodelet.map(firstMs))),
    medianOf(
      "nodelet's runtime calls per pod (bare: 3)",
      'count',
      nodelet.map(({ runtimeCalls }) => runtimeCalls / podCount),
    ),
    medianOf(
      "nodelet's own CPU per pod",
      'ms',
      nodelet.map(({ cpuMs }) => cpuMs / podCount),
    ),
    medianOf(
      "bare caller's own CPU per pod",
      'ms',
      bare.map(({ cpuMs }) => cpuMs / podCount),
    ),
  ];
}

/** What the pods need on the machine is there before the burst: it is the runtime's own time that is measured. */
async function bareBurst(
  { cri }: BenchGround,
  recorded: RecordedPod,
  name: string,
  count: number,
): Promise<Burst> {
  const pods = Array.from({ length: count }, (_, index) => replica(recorded, `${name}-${index}`));
  const gate = new Gate(startsAtOnce);
  const cpuBefore = process.cpuUsage();
  const startMs = Date.now();
  await Promise.all(pods.map((pod) => gate.run(() => startReplica(cri, pod))));
  const { user, system } = process.cpuUsage(cpuBefore);
  return { runningAfterMs: await runningAfter(cri, startMs, count), cpuMs: (user + system) / 1000 };
}

async function agentBurst(
  { cri, dir, containerd }: BenchGround,
  program: string,
  name: string,
): Promise<AgentBurst> {
  const agent = new Agent({ program, containerd, dir: join(dir, name), metricsPort: await freePort() });
  const callsSoFar = (): Promise<number> => agent.metric('kubelet_runtime_operations_total');
  try {
    await agent.line('that it syncs pods', syncsPods);
    await sleep(settleMs);
    const callsBefore = await callsSoFar();
    const cpuBeforeMs = agent.cpuMs();
    const startMs = showManifests(agent.manifestsDir, idlePods(podCount));
    await untilRunning(cri, podCount, () => agent.problems());
    // Its last pod's status is still on its way.
    await sleep(500);
    const cpuMs = agent.cpuMs() - cpuBeforeMs;
    const runtimeCalls = (await callsSoFar()) - callsBefore;
    return { runningAfterMs: await runningAfter(cri, startMs, podCount), cpuMs, runtimeCalls };
  } finally {
    await agent.stop();
  }
}

async function runningAfter(cri: CriClient, startMs: number, count: number): Promise<number[]> {
  const statuses = await containerStatuses(cri);
  const running = statuses.filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
  if (running.length !== count) throw new Error(`${running.length} containers run instead of ${count}`);
  return running.map(({ startedAt }) => Number(startedAt) / 1e6 - startMs).sort((a, b) => a - b);
}

function totalMs(burst: Burst | undefined): number {
  return burst?.runningAfterMs.at(-1) ?? Number.NaN;
}

function firstMs({ runningAfterMs }: Burst): number {
  return runningAfterMs[0] ?? Number.NaN;
}

function medianShare(burst: Burst): number {
  return (100 * median(burst.runningAfterMs)) / totalMs(burst);
}

/** Makes the plan of a soak from its seed: the same steps at the same moments for the same seed, cycle and settings. */
import { type Random, randomOf } from '../../fuzz/random.js';
import { type PlannedPod, type ShapeName, shapeNames, takesClients } from './shapes.js';
import { type ApiTrouble, type Cycle, clientKinds, type Fault, type Step, type TimedStep } from './steps.js';

export interface PlanSettings {
  readonly seed: number;
  readonly durationMs: number;
  readonly cluster: boolean;
}

export interface Schedule {
  /** How long the churn of a cycle goes on before it pauses. */
  readonly churnMs: number;
  /** Cycles that are expected; how many there are is decided by the clock. */
  readonly cycles: number;
  /** Cycles of the first quarter, at least three, whose figures are not judged. */
  readonly warmUpCycles: number;
  /** The agent's lives end in every cycle of this distance. */
  readonly lifeCycles: number;
}

export const planLimits = {
  /** Pods that are wanted at a time, with those that stay. */
  pods: 30,
  /** The shortest and the longest time between two steps. */
  leastPauseMs: 500,
  longestPauseMs: 2_500,
} as const;

/** A pause takes about as long: until everything is settled, then to look at it. */
const pauseMs = 75_000;
const [leastChurnMs, mostChurnMs] = [40_000, 240_000];
const leastWarmUp = 3;

/** The pods that are there all the time: at every quiet point exactly these run. */
export const lastingPods: readonly PlannedPod[] = (
  ['plain', 'probed', 'inits', 'volumes', 'objects', 'csi', 'plain', 'probed'] as const
).map((shape, at) => ({ name: `lasting-${at}`, shape, variant: at, revision: 0 }));

export function scheduleOf({ durationMs }: Pick<PlanSettings, 'durationMs'>): Schedule {
  const churnMs = Math.round(Math.min(Math.max(durationMs / 32, leastChurnMs), mostChurnMs));
  const cycles = Math.max(1, Math.floor(durationMs / (churnMs + pauseMs)));
  const warmUpCycles = Math.max(leastWarmUp, Math.ceil(cycles / 4));
  // Growth inside a process is seen only while it lives, so a life is as long as a third of what is judged, within bounds.
  const lifeCycles = Math.min(Math.max(Math.round((cycles - warmUpCycles) / 3), 12), 24);
  return { churnMs, cycles, warmUpCycles, lifeCycles };
}

/** Whether the agent is killed in a cycle: in the first half of the warm-up, then once in a life. */
export function endsLives(index: number, { warmUpCycles, lifeCycles }: Schedule): boolean {
  const first = Math.ceil(warmUpCycles / 2);
  if (index < first) return true;
  const since = index - (first - 1);
  return since % lifeCycles === 0;
}

export function planCycle(settings: PlanSettings, index: number): Cycle {
  const random = randomOf(settings.seed, 'soak', index);
  const schedule = scheduleOf(settings);
  const ends = endsLives(index, schedule);
  const churn = new Churn(random, settings.cluster, index);
  const steps: TimedStep[] = faultsOf(random, schedule.churnMs, settings.cluster, ends).map(
    ({ atMs, fault }) => ({ atMs, step: { kind: 'fault', fault } }),
  );
  const { leastPauseMs, longestPauseMs } = planLimits;
  for (let atMs = leastPauseMs; atMs < schedule.churnMs; ) {
    steps.push({ atMs, step: churn.next() });
    atMs += leastPauseMs + random.below(longestPauseMs - leastPauseMs);
  }
  steps.sort((a, b) => a.atMs - b.atMs);
  return { index, steps, left: churn.left(), endsLives: ends };
}

/** The pods of one cycle as the plan knows them, and what is done to them next. */
class Churn {
  readonly #pods = new Map<string, PlannedPod>();
  readonly #random: Random;
  readonly #cluster: boolean;
  readonly #index: number;
  #made = 0;
  #version = 0;

  constructor(random: Random, cluster: boolean, index: number) {
    this.#random = random;
    this.#cluster = cluster;
    this.#index = index;
  }

  left(): PlannedPod[] {
    return [...this.#pods.values()];
  }

  next(): Step {
    const room = planLimits.pods - lastingPods.length - this.#pods.size;
    const dice = this.#random.below(100);
    if (this.#pods.size < 4) return this.#create();
    if (dice < 36) return room > 0 ? this.#create() : this.#delete();
    if (dice < 60) return this.#delete();
    if (dice < 72) return this.#change();
    if (dice < 78) {
      return { kind: 'write-objects', version: this.#index * 1000 + ++this.#version };
    }
    if (dice < 86 && this.#cluster) return this.#resize();
    return this.#client();
  }

  #create(): Step {
    const shape: ShapeName = this.#random.pick(shapeNames);
    const name = `c${this.#index}-${this.#made++}-${shape}`;
    const pod: PlannedPod = { name, shape, variant: this.#index * 100 + this.#made, revision: 0 };
    this.#pods.set(name, pod);
    return { kind: 'create', pod };
  }

  #delete(): Step {
    const { name } = this.#random.pick(this.left());
    this.#pods.delete(name);
    return { kind: 'delete', name, force: this.#random.oneIn(4) };
  }

  #change(): Step {
    const old = this.#random.pick(this.left());
    const pod = { ...old, revision: old.revision + 1 };
    this.#pods.set(pod.name, pod);
    return { kind: 'change', pod };
  }

  #resize(): Step {
    const name = this.#random.pick(lastingPods.filter(({ shape }) => shape === 'plain')).name;
    return { kind: 'resize', name, cpuMillis: 10 + this.#random.below(40) };
  }

  #client(): Step {
    const all = [...lastingPods, ...this.left()].filter(({ shape }) => takesClients(shape));
    return {
      kind: 'client',
      client: this.#random.pick(clientKinds),
      name: this.#random.pick(all).name,
      lastsMs: 200 + this.#random.below(10_000),
      breaksOff: this.#random.oneIn(2),
    };
  }
}

interface TimedFault {
  readonly atMs: number;
  readonly fault: Fault;
}

/** Faults of the machine in every cycle, one after the other; ends of the agent's lives only where they belong. */
function faultsOf(random: Random, churnMs: number, cluster: boolean, ends: boolean): TimedFault[] {
  const faults: Fault[] = [machineFault(random, cluster), machineFault(random, cluster)];
  if (ends) {
    faults.push({ kind: 'kill-agent', downMs: random.below(4_000) });
    faults.push({ kind: 'stop-agent', downMs: random.below(2_000) });
    if (random.oneIn(2)) faults.push({ kind: 'kill-agent', downMs: random.below(200) });
  }
  // Each in a part of the churn of its own, so that faults of different kinds overlap only in what they leave behind.
  const part = churnMs / faults.length;
  return shuffled(random, faults).map((fault, at) => ({
    atMs: Math.round(part * at + random.below(Math.max(1, Math.round(part / 3)))),
    fault,
  }));
}

function machineFault(random: Random, cluster: boolean): Fault {
  switch (random.below(cluster ? 5 : 3)) {
    case 0:
      return { kind: 'kill-runtime', downMs: random.below(4_000) };
    case 1:
      return { kind: 'freeze-runtime', forMs: 1_000 + random.below(7_000) };
    case 2:
      return { kind: 'fill-disk', forMs: 2_000 + random.below(8_000) };
    default: {
      const troubles: readonly ApiTrouble[] = ['refuse', 'black-hole', 'cut-answers', 'delay', 'reset'];
      return { kind: 'cut-api', trouble: random.pick(troubles), forMs: 1_000 + random.below(12_000) };
    }
  }
}

function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const left = [...items];
  return items.flatMap(() => left.splice(random.below(left.length), 1));
}

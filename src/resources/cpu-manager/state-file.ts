/** Keeps the CPU manager's state on disk. A file that does not fit is set aside, and the state is made anew from what runs. */
import { join } from 'node:path';
import { type DurableFiles, DurableState } from '../../host/index.js';
import type { Timeline } from '../../timeline/index.js';
import { CpuCheckpointError, formatCpuCheckpoint, parseCpuCheckpoint } from './cpu-checkpoint.js';
import { type CpuState, emptyCpuState, withBaselines } from './cpu-state.js';
import { type RunningCpus, recoverCpuState, stateProblem } from './start-state.js';
import { freshCpuState, type StaticPolicy } from './static-policy.js';

export interface CpuStateFileOptions {
  readonly rootDir: string;
  readonly store: DurableFiles;
  readonly timeline: Timeline;
  readonly nodeName: string;
  /** Absent for policy `none`. */
  readonly policy: StaticPolicy | undefined;
  /** The gate PodLevelResourceManagers. */
  readonly podLevel: boolean;
  /** The gate InPlacePodVerticalScalingExclusiveCPUs; default off. */
  readonly hasBaselines?: boolean;
}

export interface StartedCpuState {
  readonly state: CpuState;
  /** Whether the state was made anew from what runs; then nobody knows yet what the pods ask for. */
  readonly isRecovered: boolean;
  /**
   * Whether there is no file of policy `none` yet. It says that no container is bound to CPUs, so it is written only when
   * that is true: an agent that is killed before sets containers free at its next start.
   */
  readonly awaitsUnbinding: boolean;
}

export class CpuStateFile {
  readonly #options: CpuStateFileOptions;
  readonly #path: string;
  readonly #file: DurableState;
  #state: CpuState = emptyCpuState;

  constructor(options: CpuStateFileOptions) {
    this.#options = options;
    this.#path = join(options.rootDir, 'cpu_manager_state');
    this.#file = new DurableState(options.store, this.#path, () => this.#text());
  }

  /** `running` is asked only if the file cannot be used. Rejects only for a shortage that says nothing about the file. */
  async start(running: () => Promise<readonly RunningCpus[]>): Promise<StartedCpuState> {
    const { store } = this.#options;
    let old: CpuState | undefined;
    let written = '';
    const found = await store.read(this.#path, (text) => {
      const { podLevel, hasBaselines } = this.#options;
      const { policyName, state } = parseCpuCheckpoint(text, {
        readsV2Names: !podLevel,
        readsBaselines: hasBaselines,
      });
      old = state;
      written = text;
      this.#check(policyName, state);
      return state;
    });
    switch (found.kind) {
      case 'found':
        this.#state = isFresh(found.value) ? this.#fresh() : this.#complete(found.value);
        if (this.#text() !== written) this.#file.changed();
        return { state: this.#state, isRecovered: false, awaitsUnbinding: false };
      case 'missing':
        return { ...this.#begin(this.#fresh()), isRecovered: false };
      case 'set aside':
        return { ...this.#begin(await this.#recover(found, old, running)), isRecovered: true };
    }
  }

  #begin(state: CpuState): Pick<StartedCpuState, 'state' | 'awaitsUnbinding'> {
    const awaitsUnbinding = this.#options.policy === undefined;
    return { state: awaitsUnbinding ? state : this.write(state), awaitsUnbinding };
  }

  /** What was written before is replaced as a whole, soon; `written` tells when. */
  write(state: CpuState): CpuState {
    this.#state = state;
    this.#file.changed();
    return state;
  }

  async written(): Promise<void> {
    await this.#file.written();
  }

  async stop(): Promise<void> {
    await this.#file.stop();
  }

  get #policyName(): string {
    return this.#options.policy === undefined ? 'none' : 'static';
  }

  #text(): string {
    return formatCpuCheckpoint({ policyName: this.#policyName, state: this.#state });
  }

  #fresh(): CpuState {
    const { policy, hasBaselines } = this.#options;
    return policy === undefined ? emptyCpuState : freshCpuState(policy, hasBaselines);
  }

  /** In a file without baselines each container has what it was first given: nothing else was ever given. */
  #complete(state: CpuState): CpuState {
    if (this.#options.hasBaselines !== true) return state;
    return withBaselines(state, state.baselines, { isComplete: true });
  }

  #check(policyName: string, state: CpuState): void {
    const { policy } = this.#options;
    if (policyName !== this.#policyName) {
      throw new CpuCheckpointError(
        `configured policy "${this.#policyName}" differs from state checkpoint policy "${policyName}"`,
      );
    }
    if (policy === undefined || isFresh(state)) return;
    const problem = stateProblem(policy, state);
    if (problem !== undefined) throw new UnfitCpuState(problem);
  }

  async #recover(
    { reason, movedTo }: { readonly reason: string; readonly movedTo: string | undefined },
    old: CpuState | undefined,
    running: () => Promise<readonly RunningCpus[]>,
  ): Promise<CpuState> {
    const { policy, timeline, nodeName, hasBaselines } = this.#options;
    const { state, kept, lost } =
      policy === undefined
        ? { state: emptyCpuState, kept: [], lost: [] }
        : recoverCpuState(policy, old, await running());
    const problem = `start cpu manager error: ${this.#inReferenceWords(reason, old)}`;
    const list = (names: readonly string[]): string => names.slice(0, mostNamed).join(', ') || 'no container';
    const place = movedTo === undefined ? 'could not be moved away' : `is kept as ${movedTo}`;
    const done = `The old file ${place}. Kept the CPUs of ${list(kept)}; gave back those of ${list(lost)}.`;
    timeline.nodeEvent(nodeName, 'Warning', 'CPUManagerStateRecovered', `${problem}. ${done}`);
    timeline.record({
      kind: 'decision',
      what: 'cpu.recover',
      message: `made the CPU manager's state anew. ${done}`,
      because: problem,
      level: 'warn',
      data: { kept: kept.length, lost: lost.length, ...(movedTo === undefined ? {} : { movedTo }) },
    });
    // What a container is bound to is its own only when its pod has shown that it asks for it.
    return hasBaselines === true ? withBaselines(state, old?.baselines, { isComplete: false }) : state;
  }

  /** A state that was read but does not fit the machine has no ending about the file. */
  #inReferenceWords(reason: string, old: CpuState | undefined): string {
    const { policy } = this.#options;
    const isUnfit = policy !== undefined && old !== undefined && stateProblem(policy, old) === reason;
    if (isUnfit) return reason;
    return `could not restore state from checkpoint: ${reason}, please drain this node and delete the CPU manager checkpoint file "${this.#path}" before restarting Kubelet`;
  }
}

/** Containers that an event names. */
const mostNamed = 20;

class UnfitCpuState extends Error {
  override readonly name = 'UnfitCpuState';
}

/** Nothing was ever given out. */
function isFresh({ defaultCpuSet, entries, podEntries }: CpuState): boolean {
  return defaultCpuSet.isEmpty && entries.size === 0 && podEntries.size === 0;
}

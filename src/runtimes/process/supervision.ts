/** The agent's side of the supervisors: starts them, follows their files, and notices when one is gone. */
import { type FSWatcher, watch } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { type Clock, sleep, type TaskGroup } from '../../async/index.js';
import { CommandLine, startProgram } from '../../programs/index.js';
import { endContainerCgroup } from './container-cgroup.js';
import {
  claimStart,
  isFileError,
  readCgroup,
  readClaim,
  readState,
  stateFileName,
  writeState,
} from './container-files.js';
import { failedStart, formatState, type RecordedState, unknownExit } from './container-state.js';
import { isAlive, living } from './identity.js';
import type { ProcessContainer } from './records.js';
import { judge, supervisorOf } from './sighting.js';
import { killStrays } from './strays.js';

/** How often to check supervisors that cannot be watched: a killed one writes nothing. */
const sweepPeriodMs = 1_000;
/** How long to wait for a process to die after SIGKILL. */
const deathLimitMs = 5_000;
const deathPollMs = 20;
/** How much of a supervisor's error output goes into a message. */
const longestComplaint = 1_000;

export interface SupervisionOptions {
  readonly clock: Clock;
  readonly tasks: TaskGroup;
  readonly bootId: string;
  readonly stamp: () => bigint;
  readonly supervisorEntry: string;
  readonly supervisorExecArgv: readonly string[];
  /** Receives a container's recorded state, which may be known already. */
  readonly onState: (container: ProcessContainer, state: RecordedState) => void;
}

/** Why a container is checked. */
type SupervisionCause =
  /** Something may have changed. */
  | 'change'
  /** The agent that requested the start is gone, so an unclaimed start is taken back. */
  | 'adoption'
  /** The supervisor exited; if it had not even claimed the start, it failed. */
  | 'supervisor-ended';

interface FollowedContainer {
  readonly watcher: FSWatcher | undefined;
}

export class Supervision {
  readonly #options: SupervisionOptions;
  readonly #followed = new Map<ProcessContainer, FollowedContainer>();
  /** Containers whose supervisor has exited, whatever it left on record. */
  readonly #unsupervised = new WeakSet<ProcessContainer>();
  /** Containers being checked, with the reasons for the next check. */
  readonly #looking = new Map<ProcessContainer, SupervisionCause[]>();

  constructor(options: SupervisionOptions) {
    this.#options = options;
    options.tasks.start('sweep of supervisors', (signal) => this.#sweepForever(signal));
  }

  /**
   * Starts the supervisor of a container whose recorded state is `starting` with the token. If this fails
   * there is no supervisor.
   */
  async start(container: ProcessContainer, token: string): Promise<void> {
    const { supervisorEntry, supervisorExecArgv, bootId } = this.#options;
    const { files } = container;
    this.#unsupervised.delete(container);
    this.follow(container);
    const complaints = await open(files.supervisorLog, 'a', 0o600);
    try {
      const supervisor = startProgram(
        CommandLine.given(process.execPath, [
          ...supervisorExecArgv,
          ...[supervisorEntry, files.directory, token, bootId],
        ]),
        { env: { PATH: process.env.PATH }, stdio: ['ignore', 'ignore', complaints.fd] },
      );
      const onEnd = (): void => {
        this.#unsupervised.add(container);
        this.look(container, 'supervisor-ended');
      };
      supervisor.once('exit', onEnd).once('error', onEnd);
      // A supervisor must not keep the agent from exiting.
      supervisor.unref();
    } finally {
      await complaints.close();
    }
  }

  /** Whether the start was taken back before a supervisor claimed it. */
  takeBack(container: ProcessContainer, token: string): Promise<boolean> {
    return claimStart(container.files, token, { by: 'agent' });
  }

  /** Checks the container whenever its supervisor writes something. */
  follow(container: ProcessContainer): void {
    if (this.#followed.has(container)) return;
    let watcher: FSWatcher | undefined;
    try {
      watcher = watch(container.files.directory, { persistent: false }, (_, name) => {
        if (name === null || name === stateFileName) this.look(container, 'change');
      });
      watcher.on('error', () => watcher?.close());
    } catch {
      // Out of watches on this machine: the sweep sees changes, only later.
      watcher = undefined;
    }
    this.#followed.set(container, { watcher });
    // Catches what was written before the watch was up.
    this.look(container, 'change');
  }

  unfollow(container: ProcessContainer): void {
    this.#followed.get(container)?.watcher?.close();
    this.#followed.delete(container);
  }

  /** Reads the container's state, now or after the running check. */
  look(container: ProcessContainer, occasion: SupervisionCause): void {
    const waiting = this.#looking.get(container);
    if (waiting !== undefined) {
      if (!waiting.includes(occasion)) waiting.push(occasion);
      return;
    }
    const occasions: SupervisionCause[] = [occasion];
    this.#looking.set(container, occasions);
    this.#options.tasks.start(`look at container ${container.id}`, async () => {
      try {
        for (let next = occasions.shift(); next !== undefined; next = occasions.shift()) {
          await this.#look(container, next);
        }
      } catch (error) {
        // A removed container's files may vanish during a check.
        if (!container.removed) throw error;
      } finally {
        this.#looking.delete(container);
      }
    });
  }

  /** As `look`, for a container of an earlier agent; resolves when the state is known. */
  adopt(container: ProcessContainer): Promise<void> {
    return this.#look(container, 'adoption');
  }

  close(): void {
    for (const container of [...this.#followed.keys()]) this.unfollow(container);
  }

  async #look(container: ProcessContainer, occasion: SupervisionCause): Promise<void> {
    const { bootId, onState } = this.#options;
    const { files } = container;
    for (;;) {
      if (container.removed) return;
      const state = await readState(files);
      const claim = state.kind === 'starting' ? await readClaim(files, state.token) : undefined;
      const supervisor = supervisorOf(state, claim);
      const supervisorLives = supervisor !== undefined && (await isAlive(supervisor));
      const verdict = judge({ state, claim, bootId, supervisorLives });
      if (container.removed) return;
      switch (verdict) {
        case 'as-recorded':
        case 'starting':
          onState(container, state);
          return;
        case 'taken-back':
          await this.#record(container, { kind: 'created' });
          return;
        case 'unclaimed': {
          if (occasion === 'change' || state.kind !== 'starting') return;
          // The loser of the claim follows what the winner does.
          if (!(await this.takeBack(container, state.token))) continue;
          await this.#record(
            container,
            occasion === 'adoption' ? { kind: 'created' } : await this.#failedStart(container),
          );
          return;
        }
        case 'lost':
          // The supervisor may have written the exit between the two checks, and then exited itself.
          if (formatState(await readState(files)) !== formatState(state)) continue;
          await this.#bury(container, state);
          return;
      }
    }
  }

  /** Kills what a dead supervisor left running, and records an unknown exit. */
  async #bury(container: ProcessContainer, state: RecordedState): Promise<void> {
    const { bootId, clock, tasks, stamp } = this.#options;
    const sameBoot = 'bootId' in state && state.bootId === bootId;
    if (sameBoot) {
      if (state.kind === 'running' && (await isAlive(state.process))) killGroup(state.process.pid);
      const cgroup = await readCgroup(container.files);
      if (cgroup !== undefined)
        await endContainerCgroup(container.id, cgroup, (ms) => sleep(clock, ms, tasks.signal));
      killStrays(container.id);
      if (state.kind === 'running') {
        for (let waitedMs = 0; waitedMs < deathLimitMs; waitedMs += deathPollMs) {
          if (!(await isAlive(state.process))) break;
          await sleep(clock, deathPollMs, tasks.signal);
        }
      }
    }
    await this.#record(container, {
      kind: 'exited',
      startedAt: state.kind === 'running' ? state.startedAt : 0n,
      finishedAt: stamp(),
      ...unknownExit,
      message: sameBoot
        ? 'the supervisor of the container exited before it; what was left of the container was killed'
        : 'the machine was restarted',
    });
  }

  async #failedStart(container: ProcessContainer): Promise<RecordedState> {
    const complaint = await complaintOf(container.files.supervisorLog);
    return failedStart(
      `the supervisor of the container could not be started${complaint === '' ? '' : `: ${complaint}`}`,
      this.#options.stamp(),
    );
  }

  async #record(container: ProcessContainer, state: RecordedState): Promise<void> {
    await writeState(container.files, state);
    this.#options.onState(container, state);
  }

  async #sweepForever(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.#options.clock, sweepPeriodMs, signal);
      const running = [...this.#followed.keys()].flatMap((container) =>
        container.state.kind === 'running' ? [{ container, ...container.state }] : [],
      );
      const alive = await living(running.map(({ supervisor }) => supervisor));
      for (const { container, supervisor } of running) {
        if (!alive.has(supervisor)) this.look(container, 'change');
      }
      for (const [container, { watcher }] of this.#followed) {
        // Only Linux reports every change in a watched directory.
        const told = watcher !== undefined && process.platform === 'linux';
        if (container.state.kind !== 'starting' && told) continue;
        this.look(container, this.#unsupervised.has(container) ? 'supervisor-ended' : 'change');
      }
    }
  }
}

/** Call only after the group's leader was verified to be the right process. */
export function killGroup(processGroup: number, signal: number | NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(-processGroup, signal);
  } catch (error) {
    // Gone, or (on macOS) dead and not yet reaped.
    if (!isFileError(error, 'ESRCH', 'EPERM')) throw error;
  }
}

async function complaintOf(path: string): Promise<string> {
  try {
    const text = (await readFile(path, 'utf8')).trim();
    return text.slice(-longestComplaint);
  } catch (error) {
    if (isFileError(error, 'ENOENT')) return '';
    throw error;
  }
}

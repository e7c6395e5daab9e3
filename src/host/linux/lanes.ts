/**
 * Lanes: dedicated threads for file systems that may not respond, such as those of another machine.
 *
 * Node has four threads for all file calls of the process. A call to a hung server does not return, and four
 * such calls would stop every file operation of the node. So calls about such paths run in lanes, each
 * serving one key (a volume, a directory) at a time. A lane that does not return in time is left behind with
 * its key, whose calls fail at once until it returns; other keys get other lanes.
 *
 * Threads, not processes: on a busy two-core machine a thread costs 8 MB and 0.1 s to start, a process 41 MB
 * and 0.45 s, and descriptors a thread opens are valid in the whole process. A call takes 0.25 ms instead of
 * 0.07 ms in Node's own threads, so the node's own files stay with those. The price: a process waits for its
 * threads when it exits, and one hung in the kernel does not end. Then, after everything else is done, the
 * process ends itself by SIGKILL, which the kernel delivers even to such calls.
 */
import type { Clock } from '../../async/index.js';
import { HostError } from '../host.js';
import { Lane, type LaneCall } from './lane.js';

export interface LanesOptions {
  readonly clock: Clock;
  /** How long a call may take. Default: 30 s. */
  readonly limitMs?: number;
  /** How long an idle lane is kept. Default: 30 s. */
  readonly idleMs?: number;
  /** Maximum number of lanes that work or are idle. Default: 6. */
  readonly mostLanes?: number;
  /** Maximum number of lanes left behind; beyond it no key gets a lane. Default: 16. */
  readonly mostLeftBehind?: number;
}

/** Maximum number of queued calls per key. */
const mostQueued = 1000;

interface LaneJob {
  readonly path: string;
  readonly call: LaneCall;
  readonly inputs: readonly unknown[];
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The work of one key. */
interface LaneWork {
  readonly key: string;
  readonly queue: LaneJob[];
  lane: Lane | undefined;
  isRunning: boolean;
  /** Open directory listings, which only this lane knows. */
  listings: number;
  /** Set while the work waits for a lane. */
  waiting: { cancel(): void } | undefined;
}

interface LeftBehind {
  readonly lane: Lane;
  /** Descriptors that only this key may close: closing may hang, too. */
  readonly toClose: number[];
}

export class Lanes {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #idleMs: number;
  readonly #mostLanes: number;
  readonly #mostLeftBehind: number;
  readonly #works = new Map<string, LaneWork>();
  readonly #idle: { readonly lane: Lane; readonly timer: NodeJS.Timeout }[] = [];
  readonly #leftBehind = new Map<string, LeftBehind>();
  #lent = 0;

  constructor({
    clock,
    limitMs = 30_000,
    idleMs = 30_000,
    mostLanes = 6,
    mostLeftBehind = 16,
  }: LanesOptions) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#idleMs = idleMs;
    this.#mostLanes = mostLanes;
    this.#mostLeftBehind = mostLeftBehind;
  }

  /** Lanes whose call has not returned. */
  get leftBehind(): number {
    return this.#leftBehind.size;
  }

  /** Lanes that work or are idle. */
  get lanes(): number {
    return this.#lent + this.#idle.length;
  }

  /** Fails with ETIMEDOUT if the call does not return in time, and at once while an earlier call of the key has not. */
  call(key: string, path: string, call: LaneCall, inputs: readonly unknown[]): Promise<unknown> {
    const left = this.#leftBehind.get(key);
    if (left !== undefined) {
      if (call === 'close' && typeof inputs[0] === 'number') {
        left.toClose.push(inputs[0]);
        return Promise.resolve();
      }
      if (call === 'closedir') return Promise.resolve();
      return Promise.reject(doesNotAnswer(path));
    }
    return new Promise((resolve, reject) => {
      const work = this.#workOf(key);
      if (work.queue.length >= mostQueued) {
        reject(new HostError('EAGAIN', path, `EAGAIN: more than ${mostQueued} calls wait for ${key}`));
        return;
      }
      work.queue.push({ path, call, inputs, resolve, reject });
      this.#advance(work);
    });
  }

  #workOf(key: string): LaneWork {
    const known = this.#works.get(key);
    if (known !== undefined) return known;
    const work: LaneWork = {
      key,
      queue: [],
      lane: undefined,
      isRunning: false,
      listings: 0,
      waiting: undefined,
    };
    this.#works.set(key, work);
    return work;
  }

  #advance(work: LaneWork): void {
    if (work.isRunning) return;
    const [job] = work.queue;
    if (job === undefined) {
      if (work.listings === 0) this.#finish(work);
      return;
    }
    work.lane ??= this.#takeLane(work, job);
    if (work.lane === undefined) return;
    work.queue.shift();
    this.#run(work, work.lane, job);
  }

  #run(work: LaneWork, lane: Lane, job: LaneJob): void {
    work.isRunning = true;
    let timer: { cancel(): void } | undefined;
    // Counted from when the thread runs: starting it may take long on a busy machine.
    lane.onceReady(() => {
      timer = this.#clock.setTimer(this.#limitMs, () => this.#leave(work, lane, job));
    });
    const done = (): boolean => {
      timer?.cancel();
      // A call left behind has already been settled.
      if (this.#leftBehind.get(work.key)?.lane === lane) return false;
      work.isRunning = false;
      return true;
    };
    lane.call(job.call, job.inputs).then(
      (value) => {
        if (!done()) {
          this.#return(work.key, lane, job, value);
          return;
        }
        if (job.call === 'opendir') work.listings++;
        if (job.call === 'closedir') work.listings = Math.max(0, work.listings - 1);
        job.resolve(value);
        this.#advance(work);
      },
      (error: unknown) => {
        if (!done()) {
          this.#return(work.key, lane, job, undefined);
          return;
        }
        if (job.call === 'closedir') work.listings = Math.max(0, work.listings - 1);
        job.reject(error);
        if (lane.isBroken) this.#drop(work, error);
        else this.#advance(work);
      },
    );
  }

  /** A lane for the work, now or later. */
  #takeLane(work: LaneWork, { path }: LaneJob): Lane | undefined {
    const idle = this.#idle.pop();
    if (idle !== undefined) {
      clearTimeout(idle.timer);
      this.#lent++;
      return idle.lane;
    }
    if (this.#leftBehind.size >= this.#mostLeftBehind) {
      const message = `ETIMEDOUT: ${this.#leftBehind.size} file systems of this node do not answer; ${path} is not tried`;
      this.#fail(work, new HostError('ETIMEDOUT', path, message));
      return undefined;
    }
    if (this.#lent < this.#mostLanes) {
      this.#lent++;
      return new Lane();
    }
    // By then the other lanes are free or left behind.
    work.waiting ??= this.#clock.setTimer(3 * this.#limitMs, () => {
      work.waiting = undefined;
      const message = `ETIMEDOUT: ${path} waits for other file systems of this node that are slow to answer`;
      this.#fail(work, new HostError('ETIMEDOUT', path, message));
    });
    return undefined;
  }

  /** Fails every queued call and resets the key. */
  #fail(work: LaneWork, error: unknown): void {
    this.#works.delete(work.key);
    work.waiting?.cancel();
    for (const job of work.queue.splice(0)) job.reject(error);
  }

  #finish(work: LaneWork): void {
    this.#works.delete(work.key);
    const { lane } = work;
    work.lane = undefined;
    if (lane === undefined) return;
    this.#lent--;
    // Not on the clock: nothing depends on when the lane ends, and the timer must not keep the process alive.
    const timer = setTimeout(() => {
      const at = this.#idle.findIndex((entry) => entry.lane === lane);
      if (at >= 0) this.#idle.splice(at, 1);
      lane.end();
    }, this.#idleMs).unref();
    this.#idle.push({ lane, timer });
    this.#lendToNext();
  }

  #lendToNext(): void {
    for (const work of this.#works.values()) {
      if (work.waiting === undefined) continue;
      work.waiting.cancel();
      work.waiting = undefined;
      this.#advance(work);
      return;
    }
  }

  /** The lane has died by itself. */
  #drop(work: LaneWork, error: unknown): void {
    this.#lent--;
    work.lane = undefined;
    this.#fail(work, error);
    this.#lendToNext();
  }

  #leave(work: LaneWork, lane: Lane, job: LaneJob): void {
    const { key } = work;
    endDespite(this);
    lane.leave();
    this.#leftBehind.set(key, { lane, toClose: [] });
    this.#lent--;
    this.#fail(work, doesNotAnswer(job.path));
    job.reject(doesNotAnswer(job.path));
    this.#lendToNext();
  }

  /** A call has returned after all: closes what it opened and frees its key. */
  #return(key: string, lane: Lane, job: LaneJob, value: unknown): void {
    const left = this.#leftBehind.get(key);
    const toClose = [...(left?.toClose ?? [])];
    if (job.call === 'open' && typeof value === 'number') toClose.push(value);
    this.#leftBehind.delete(key);
    lane.end();
    // No one waits for this; a descriptor that cannot be closed stays open.
    for (const descriptor of toClose) this.call(key, key, 'close', [descriptor]).catch(() => {});
  }
}

function doesNotAnswer(path: string): HostError {
  return new HostError('ETIMEDOUT', path, `ETIMEDOUT: ${path} does not answer`);
}

const hanging = new Set<Lanes>();

/** The process would wait for its threads and never exit. */
function endDespite(lanes: Lanes): void {
  if (hanging.size === 0) {
    process.once('exit', () => {
      if ([...hanging].some(({ leftBehind }) => leftBehind > 0)) process.kill(process.pid, 'SIGKILL');
    });
  }
  hanging.add(lanes);
}

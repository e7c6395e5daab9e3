/** A fleet in several threads: each has a share of the nodes, and connections and watches of its own. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { HollowNodeRequest, HollowOutcome } from '../fleet/contracts.js';
import { PodRanges } from '../fleet/pod-ranges.js';
import { hollowLimits } from '../limits.js';
import { defaultProfile } from '../node/profile.js';
import type { HollowControl, HollowSettings } from './contracts.js';
import type { ThreadAnswers, ThreadCall, ThreadData, ThreadMessage } from './thread-messages.js';

export interface ThreadedFleetOptions {
  readonly threads: number;
  readonly onProblem: (nodeName: string, message: string) => void;
}

/** Rejects when a thread cannot open its connections. */
export async function openThreadedFleet(
  settings: HollowSettings,
  { threads, onProblem }: ThreadedFleetOptions,
): Promise<HollowControl> {
  if (threads > hollowLimits.threads) throw new Error(`at most ${hollowLimits.threads} threads can be`);
  const entry = threadEntry();
  // Each thread has its part of what all together may do.
  const share: HollowSettings = {
    ...settings,
    nodesPerSecond: settings.nodesPerSecond / threads,
    callsPerSecond: settings.callsPerSecond && settings.callsPerSecond / threads,
  };
  const opened = await Promise.allSettled(
    Array.from({ length: threads }, () => FleetThread.open(entry, share, onProblem)),
  );
  const failed = opened.find((one) => one.status === 'rejected');
  const fleets = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  if (failed !== undefined) {
    await Promise.all(fleets.map((thread) => thread.stop(false)));
    throw failed.reason;
  }
  return threadedControl(fleets);
}

/** What a thread is asked; `FleetThread` asks a real one. */
export interface ThreadFleet {
  ask<Call extends ThreadCall['call']>(
    request: ThreadCall & { readonly call: Call },
  ): Promise<ThreadAnswers[Call]>;
  stop(deletesNodes: boolean): Promise<readonly HollowOutcome[]>;
}

/** New nodes go to the thread that has the fewest. */
export function threadedControl(threads: readonly ThreadFleet[]): HollowControl {
  const owners = new Map<string, ThreadFleet>();
  // No two threads may give their pods the same addresses.
  const ranges = new PodRanges();
  const counts = new Map<ThreadFleet, number>(threads.map((thread) => [thread, 0]));
  const byOwner = <T>(items: readonly T[], ownerOf: (item: T) => ThreadFleet): Map<ThreadFleet, T[]> => {
    const groups = new Map<ThreadFleet, T[]>();
    for (const item of items) {
      const owner = ownerOf(item);
      groups.set(owner, [...(groups.get(owner) ?? []), item]);
    }
    return groups;
  };
  const idlest = (): ThreadFleet => {
    const [first] = [...counts].sort(([, a], [, b]) => a - b);
    if (first === undefined) throw new Error('a fleet has at least one thread');
    counts.set(first[0], first[1] + 1);
    return first[0];
  };
  return {
    async add(requests: readonly HollowNodeRequest[]) {
      const nodes = requests.map((request) => ({
        ...request,
        podCidr: request.podCidr ?? ranges.take(request.profile?.pods ?? defaultProfile.pods),
      }));
      const given = byOwner(nodes, ({ name }) => {
        const owner = idlest();
        owners.set(name, owner);
        return owner;
      });
      await Promise.all([...given].map(([thread, share]) => thread.ask({ call: 'add', nodes: share })));
    },
    async act(action, names, keepsNodes) {
      const missing = names.filter((name) => !owners.has(name));
      const given = byOwner(
        names.filter((name) => owners.has(name)),
        (name) => owners.get(name) ?? idlest(),
      );
      const outcomes = await Promise.all(
        [...given].map(([thread, share]) => thread.ask({ call: 'act', action, names: share, keepsNodes })),
      );
      if (action === 'remove') {
        for (const name of names) {
          const owner = owners.get(name);
          owners.delete(name);
          if (owner !== undefined) counts.set(owner, (counts.get(owner) ?? 1) - 1);
        }
      }
      const problem = 'there is no such node in this process';
      return [...outcomes.flat(), ...missing.map((name) => ({ name, problem }))];
    },
    async report() {
      const reports = await Promise.all(threads.map((thread) => thread.ask({ call: 'report' })));
      return {
        nodes: reports.flatMap(({ nodes }) => nodes),
        watches: {
          opened: reports.reduce((sum, { watches }) => sum + watches.opened, 0),
          served: reports.reduce((sum, { watches }) => sum + watches.served, 0),
        },
      };
    },
    stop: async (deletesNodes) =>
      (await Promise.all(threads.map((thread) => thread.stop(deletesNodes)))).flat(),
  };
}

interface WaitingCall {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

class FleetThread implements ThreadFleet {
  readonly #worker: Worker;
  readonly #calls = new Map<number, WaitingCall>();
  #nextId = 0;
  #end: Error | undefined;

  private constructor(worker: Worker, onProblem: ThreadedFleetOptions['onProblem']) {
    this.#worker = worker;
    worker.on('message', (message: ThreadMessage) => {
      if (message.kind === 'problem') onProblem(message.nodeName, message.message);
      else if (message.kind === 'answer') this.#take(message.id)?.resolve(message.value);
      else if (message.kind === 'failure') this.#take(message.id)?.reject(new Error(message.message));
    });
    worker.once('error', (error) => this.#ended(error));
    worker.once('exit', () => this.#ended(new Error('a thread with hollow nodes has ended')));
  }

  static async open(
    entry: ThreadEntry,
    settings: HollowSettings,
    onProblem: ThreadedFleetOptions['onProblem'],
  ): Promise<FleetThread> {
    const workerData: ThreadData = { settings };
    const worker = new Worker(entry.file, { workerData, execArgv: [...entry.execArgv] });
    const thread = new FleetThread(worker, onProblem);
    // The first word of a thread is that it is open; one that cannot be ends with its error.
    await once(worker, 'message');
    return thread;
  }

  ask<Call extends ThreadCall['call']>(
    request: ThreadCall & { readonly call: Call },
  ): Promise<ThreadAnswers[Call]> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      // The thread runs the same program: it answers a call with the value that belongs to it.
      this.#calls.set(id, { resolve: (value) => resolve(value as ThreadAnswers[Call]), reject });
      this.#worker.postMessage({ ...request, id });
    });
  }

  async stop(deletesNodes: boolean): Promise<readonly HollowOutcome[]> {
    if (this.#end !== undefined) return [];
    const exited = once(this.#worker, 'exit');
    const outcomes = await this.ask({ call: 'stop', deletesNodes });
    await exited;
    return outcomes;
  }

  #take(id: number): WaitingCall | undefined {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    return call;
  }

  #ended(error: Error): void {
    this.#end ??= error;
    for (const { reject } of this.#calls.values()) reject(this.#end);
    this.#calls.clear();
  }
}

interface ThreadEntry {
  readonly file: string;
  readonly execArgv: readonly string[];
}

/** Beside this file in a bundle, above it when the bundler put this code into a chunk, and in dist/ when running from source. */
function threadEntry(): ThreadEntry {
  const built = ['./hollow-thread.js', '../hollow-thread.js', '../../../dist/hollow-thread.js'].map((name) =>
    fileURLToPath(new URL(name, import.meta.url)),
  );
  const file = built.find((name) => existsSync(name));
  if (file === undefined)
    throw new Error(
      'this build of nodelet has no program for threads: leave --threads out, or use the package',
    );
  return { file, execArgv: [] };
}

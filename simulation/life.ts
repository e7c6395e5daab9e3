/** Lives one plan: a node with its kubelets under all that the plan has, judged all the way, then in quiet, then stopped. */
import { settle, type VirtualClock } from '../src/async/index.js';
import type { Pod } from '../src/kube/index.js';
import type { SimContainer, SimObserver } from '../src/runtimes/sim/index.js';
import type { TimelineEntry } from '../src/timeline/index.js';
import { judgeEviction } from './invariants/eviction.js';
import { HolderBook, intruders, type Promised } from './invariants/holders.js';
import { claimOf, promisedTo } from './invariants/promises.js';
import { type QuietView, quietProblems } from './invariants/quiet.js';
import { RuntimeBook } from './invariants/runtime-book.js';
import { StatusBook } from './invariants/status-book.js';
import type { Violation } from './invariants/violation.js';
import { observers, VolumeBook } from './invariants/volume-book.js';
import { type EventKind, Journal } from './journal.js';
import type { Plan, Step } from './plan/step.js';
import type { ApiCallSeen } from './ports/api-port.js';
import { Director } from './ports/director.js';
import { filesOf, stateHash } from './state-hash.js';
import { Keeper } from './world/keeper.js';
import { rootDir } from './world/machine-files.js';
import { Outside } from './world/outside.js';
import { SimulatedNode } from './world/simulated-node.js';
import { Users } from './world/users.js';

export interface LifeOutcome {
  readonly violation: Violation | undefined;
  readonly events: number;
  readonly byKind: Readonly<Record<EventKind, number>>;
  /** Of all events in their order, and of all that was left. */
  readonly hash: string;
  readonly virtualMs: number;
  readonly processes: number;
}

export interface LifeOptions {
  /** Sees each entry of the timeline and each step, to show what led to a violation. */
  readonly trace?: (line: string) => void;
  /** A rule that is broken on purpose, to test what follows. */
  readonly planted?: (entry: TimelineEntry) => string | undefined;
}

/** More than any life has by right: what goes on has no end. */
const eventLimit = 3_000_000;
const quietLimitMs = 20 * 60_000;
const quietLookMs = 5_000;
/** Garbage collection runs once a minute. */
const afterQuietMs = 150_000;
/** For the last pod to run, and to be told so. */
const lastPodMs = 30_000;
/** A start that was under way when the deletion came. */
const lateStartMs = 2_000;

export async function live(plan: Plan, options: LifeOptions = {}): Promise<LifeOutcome> {
  return new Life(plan, options).run();
}

class Life {
  readonly #plan: Plan;
  readonly #trace: LifeOptions['trace'];
  readonly #planted: LifeOptions['planted'];
  readonly #journal = new Journal();
  readonly #director = new Director();
  readonly #strangers = new Set<string>();
  /** By pod: when the process that runs now heard that it is deleted. */
  #deleting = new Map<string, number>();
  #violation: Violation | undefined;

  constructor(plan: Plan, options: LifeOptions) {
    this.#plan = plan;
    this.#trace = options.trace;
    this.#planted = options.planted;
  }

  async run(): Promise<LifeOutcome> {
    const parts: { book?: RuntimeBook } = {};
    const isStranger = ({ config }: SimContainer): boolean =>
      this.#strangers.has(config.metadata?.name ?? '');
    const observerOf = (clock: VirtualClock): SimObserver => {
      parts.book = new RuntimeBook({
        nowMs: () => clock.monotonic(),
        report: this.#report,
        graceSeconds: (uid) => users.graceSeconds(uid),
        isOver: (uid) => statusBook.isOver(uid),
        isStranger,
      });
      return observers([parts.book, holders, volumes]);
    };
    const promised = (container: SimContainer): Promised | undefined =>
      isStranger(container) ? undefined : promisedTo(container, this.#plan.node, users);
    const holders = new HolderBook({ report: this.#report, promised });
    const volumes = new VolumeBook({
      report: this.#report,
      storage: () => node.storage,
      claimOf: (container) => (isStranger(container) ? undefined : claimOf(container, users)),
    });
    const node = await SimulatedNode.create({
      seed: this.#plan.seed,
      draft: this.#plan.node,
      observerOf,
      counts: (container) => !isStranger(container),
    });
    this.#node = node;
    const { book } = parts;
    if (book === undefined) throw new Error('the runtime has no observer');
    const statusBook = new StatusBook({ report: this.#report, container: (id) => book.containers.get(id) });
    const users = new Users(node);
    const keeper = new Keeper({
      node,
      users,
      draft: this.#plan.node,
      seed: this.#plan.seed,
      journal: this.#journal,
      director: this.#director,
      apiWitness: {
        before: (call) => this.#beforeApi(call, book),
        after: (call, answer) => this.#afterApi(call, answer, statusBook),
        told: (plural, object) => this.#told(plural, object),
      },
      criWitness: (method, request, reaches, askedMs) => {
        // Both requests name a container.
        const { containerId = '' } = request as { readonly containerId?: string };
        if (method === 'startContainer' && reaches) this.#judgeStart(containerId, askedMs, book);
        if (method === 'stopContainer' && !reaches) book.couldNotStop(containerId);
      },
      csiWitness: () => volumes.served(),
      onEntry: (entry) => {
        this.#entry(entry);
        if (entry.what === 'pod.orphan' && entry.pod !== undefined) users.orphaned(entry.pod.uid);
        if (entry.what === 'pod.evicted') judgeEviction(entry, { node, users, report: this.#report });
      },
      onProcess: () => {
        this.#deleting = new Map();
      },
      report: this.#report,
    });
    const outside = new Outside({
      node,
      users,
      director: this.#director,
      control: keeper,
      asOutside: (act) => {
        book.isOutside = true;
        act();
        book.isOutside = false;
      },
      onInvent: (name) => this.#strangers.add(name),
    });
    const onRejection = (error: unknown): void =>
      this.#report(
        'nothing fails unheard',
        error instanceof Error ? (error.stack ?? error.message) : String(error),
      );
    process.on('unhandledRejection', onRejection);
    try {
      keeper.start();
      for (const step of this.#plan.steps) {
        await this.#advanceTo(step.atMs);
        if (this.#isOver) break;
        this.#journal.event('step', step.act, step.atMs);
        this.#trace?.(`+${step.atMs} ${JSON.stringify(step)}`);
        await outside.act(step);
      }
      await this.#advanceTo(this.#plan.calmAtMs);
      if (!this.#isOver) {
        this.#trace?.(`+${node.clock.monotonic()} calm`);
        await outside.becomeCalm();
        const intruding = (): string[] =>
          this.#plan.node.cpuManager ? intruders(node.runtime.runningContainers, holders, promised) : [];
        await this.#comeToRest({
          users,
          book,
          node,
          statusBook,
          intruders: intruding,
          upMs: () => keeper.upMs,
        });
      }
      if (!this.#isOver) await keeper.end();
      if (!this.#isOver) this.#judgeEnd(node);
      this.#journal.text(await stateHash(node));
      return {
        violation: this.#violation,
        events: this.#journal.events,
        byKind: this.#journal.byKind,
        hash: this.#journal.hash,
        virtualMs: node.clock.monotonic(),
        processes: keeper.processes,
      };
    } finally {
      process.off('unhandledRejection', onRejection);
      await node.runtime.close();
    }
  }

  #node: SimulatedNode | undefined;

  get #nowMs(): number {
    return this.#node?.clock.monotonic() ?? 0;
  }

  get #isOver(): boolean {
    return this.#violation !== undefined;
  }

  readonly #report = (rule: string, message: string): void => {
    this.#violation ??= { rule, message, atMs: this.#nowMs, event: this.#journal.events };
  };

  async #advanceTo(atMs: number): Promise<void> {
    if (this.#isOver) return;
    await this.#node?.clock.advance(Math.max(0, atMs - this.#nowMs), () => {
      if (this.#journal.events > eventLimit)
        this.#report('all comes to rest', `there were ${eventLimit} events`);
      return this.#isOver;
    });
  }

  async #comeToRest(view: Omit<QuietView, 'files'>): Promise<void> {
    const startMs = this.#nowMs;
    let problems: readonly string[] = [];
    for (;;) {
      await this.#advanceTo(this.#nowMs + quietLookMs);
      if (this.#isOver) return;
      problems = await quietProblems({ ...view, files: [] });
      if (problems.length === 0) break;
      if (this.#nowMs - startMs > quietLimitMs) {
        this.#report('what is wanted runs, and what is gone is cleaned up', problems.join('; '));
        return;
      }
    }
    const before = view.node.runtime.runningContainers.map(({ id }) => id);
    await this.#advanceTo(this.#nowMs + afterQuietMs);
    await view.users.createLast();
    await this.#advanceTo(this.#nowMs + lastPodMs);
    if (this.#isOver) return;
    const files = await filesOf(view.node.files);
    problems = await quietProblems({ ...view, files, rested: before });
    if (problems.length > 0)
      this.#report('what is wanted runs on, and nothing else is left', problems.join('; '));
  }

  #judgeEnd(node: SimulatedNode): void {
    const left = [
      node.api.openWatches > 0 ? `${node.api.openWatches} watches` : '',
      node.runtime.eventReaders > 0 ? `${node.runtime.eventReaders} event streams` : '',
      node.files.heldPaths > 0 ? `${node.files.heldPaths} held paths` : '',
    ].filter((text) => text !== '');
    if (left.length > 0) this.#report('a kubelet that stops leaves nothing', `${left.join(', ')} are left`);
  }

  #entry(entry: TimelineEntry): void {
    const { what, pod, message, because, error } = entry;
    this.#journal.text(what);
    this.#trace?.(
      `  +${this.#nowMs} ${[pod?.name, what, message, because, error].filter(Boolean).join(' | ')}`,
    );
    if (what === 'worker.crash' || what === 'kubelet.task')
      this.#report('nothing breaks inside', `${what}: ${message}: ${error}`);
    const planted = this.#planted?.(entry);
    if (planted !== undefined) this.#report('planted', planted);
  }

  #told(plural: string, object: object): void {
    if (plural !== 'pods') return;
    // Objects of pods are pods.
    const { uid, deletionTimestamp } = (object as Pod).metadata;
    if (deletionTimestamp !== undefined && !this.#deleting.has(uid)) this.#deleting.set(uid, this.#nowMs);
  }

  #judgeStart(id: string, askedMs: number, book: RuntimeBook): void {
    const known = book.containers.get(id);
    const heardMs = known === undefined ? undefined : this.#deleting.get(known.podUid);
    if (known === undefined || heardMs === undefined || askedMs - heardMs <= lateStartMs) return;
    this.#report(
      'what is stopped stays stopped',
      `container ${known.podUid}/${known.name} was to be started ${askedMs - heardMs} ms after the kubelet heard that its pod is deleted`,
    );
  }

  #beforeApi({ verb, plural, given }: ApiCallSeen, book: RuntimeBook): void {
    if (verb !== 'delete' || plural !== 'pods') return;
    // The options of a delete.
    const options = given[2] as { readonly preconditions?: { readonly uid?: string } } | undefined;
    const uid = options?.preconditions?.uid ?? '';
    const running = book.runningOf(uid).filter(({ isStranger }) => !isStranger);
    if (running.length > 0)
      this.#report(
        'a pod is deleted when it has ended',
        `${uid} is deleted while ${running.map(({ name }) => name)} run`,
      );
  }

  #afterApi({ verb, plural, subresource }: ApiCallSeen, answer: unknown, statusBook: StatusBook): void {
    if (plural !== 'pods') return;
    // What the API answers about pods are pods.
    if (verb === 'patch' && subresource === 'status') statusBook.written(answer as Pod);
  }
}

export type { Step };
export { rootDir, settle };

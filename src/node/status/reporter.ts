/** Keeps the cluster's node object up to date: registers it, then reports changes and heartbeats. */
import { type Clock, errorText, isCancelled, jitter, sleep, throwIfCancelled } from '../../async/index.js';
import type { Node, NodeAddress } from '../../kube/index.js';
import { type KubeApi, resources } from '../../kube-client/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { RegisteredNode } from '../registration/register.js';
import { conditionOf, type ReadinessFacts, readinessErrors } from './conditions.js';
import { freshMemory, type StatusFacts, type StatusOutcome, type StatusSettings } from './facts.js';
import type { PodCidr } from './pod-cidr.js';
import {
  changedParts,
  decideReport,
  droppedInfo,
  nodeStatusPatch,
  withForcedLabels,
  withoutInfo,
} from './report.js';
import { applySetters } from './setters.js';

export interface NodeStatusReporterOptions {
  /** The client without a rate limit. */
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly random: () => number;
  readonly nodeName: string;
  readonly settings: StatusSettings;
  readonly updateFrequencyMs: number;
  readonly reportFrequencyMs: number;
  /** The node as last received from the API; undefined if there is none. */
  readonly cachedNode: () => Node | undefined;
  readonly observe: () => Promise<StatusFacts>;
  readonly checkRuntime: () => Promise<void>;
  /** What of the readiness is known without observing all; default: nothing. */
  readonly readiness?: () => ReadinessFacts;
  readonly podCidr: Pick<PodCidr, 'follow'>;
  /** Registers the node, given how to fill in its status; omitted for a node that others register. */
  readonly register?: (fill: (node: Node) => Promise<Node>, signal: AbortSignal) => Promise<RegisteredNode>;
  /** Receives the volumes that the API reports as in use. */
  readonly onVolumesReported?: (names: readonly string[]) => void;
  readonly onAddresses?: (addresses: readonly NodeAddress[]) => void;
  readonly onRegistered?: (registered: RegisteredNode) => void;
  /** Called once, when the API first has this node as Ready. */
  readonly onFirstReady?: () => void;
  /** Called on repeated failure: the server may be dead behind a live connection. */
  readonly onRepeatedFailure?: () => void;
}

const attempts = 5;
const fastPeriodMs = 100;
/** Of the time that the node has waited: who waits long is told a little later. */
const fastShare = 0.02;
const fastLimitMs = 120_000;
const periodJitter = 0.04;

interface NodeStatusUpdate extends StatusOutcome<Node> {
  readonly before: Node;
  /** The changes that made it worth reporting; empty for a mere heartbeat. */
  readonly because: readonly string[];
}

export class NodeStatusReporter {
  readonly #options: NodeStatusReporterOptions;
  #memory = freshMemory;
  #own: Node | undefined;
  #isRegistered: boolean;
  #lastReportMs: number | undefined;
  #delayMs = 0;
  #turn: Promise<void> = Promise.resolve();
  #lastProblems = '';
  #wasReady = false;
  /** What an older server does not store is no change. */
  #dropped: ReadonlySet<string> = new Set();

  constructor(options: NodeStatusReporterOptions) {
    this.#options = options;
    this.#isRegistered = options.register === undefined;
  }

  /** The newest known node. */
  get node(): Node | undefined {
    return this.#options.cachedNode() ?? this.#own;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, updateFrequencyMs, checkRuntime } = this.#options;
    await checkRuntime();
    for (;;) {
      await this.sync(signal);
      await sleep(clock, jitter(updateFrequencyMs, random, periodJitter), signal);
    }
  }

  /** Reports the node as ready as soon as it is, without waiting for the period, then ends. */
  async runFast(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const startMs = clock.monotonic();
    for (let waitedMs = 0; waitedMs < fastLimitMs; waitedMs = clock.monotonic() - startMs) {
      if (await this.#exclusively(() => this.#tryFast(signal))) return;
      await sleep(clock, Math.max(fastPeriodMs, fastShare * waitedMs), signal);
    }
  }

  /** One round: registers if needed, then reports if necessary. */
  sync(signal: AbortSignal): Promise<void> {
    return this.#exclusively(() => this.#sync(signal));
  }

  async #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#turn;
    let done: () => void = () => {};
    this.#turn = new Promise((resolve) => {
      done = resolve;
    });
    await before;
    try {
      return await work();
    } finally {
      done();
    }
  }

  async #sync(signal: AbortSignal): Promise<void> {
    throwIfCancelled(signal);
    await this.#register(signal);
    for (let attempt = 0; attempt < attempts; attempt++) {
      try {
        await this.#attempt(attempt, signal);
        return;
      } catch (error) {
        if (isCancelled(error)) throw error;
        if (attempt > 0) this.#options.onRepeatedFailure?.();
        this.#problem(`cannot update the node's status: ${errorText(error)}`);
      }
    }
    this.#problem('update node status exceeds retry count');
  }

  async #register(signal: AbortSignal): Promise<void> {
    const { register, observe, settings, onRegistered } = this.#options;
    if (this.#isRegistered || register === undefined) return;
    let built: StatusOutcome<Node> | undefined;
    const registered = await register(async (node) => {
      built = applySetters(node, settings, await observe(), this.#memory);
      this.#reportProblems(built);
      return built.node;
    }, signal);
    this.#isRegistered = true;
    if (built !== undefined) this.#tell(built);
    this.#take(registered.node);
    onRegistered?.(registered);
  }

  async #attempt(attempt: number, signal: AbortSignal): Promise<void> {
    const { api, clock, nodeName, random, reportFrequencyMs, podCidr } = this.#options;
    const before =
      (attempt === 0 ? this.node : undefined) ??
      (await api.get(resources.nodes, { name: nodeName }, { signal }));
    const isCidrNew = await podCidr.follow(before);
    const update = await this.#update(before, isCidrNew);
    const decision = decideReport({
      changed: update.because.length > 0,
      nowMs: clock.monotonic(),
      lastReportMs: this.#lastReportMs,
      reportFrequencyMs,
      delayMs: this.#delayMs,
      random,
    });
    if (decision.kind === 'skip') {
      this.#tell(update);
      this.#options.onVolumesReported?.(before.status?.volumesInUse ?? []);
      return;
    }
    this.#delayMs = decision.delayMs;
    await this.#report(update, signal);
  }

  async #update(before: Node, isCidrNew: boolean): Promise<NodeStatusUpdate> {
    const { settings, observe } = this.#options;
    const facts = await observe();
    const labelled = withForcedLabels(before, facts.platform.architecture);
    const outcome = applySetters(labelled, settings, facts, this.#memory);
    this.#reportProblems(outcome);
    const because = [
      ...(isCidrNew ? ['the pod range'] : []),
      ...(labelled === before ? [] : ['labels']),
      ...changedParts(before.status, withoutInfo(outcome.node.status, this.#dropped)),
    ];
    return { ...outcome, before, because };
  }

  async #report(update: NodeStatusUpdate, signal: AbortSignal): Promise<void> {
    const { api, clock, timeline, nodeName } = this.#options;
    const patch = { type: 'strategic', body: nodeStatusPatch(update.before, update.node) } as const;
    const reported = await api.patch(resources.nodes, { name: nodeName }, patch, {
      subresource: 'status',
      signal,
    });
    this.#lastReportMs = clock.monotonic();
    this.#dropped = droppedInfo(update.node.status, reported.status);
    timeline.record({
      kind: 'effect',
      what: 'node.status',
      message: `the status of the node ${nodeName} was reported`,
      because:
        update.because.length === 0 ? 'the last report is old' : `${update.because.join(', ')} changed`,
      level: 'debug',
    });
    this.#tell(update);
    this.#take(reported);
    this.#options.onVolumesReported?.(reported.status?.volumesInUse ?? []);
  }

  /** Returns whether the fast path is finished. */
  async #tryFast(signal: AbortSignal): Promise<boolean> {
    if (!this.#isRegistered) return false;
    // The cached node may lag behind the last report.
    if (this.#wasReady) return true;
    const before = this.node;
    const known = conditionOf(before?.status?.conditions, 'Ready');
    if (before === undefined || known === undefined) return false;
    if (known.status === 'True') return true;
    try {
      await this.#options.checkRuntime();
      const { readiness } = this.#options;
      if (readiness !== undefined && readinessErrors(readiness(), []).length > 0) return false;
      const update = await this.#update(before, false);
      if (update.because.length === 0) return false;
      if (conditionOf(update.node.status?.conditions, 'Ready')?.status === 'False') return false;
      await this.#report(update, signal);
    } catch (error) {
      if (isCancelled(error)) throw error;
      this.#problem(`cannot report the node as ready at once: ${errorText(error)}`);
      await this.#sync(signal);
    }
    return true;
  }

  #take(node: Node): void {
    this.#own = node;
    const { onAddresses, onFirstReady } = this.#options;
    onAddresses?.(node.status?.addresses ?? []);
    if (this.#wasReady || conditionOf(node.status?.conditions, 'Ready')?.status !== 'True') return;
    this.#wasReady = true;
    onFirstReady?.();
  }

  #tell({ events, memory }: StatusOutcome<Node>): void {
    const { timeline, nodeName } = this.#options;
    this.#memory = memory;
    for (const { type, reason, message } of events) timeline.nodeEvent(nodeName, type, reason, message);
  }

  /** Problems recur every round, so they are reported only when they change. */
  #reportProblems({ problems }: StatusOutcome<Node>): void {
    const text = problems.join('; ');
    if (text === this.#lastProblems) return;
    this.#lastProblems = text;
    if (text !== '') this.#problem(`part of the node's status is unknown: ${text}`);
  }

  #problem(message: string): void {
    this.#options.timeline.record({ kind: 'problem', what: 'node.status', message });
  }
}

/** Gets the certificates of projected volumes issued, and renews them in time; nothing runs before a pod needs one. */
import {
  Backoff,
  type Clock,
  errorText,
  isCancelled,
  TaskGroup,
  TimedOut,
  throwIfCancelled,
  untilAborted,
  WakeableSleep,
  WorkQueue,
  withTimeout,
} from '../../async/index.js';
import {
  type Informer,
  type InformerUpdate,
  type KubeApi,
  type PodCertificateRequest,
  resources,
} from '../../kube-client/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { PodCertificateSource, PodCertificates, PodCredential } from './contract.js';
import { makePodKey } from './keys.js';
import { podCertificateRequest, serviceAccountOf } from './request.js';
import { requestInformer } from './request-informer.js';
import {
  afterSending,
  issuedOf,
  largestJitterMs,
  nextStep,
  type PodCertificateState,
  refusalOf,
  stateLabel,
} from './states.js';
import { recordCertificate, tellChange, tellLateness } from './telling.js';
import { type TrackedCertificate, TrackedCertificates } from './tracked.js';

export interface PodCertificateManagerOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly random?: (() => number) | undefined;
  readonly nodeName: string;
  readonly api: KubeApi;
  /** Undefined while the API has not shown the node. */
  readonly nodeUid: () => string | undefined;
  readonly isPodKnown: (uid: string) => boolean;
  /** Called when a certificate was issued, denied or failed: volumes that failed without it can be tried again. */
  readonly onSettled?: () => void;
}

/** So long a volume waits for its first certificate before its mount fails and is tried again later. */
const firstIssueMs = 5_000;
/** Every certificate is looked at once in one to two of these: the wall clock may be set, and pods go. */
const passMs = 60_000;
/** Requests share the rate limit of the API client. */
const parallelSteps = 4;

export class PodCertificateManager implements PodCertificates {
  readonly #options: PodCertificateManagerOptions;
  readonly #random: () => number;
  readonly #tracked = new TrackedCertificates();
  readonly #queue: WorkQueue<TrackedCertificate>;
  readonly #rest = new WakeableSleep();
  readonly #backoff = new Backoff({ initialMs: 1_000, maxMs: 120_000, resetAfterMs: 600_000 });
  readonly #informer: Informer<PodCertificateRequest>;
  /** Resolves when the first pod needs a certificate. */
  readonly #asked: Promise<void>;
  #ask: () => void = () => {};

  constructor(options: PodCertificateManagerOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#queue = new WorkQueue(options.clock, () => this.#rest.wake());
    this.#asked = new Promise((resolve) => {
      this.#ask = resolve;
    });
    this.#informer = requestInformer(options, (update) => this.#updated(update));
  }

  async credential(source: PodCertificateSource, signal: AbortSignal): Promise<PodCredential> {
    const { tracked, isNew } = this.#tracked.track(source);
    if (isNew) {
      this.#ask();
      this.#look(tracked);
    }
    const isOpen = (): boolean => tracked.state.kind === 'initial' || tracked.state.kind === 'wait';
    if (isOpen()) await this.#firstIssue(tracked, signal);
    const issued = issuedOf(tracked.state);
    if (issued !== undefined) return { keyPem: issued.keyPem, chainPem: issued.chainPem };
    if (!this.#informer.hasSynced) throw new Error(`no credentials yet for key=${keyText(source)}`);
    const why = tracked.problem === undefined || !isOpen() ? '' : `: ${tracked.problem}`;
    throw new Error(`${refusalOf(tracked.state)}${why}`);
  }

  forget(podUid: string, volumeName?: string): void {
    for (const tracked of this.#tracked.drop(podUid, volumeName)) {
      this.#queue.forget(tracked);
      this.#backoff.reset(backoffKey(tracked));
      wake(tracked);
    }
  }

  /** The state of each source, as the metric counts them. */
  states(): readonly { readonly signerName: string; readonly state: string }[] {
    const nowMs = this.#options.clock.now();
    return this.#tracked.all().map(({ source, state }) => ({
      signerName: source.projection.signerName,
      state: stateLabel(state, nowMs),
    }));
  }

  async run(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#asked, signal);
    const tasks = new TaskGroup({
      signal,
      onError: (task, error) => {
        const message = `a defect in ${task}: ${errorText(error)}`;
        this.#options.timeline.record({ kind: 'problem', what: 'volume.task', message });
      },
    });
    tasks.start('the watch of pod certificate requests', (inner) => this.#informer.run(inner));
    tasks.start('the requests of pod certificates', (inner) => this.#work(inner));
    await tasks.drained();
    await tasks.stop();
  }

  /** Resolves when the certificate is issued or refused, and after a while in any case. */
  async #firstIssue(tracked: TrackedCertificate, signal: AbortSignal): Promise<void> {
    let settled = (): void => {};
    const issued = new Promise<void>((resolve) => {
      settled = resolve;
    });
    tracked.waiting.add(settled);
    try {
      await withTimeout(this.#options.clock, firstIssueMs, signal, (inner) => untilAborted(issued, inner));
    } catch (error) {
      if (!(error instanceof TimedOut)) throw error;
    } finally {
      tracked.waiting.delete(settled);
    }
  }

  #updated(update: InformerUpdate<PodCertificateRequest>): void {
    const affected =
      update.kind === 'listed' ? this.#tracked.all() : this.#tracked.ofPod(update.change.object.spec.podUID);
    for (const tracked of affected) if ('sent' in tracked.state) this.#look(tracked);
  }

  #look(tracked: TrackedCertificate): void {
    this.#queue.enqueue(tracked, 0);
    this.#rest.wake();
  }

  async #work(signal: AbortSignal): Promise<void> {
    try {
      await this.#informer.synced(signal);
      for (;;) {
        const due = this.#queue.take();
        if (due.length === 0) await this.#rest.sleep(this.#options.clock, passMs, signal);
        for (let at = 0; at < due.length; at += parallelSteps) {
          throwIfCancelled(signal);
          await Promise.all(due.slice(at, at + parallelSteps).map((tracked) => this.#step(tracked, signal)));
        }
      }
    } finally {
      this.#queue.stop();
    }
  }

  async #step(tracked: TrackedCertificate, signal: AbortSignal): Promise<void> {
    const { clock, isPodKnown } = this.#options;
    if (!this.#tracked.has(tracked)) return;
    const { metadata } = tracked.source.pod;
    if (!isPodKnown(metadata.uid)) {
      this.forget(metadata.uid);
      return;
    }
    tellLateness(this.#options.timeline, tracked, clock.now());
    const { state } = tracked;
    const nowMs = clock.now();
    const seen =
      'sent' in state
        ? this.#informer.get({ namespace: metadata.namespace, name: state.sent.name })
        : undefined;
    const step = nextStep(state, { nowMs, seen, jitterMs: this.#jitterMs() });
    switch (step.do) {
      case 'rest':
        this.#lookLater(tracked, step.untilMs - nowMs);
        return;
      case 'become':
        this.#become(tracked, step.state);
        this.#look(tracked);
        return;
      case 'request':
        await this.#request(tracked, step.because, signal);
    }
  }

  #lookLater(tracked: TrackedCertificate, waitMs: number): void {
    this.#queue.enqueue(tracked, Math.max(0, Math.min(waitMs, passMs * (1 + this.#random()))));
  }

  async #request(tracked: TrackedCertificate, because: string, signal: AbortSignal): Promise<void> {
    const { clock, timeline } = this.#options;
    const key = backoffKey(tracked);
    try {
      const state = await this.#send(tracked, signal);
      if (!this.#tracked.has(tracked)) return;
      tracked.state = state;
      tracked.problem = undefined;
      this.#backoff.reset(key);
      recordCertificate(timeline, tracked, 'decision', 'a certificate was requested', because);
      this.#look(tracked);
    } catch (error) {
      if (isCancelled(error)) throw error;
      if (!this.#tracked.has(tracked)) return;
      // The same problem is told once.
      const problem = errorText(error);
      if (tracked.problem !== problem)
        recordCertificate(timeline, tracked, 'problem', `no certificate can be requested: ${problem}`);
      tracked.problem = problem;
      this.#backoff.advance(key, clock.monotonic(), clock.monotonic());
      this.#queue.enqueue(tracked, this.#backoff.delayMs(key));
    }
  }

  async #send({ source, state }: TrackedCertificate, signal: AbortSignal): Promise<PodCertificateState> {
    const { api, clock, nodeName, nodeUid: uidOfNode } = this.#options;
    const { namespace } = source.pod.metadata;
    const nodeUid = uidOfNode();
    if (nodeUid === undefined) throw new Error('the API has not shown this node yet');
    const ref = { namespace, name: serviceAccountOf(source) };
    const { metadata } = await api.get(resources.serviceAccounts, ref, { signal });
    const { keyPem, stubRequest } = await makePodKey(source.projection.keyType, signal);
    const created = await api.create(
      resources.podCertificateRequests,
      podCertificateRequest(source, {
        serviceAccountUid: metadata.uid ?? '',
        nodeName,
        nodeUid,
        stubRequest,
      }),
      { namespace, signal },
    );
    const { name = '', uid } = created.metadata;
    return afterSending(state, { name, uid, keyPem }, { nowMs: clock.now(), jitterMs: this.#jitterMs() });
  }

  #become(tracked: TrackedCertificate, state: PodCertificateState): void {
    const { timeline, onSettled } = this.#options;
    const { state: before } = tracked;
    tracked.state = state;
    if (issuedOf(before) !== issuedOf(state)) tracked.told.clear();
    tellChange(timeline, tracked, before);
    // A request that was deleted settles nothing.
    if (state.kind === 'initial' || (state.kind === 'fresh' && issuedOf(before) === state.issued)) return;
    wake(tracked);
    onSettled?.();
  }

  #jitterMs(): number {
    return Math.floor(this.#random() * largestJitterMs);
  }
}

function wake({ waiting }: TrackedCertificate): void {
  for (const settled of waiting) settled();
}

function backoffKey({ source: { pod, volumeName, sourceIndex } }: TrackedCertificate): string {
  return `${pod.metadata.uid}/${volumeName}/${sourceIndex}`;
}

function keyText({ pod: { metadata }, volumeName, sourceIndex }: PodCertificateSource): string {
  return `{${metadata.namespace} ${metadata.name} ${metadata.uid} ${volumeName} ${sourceIndex}}`;
}

/** Writes the node's pod statuses to the API and completes the deletion of ended pods. */

import { isCancelled, jitter, sleep, TaskGroup, type Timer } from '../../async/index.js';
import { type Pod, sharingWith } from '../../kube/index.js';
import { isApiError } from '../../kube-client/index.js';
import type { PodRef, Timeline } from '../../timeline/index.js';
import { forwardingTracer, podAttributes, type Tracer, traced } from '../../tracing/index.js';
import { type ApiPodMetrics, createApiPodMetrics } from '../metrics.js';
import { canBeDeletedFromApi } from './api-merge.js';
import {
  apiPodOf,
  isUrgent,
  needOfChange,
  needOfFullPass,
  type SyncInput,
  type WrittenStatus,
  wentBack,
  writeRank,
} from './api-sync-decisions.js';
import { StatusQueue } from './api-sync-queue.js';
import { type CopyAtHand, deleteEnded, type WriteContext, writeStatus } from './api-sync-write.js';
import type { StatusManager, VersionedStatus } from './manager.js';

export interface ApiStatusSyncOptions extends WriteContext {
  readonly timeline: Timeline;
  /** Default: writes are no spans. */
  readonly tracer?: Tracer;
  readonly statuses: Pick<StatusManager, 'entry' | 'entries' | 'onChange' | 'remove' | 'share'>;
  readonly pods: WriteContext['pods'] & { mirrorOf(pod: Pod): Pod | undefined };
  /** Called for each confirmed write, with the API's object. */
  readonly onSynced?: (apiPod: Pod) => void;
  /** Default: metrics that nobody reads. */
  readonly metrics?: Pick<ApiPodMetrics, 'statusSyncDuration'>;
  /** Called when the API shows an older state than before, as after a restore from a backup. */
  readonly onWentBack?: () => void;
  /** Statuses written in parallel. Default 8. */
  readonly writesAtOnce?: number;
  readonly random?: () => number;
}

const fullPassPeriodMs = 10_000;
const shortestPauseMs = 200;
const longestPauseMs = 10_000;
/** A rejected status is not sent again at every change of some other pod. */
const refusedPauseMs = 1_000;

export class ApiStatusSync {
  readonly #options: ApiStatusSyncOptions;
  readonly #syncDuration: ApiPodMetrics['statusSyncDuration'];
  readonly #tracer: Tracer;
  readonly #writesAtOnce: number;
  readonly #written = new Map<string, WrittenStatus>();
  readonly #waiting: StatusQueue;
  readonly #active = new Set<string>();
  readonly #refusedAtMs = new Map<string, number>();
  readonly #tasks: TaskGroup;
  /** Consecutive failures without a usable response. */
  #failures = 0;
  #isPaused = false;
  #isRunning = false;
  #wake: Timer | undefined;

  constructor(options: ApiStatusSyncOptions) {
    this.#options = options;
    this.#syncDuration = (options.metrics ?? createApiPodMetrics()).statusSyncDuration;
    this.#tracer = options.tracer ?? forwardingTracer();
    this.#writesAtOnce = options.writesAtOnce ?? 8;
    this.#waiting = new StatusQueue(options.clock);
    this.#tasks = new TaskGroup({
      onError: (task, error) =>
        options.timeline.record({ kind: 'problem', what: 'status.sync', message: `${task} failed`, error }),
    });
  }

  /** Whether every writable status is in the API, as far as is known. */
  get isIdle(): boolean {
    return this.#waiting.size === 0 && this.#active.size === 0;
  }

  /**
   * Call when the pod's API object became known, such as a new mirror; a missing status is written at once.
   */
  refresh(uid: string): void {
    this.#want(uid, { isUrgent: true });
    this.#pump();
  }

  /** Rejects with `Cancelled` at the end, after all running writes. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, statuses } = this.#options;
    const stopListening = statuses.onChange((entry) => this.#changed(entry));
    this.#isRunning = true;
    try {
      for (;;) {
        this.#fullPass();
        await sleep(clock, fullPassPeriodMs, signal);
      }
    } finally {
      this.#isRunning = false;
      this.#wake?.cancel();
      stopListening();
      await this.#tasks.stop();
    }
  }

  #changed(entry: VersionedStatus): void {
    // The entry was dropped in between: its versions start again.
    if (entry.version === 1) this.#written.delete(entry.uid);
    this.#want(entry.uid);
    const nowMs = this.#options.clock.monotonic();
    for (const [uid, refusedMs] of this.#refusedAtMs) {
      if (nowMs - refusedMs >= refusedPauseMs) this.#want(uid, { isReadFirst: true });
    }
    this.#pump();
  }

  #fullPass(): void {
    const { statuses } = this.#options;
    for (const known of [this.#written, this.#refusedAtMs]) {
      for (const uid of known.keys()) if (statuses.entry(uid) === undefined) known.delete(uid);
    }
    for (const entry of statuses.entries()) {
      // It will be written anyway; reading it first would add to the load it waits for.
      if (this.#waiting.has(entry.uid) || this.#active.has(entry.uid)) continue;
      const input = this.#inputOf(entry);
      this.#shareWritten(input);
      const need = needOfFullPass(input);
      if (need.kind === 'write') this.#want(entry.uid, { isReadFirst: need.isReadFirst });
    }
    this.#pump();
  }

  /** By now the watch has mostly delivered what the API returned for our write: one copy of what is equal is enough. */
  #shareWritten({ entry, pod, mirror, written }: SyncInput): void {
    const known = apiPodOf(pod, mirror)?.status;
    if (known === undefined || written === undefined || known === written.status) return;
    const status = sharingWith(known, written.status);
    if (status === written.status) return;
    this.#written.set(entry.uid, { ...written, status });
    this.#options.statuses.share(entry.uid, known);
  }

  #want(uid: string, how: { readonly isReadFirst?: boolean; readonly isUrgent?: boolean } = {}): void {
    this.#refusedAtMs.delete(uid);
    const entry = this.#options.statuses.entry(uid);
    const input = entry === undefined ? undefined : this.#inputOf(entry);
    if (input === undefined) return;
    const apiUid = apiPodOf(input.pod, input.mirror)?.metadata.uid ?? uid;
    this.#waiting.add(uid, {
      isReadFirst: how.isReadFirst === true,
      isUrgent: how.isUrgent === true || isUrgent(input, this.#options.couldHaveRunningContainers(apiUid)),
      isEnding: input.pod?.metadata.deletionTimestamp !== undefined,
    });
  }

  #inputOf(entry: VersionedStatus): SyncInput {
    const { pods } = this.#options;
    const pod = pods.byUid(entry.uid);
    const mirror = pod === undefined ? undefined : pods.mirrorOf(pod);
    return { entry, pod, mirror, written: this.#written.get(entry.uid) };
  }

  /** Starts as many writes as allowed; changes that come meanwhile become one write. */
  #pump(): void {
    if (!this.#isRunning || this.#isPaused) return;
    // While the server's state is unknown, one write probes it for all.
    const limit = this.#failures > 0 ? 1 : this.#writesAtOnce;
    while (this.#active.size < limit) {
      const turn = this.#waiting.take(
        (uid) => this.#active.has(uid),
        (uid, isReadFirst) => this.#rankOf(uid, isReadFirst),
      );
      if (turn.kind === 'wait') {
        this.#wakeAt(turn.untilMs);
        return;
      }
      const entry = this.#options.statuses.entry(turn.uid);
      if (entry === undefined) continue;
      this.#active.add(turn.uid);
      this.#tasks.start(`writing the status of ${entry.namespace}/${entry.name}`, (signal) =>
        this.#sync(entry, turn.isReadFirst, signal),
      );
    }
  }

  #rankOf(uid: string, isReadFirst: boolean): number | undefined {
    const entry = this.#options.statuses.entry(uid);
    if (entry === undefined) return undefined;
    const input = this.#inputOf(entry);
    const isNeeded = isReadFirst || needOfChange(input).kind === 'write';
    return isNeeded ? writeRank(entry, input.written) : undefined;
  }

  #wakeAt(whenMs: number): void {
    this.#wake?.cancel();
    this.#wake = undefined;
    if (!Number.isFinite(whenMs)) return;
    const { clock } = this.#options;
    this.#wake = clock.setTimer(Math.max(0, Math.ceil(whenMs - clock.monotonic())), () => {
      this.#wake = undefined;
      this.#pump();
    });
  }

  async #sync(entry: VersionedStatus, isReadFirst: boolean, signal: AbortSignal): Promise<void> {
    try {
      const { uid, name, namespace } = entry;
      const pod = { uid, name, namespace };
      const span = { name: 'writeStatus', pod, isReport: true, attributes: podAttributes(pod) };
      await traced(this.#tracer, span, () => this.#write(entry, isReadFirst, signal));
      this.#works();
    } catch (error) {
      if (isCancelled(error)) throw error;
      this.#failed(entry, error);
    } finally {
      this.#active.delete(entry.uid);
      this.#pump();
    }
  }

  async #write(entry: VersionedStatus, isReadFirst: boolean, signal: AbortSignal): Promise<void> {
    const atHand = isReadFirst ? undefined : this.#copyAtHand(entry);
    const outcome = await writeStatus(this.#options, entry, atHand, signal);
    switch (outcome.kind) {
      case 'written':
        return this.#arrived(entry, outcome.apiPod, outcome.isHeldBack, signal);
      case 'unchanged': {
        const written = this.#written.get(entry.uid);
        if (written !== undefined) this.#written.set(entry.uid, { ...written, version: entry.version });
        return;
      }
      case 'gone':
        // Its entry goes with the pod, when the sources or housekeeping remove it.
        this.#record(entry, 'status.gone', 'the status was not written', 'the API has no such pod');
        return;
      case 'replaced': {
        this.#written.delete(entry.uid);
        this.#options.statuses.remove(entry.uid);
        const because = `the API has another pod under its name (${outcome.apiUid})`;
        this.#record(entry, 'status.drop', 'the status of the pod was dropped', because);
        return;
      }
      case 'unseen-mirror':
        // The static pod is unchanged, and is written when the mirror is seen.
        return;
    }
  }

  async #arrived(
    entry: VersionedStatus,
    apiPod: Pod,
    isHeldBack: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { api, clock, statuses, timeline, onSynced } = this.#options;
    const { uid: apiUid, resourceVersion = '' } = apiPod.metadata;
    if (wentBack(apiPod, this.#written.get(entry.uid))) this.#distrust(entry.uid);
    this.#written.set(entry.uid, {
      apiUid,
      resourceVersion,
      version: entry.version,
      // The API mostly returns what was written, and both are kept.
      status: sharingWith(entry.status, apiPod.status ?? {}),
      isHeldBack,
    });
    onSynced?.(apiPod);
    this.#syncDuration.observe((clock.now() - entry.firstChangeMs) / 1000);
    if (!canBeDeletedFromApi(apiPod, entry.isFinished)) return;
    await deleteEnded(api, { namespace: entry.namespace, name: entry.name }, apiUid, signal);
    timeline.record({
      kind: 'effect',
      what: 'pod.delete',
      message: 'the pod was deleted from the API',
      because: 'its deletion was requested, it has ended and nothing of it is left on this node',
      pod: podOf(entry),
    });
    this.#written.delete(entry.uid);
    statuses.remove(entry.uid);
  }

  /** What one pod shows may be true of all: read each one, whatever the watch delivered. */
  #distrust(exceptUid: string): void {
    const { statuses, timeline, onWentBack } = this.#options;
    timeline.record({
      kind: 'observation',
      what: 'status.went-back',
      message: 'the API went back to an older state; the statuses of all pods are compared with it',
      level: 'warn',
    });
    for (const { uid } of statuses.entries()) if (uid !== exceptUid) this.#want(uid, { isReadFirst: true });
    onWentBack?.();
  }

  /** Our copy of the API's object, with the status from the response to our last write. */
  #copyAtHand(entry: VersionedStatus): CopyAtHand | undefined {
    const { pod, mirror, written } = this.#inputOf(entry);
    const apiPod = apiPodOf(pod, mirror);
    if (apiPod === undefined) return undefined;
    if (written === undefined || written.apiUid !== apiPod.metadata.uid)
      return { pod: apiPod, isTrusted: false };
    // Apparent changes are settled here, as the next pass compares with what the watch has delivered by then.
    // A deletion is not: it is completed only on an object observed in the right state.
    return { pod: { ...apiPod, status: written.status }, isTrusted: !entry.isFinished };
  }

  #failed(entry: VersionedStatus, error: unknown): void {
    const { timeline, clock, pods } = this.#options;
    if (isApiError(error) && error.code !== 429 && error.code < 500) {
      // The next pass would find it, too; a change of any pod may come sooner.
      this.#refusedAtMs.set(entry.uid, clock.monotonic());
      timeline.record({
        kind: 'problem',
        what: 'status.refused',
        message: 'the API refused the status of the pod',
        pod: podOf(entry),
        error,
        // Nobody cares about a pod that is deleted from the API; the node gets a 403 for its status.
        ...(pods.byUid(entry.uid) === undefined ? { level: 'debug' } : {}),
      });
      return;
    }
    this.#want(entry.uid, { isReadFirst: true });
    this.#failures++;
    if (this.#failures === 1) {
      timeline.record({
        kind: 'problem',
        what: 'status.unreachable',
        message: 'pod statuses cannot be written; they are kept and written when the API is back',
        level: 'warn',
        error,
      });
    }
    this.#pause(isApiError(error) ? (error.retryAfterSeconds ?? 0) * 1000 : 0);
  }

  #works(): void {
    if (this.#failures === 0) return;
    this.#failures = 0;
    this.#options.timeline.record({
      kind: 'notice',
      what: 'status.reachable',
      message: 'pod statuses are written again',
    });
  }

  #pause(atLeastMs: number): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    const { clock, random } = this.#options;
    const grownMs = Math.min(shortestPauseMs * 2 ** Math.min(this.#failures - 1, 10), longestPauseMs);
    this.#tasks.start('waiting for the API', async (signal) => {
      await sleep(clock, jitter(Math.min(Math.max(grownMs, atLeastMs), longestPauseMs), random), signal);
      this.#isPaused = false;
      this.#pump();
    });
  }

  #record(
    entry: VersionedStatus,
    what: 'status.gone' | 'status.drop',
    message: string,
    because: string,
  ): void {
    this.#options.timeline.record({
      kind: 'decision',
      what,
      message,
      because,
      pod: podOf(entry),
      level: 'debug',
    });
  }
}

function podOf({ uid, name, namespace }: VersionedStatus): PodRef {
  return { uid, name, namespace };
}

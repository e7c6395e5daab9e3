/**
 * Reconciles the actual state of volumes with the desired one. It runs on each event: the desired state
 * changed, an operation ended, a back-off expired. Between events nothing runs.
 */
import { type Clock, Gate, TaskGroup, type Timer } from '../../async/index.js';
import type { AttachmentBook } from './attachments.js';
import { unwantedMounts } from './desired-state.js';
import type { Leftovers } from './leftovers.js';
import type { OperationExecutor } from './operation-executor.js';
import { begun, failed, isBusy, type OperationEntry, operationKey, operationKeyText } from './operations.js';
import { type PlannedOperation, planVolumes, type VolumePlan } from './plan.js';
import type { Leftover } from './reconstruct.js';
import { mountKey, type WantedMount } from './states.js';
import type { VolumeRecorder } from './volume-recorder.js';

/** The longest wait for a pod's state before an unprompted pass. */
const safetyPassMs = 10_000;
/** High enough that mounts on a hung server do not hold up all others. */
const defaultOperationsAtOnce = 64;

/** What the reconciler needs to know about pods. */
export interface VolumePods {
  /** Whether all sources have delivered their pods. */
  allSourcesReady(): boolean;
  isConfigured(uid: string): boolean;
  /** Whether nothing of the pod runs or will run. */
  isRuntimeGone(uid: string): boolean;
}

export interface ReconcilerOptions {
  readonly clock: Clock;
  readonly notes: VolumeRecorder;
  readonly operator: OperationExecutor;
  readonly leftovers: Leftovers;
  readonly pods: VolumePods;
  readonly attachments: AttachmentBook;
  readonly operationsAtOnce?: number;
}

interface MountWaiter {
  readonly isDone: () => boolean;
  readonly resolve: () => void;
}

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #tasks: TaskGroup;
  readonly #gate: Gate;
  readonly #desired = new Map<string, WantedMount>();
  /** When volumes were wanted that have not been mounted since. */
  readonly #wantedAtMs = new Map<string, number>();
  readonly #operations = new Map<string, OperationEntry>();
  readonly #underWay = new Map<string, PlannedOperation>();
  readonly #waiters = new Set<MountWaiter>();
  #isHeldBack = false;
  #isOpen = false;
  #timer: Timer | undefined;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#gate = new Gate(options.operationsAtOnce ?? defaultOperationsAtOnce);
    this.#tasks = new TaskGroup({ onError: (task, error) => options.notes.broken(task, error) });
  }

  get desired(): ReadonlyMap<string, WantedMount> {
    return this.#desired;
  }

  /** Nothing runs before this call, as the actual state is not known yet. */
  open(): void {
    this.#isOpen = true;
    this.look();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#tasks.stop();
  }

  want(wanted: WantedMount): void {
    const key = mountKey(wanted);
    if (!this.#desired.has(key)) this.#wantedAtMs.set(key, this.#options.clock.monotonic());
    this.#desired.set(key, wanted);
  }

  /** Retries failed operations without waiting for the back-off. */
  retry(wanted: WantedMount): void {
    const failure = operationKeyText(operationKey('volume_mount', wanted));
    if (this.#operations.get(failure)?.pending === false) this.#operations.delete(failure);
  }

  /** The same for an expansion that waits: its claim has changed. */
  retryResize({ uniqueName }: WantedMount): void {
    const key = operationKeyText({ uniqueName, podUid: undefined });
    const last = this.#operations.get(key);
    if (last?.name === 'volume_fs_resize' && !last.pending) this.#operations.delete(key);
  }

  /** The same for all volumes of a plugin. */
  retryPlugin(pluginName: string): void {
    for (const [key, { uniqueName, pending }] of this.#operations) {
      if (!pending && uniqueName.startsWith(`${pluginName}/`)) this.#operations.delete(key);
    }
    this.look();
  }

  /** Whether an operation on a volume of the pod is running. */
  isBusyWith(uid: string): boolean {
    for (const operation of this.#underWay.values()) if (podOf(operation) === uid) return true;
    return false;
  }

  /** Call when pods may have ended; does nothing unless an operation waits for that. */
  podsChanged(): void {
    if (this.#isHeldBack || this.#waiters.size > 0 || !this.#options.leftovers.isEmpty) this.look();
  }

  /** Runs a pass; resolves when the condition holds or the signal aborts. */
  until(isDone: () => boolean, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#waiters.delete(waiter);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const waiter: MountWaiter = { isDone, resolve: end };
      this.#waiters.add(waiter);
      signal.addEventListener('abort', end, { once: true });
      this.look();
    });
  }

  /** Decides what to do and starts it. */
  look(): void {
    if (!this.#isOpen || this.#tasks.signal.aborted) return;
    const { clock, pods, operator, attachments } = this.#options;
    this.#dropUnwanted();
    const nowMs = clock.monotonic();
    const readyToUnmount = pods.allSourcesReady() && attachments.isResolved;
    const isRuntimeGone = (uid: string): boolean => pods.isRuntimeGone(uid);
    const plan = planVolumes({
      desired: this.#desired,
      actual: operator.actual,
      operations: this.#operations,
      nowMs,
      readyToUnmount,
      isRuntimeGone,
      isAttached: (wanted) => attachments.isAttached(wanted),
    });
    for (const operation of plan.operations) this.#start(operation);
    this.#tellWaits(plan);
    if (readyToUnmount) this.#cleanLeftovers(isRuntimeGone);
    this.#isHeldBack = plan.isHeldBack;
    for (const waiter of this.#waiters) if (waiter.isDone()) waiter.resolve();
    const safetyMs = this.#isHeldBack || this.#waiters.size > 0 ? nowMs + safetyPassMs : undefined;
    this.#arm([plan.retryAtMs, safetyMs].filter((due) => due !== undefined));
  }

  #tellWaits({ unattached, otherwiseLabelled, blocked }: VolumePlan): void {
    const { attachments, notes } = this.#options;
    for (const wanted of otherwiseLabelled) notes.waits.begin(wanted, 'unstage');
    for (const wanted of unattached) {
      notes.waits.begin(wanted, attachments.isReported(wanted) ? 'attach' : 'report');
    }
    for (const { wanted, by } of blocked) {
      if (wanted.driver === undefined) continue;
      // In the back-off of its own failure it waits for the step that failed.
      if (by === 'back-off') {
        if (!notes.waits.isKnown(wanted)) notes.waits.begin(wanted, 'turn');
        continue;
      }
      const running = [...this.#underWay.values()].filter(({ key }) => key.uniqueName === wanted.uniqueName);
      if (running.some((operation) => podOf(operation) === wanted.podUid)) continue;
      const isUnstaged = running.some(({ name }) => name === 'unmount_device' || name === 'unmap_device');
      notes.waits.begin(wanted, isUnstaged ? 'unstage' : 'turn');
    }
  }

  #dropUnwanted(): void {
    const { pods, operator, notes } = this.#options;
    const unwanted = unwantedMounts({
      desired: this.#desired,
      actual: operator.actual,
      isBusy: (wanted) => isBusy(this.#operations, operationKey('volume_mount', wanted)),
      isConfigured: (uid) => pods.isConfigured(uid),
      isRuntimeGone: (uid) => pods.isRuntimeGone(uid),
    });
    for (const wanted of unwanted) {
      this.#desired.delete(mountKey(wanted));
      this.#wantedAtMs.delete(mountKey(wanted));
      operator.forget(wanted);
      notes.waits.end(wanted);
    }
    if (unwanted.length > 0) this.#forgetFailures();
  }

  /** Failures of volumes that are neither wanted nor present will not be retried. */
  #forgetFailures(): void {
    const { mounts, devices } = this.#options.operator.actual;
    const left = [...this.#desired.values(), ...mounts.values(), ...devices.values()];
    const names = new Set(left.map(({ uniqueName }) => uniqueName));
    this.#options.operator.sizes.keep(names);
    for (const [key, entry] of this.#operations) {
      if (!entry.pending && !names.has(entry.uniqueName)) this.#operations.delete(key);
    }
  }

  #arm(dueMs: readonly number[]): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (dueMs.length === 0) return;
    const { clock } = this.#options;
    // A timer may fire a fraction early; the next must not be due at the same instant.
    const delayMs = Math.max(1, Math.min(...dueMs) - clock.monotonic());
    this.#timer = clock.setTimer(delayMs, () => this.look());
  }

  #start(operation: PlannedOperation): void {
    const text = operationKeyText(operation.key);
    const entry = begun(this.#operations.get(text), operation.key, operation.name);
    this.#operations.set(text, entry);
    this.#underWay.set(text, operation);
    this.#tasks.start(`${operation.name} of ${operation.key.uniqueName}`, async (signal) => {
      try {
        await this.#gate.run(() => this.#run(operation, entry, signal), { signal });
      } finally {
        this.#underWay.delete(text);
        this.look();
      }
    });
  }

  async #run(operation: PlannedOperation, entry: OperationEntry, signal: AbortSignal): Promise<void> {
    const { clock, operator, notes } = this.#options;
    const text = operationKeyText(operation.key);
    const startedMs = clock.monotonic();
    try {
      if ((await operator.run(operation, signal)) === 'later') {
        this.#operations.set(text, failed(entry, clock.monotonic()));
        return;
      }
      this.#operations.delete(text);
      notes.done(operation, clock.monotonic() - startedMs, entry.delayMs > 0);
      if (operation.name === 'volume_mount') this.#noteMounted(operation.wanted, startedMs);
    } catch (error) {
      // Cancelled by the agent's shutdown, not failed; the next run verifies it.
      if (signal.aborted) return;
      const failure = failed(entry, clock.monotonic());
      this.#operations.set(text, failure);
      notes.failed(operation, error, failure.delayMs, clock.monotonic() - startedMs);
    }
  }

  #noteMounted(wanted: WantedMount, startedMs: number): void {
    const key = mountKey(wanted);
    const sinceMs = this.#wantedAtMs.get(key) ?? startedMs;
    this.#wantedAtMs.delete(key);
    this.#options.notes.mountedAfter(wanted, this.#options.clock.monotonic() - sinceMs);
  }

  #cleanLeftovers(isRuntimeGone: (uid: string) => boolean): void {
    const { leftovers, operator } = this.#options;
    if (leftovers.isEmpty) return;
    const known = [...operator.actual.mounts.values(), ...this.#desired.values()];
    const isAccountedFor = ({ podUid, pluginName, innerName }: Leftover): boolean =>
      known.some(
        (mount) =>
          mount.podUid === podUid && mount.pluginName === pluginName && mount.innerName === innerName,
      );
    for (const clean of leftovers.due(isRuntimeGone, isAccountedFor)) {
      this.#tasks.start('removing what an earlier run left', () => this.#gate.run(clean));
    }
  }
}

function podOf(operation: PlannedOperation): string | undefined {
  switch (operation.name) {
    case 'volume_mount':
    case 'volume_fs_resize':
    case 'map_volume':
      return operation.wanted.podUid;
    case 'volume_unmount':
    case 'unmap_volume':
      return operation.mount.podUid;
    case 'unmount_device':
    case 'unmap_device':
      return undefined;
  }
}

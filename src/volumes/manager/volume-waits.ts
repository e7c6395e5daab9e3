/** Waits until a pod's volumes are there, or gone, and says what is missing when the wait ends. */
import { join } from 'node:path/posix';
import { type Clock, isCancelled, TimedOut, withTimeout } from '../../async/index.js';
import { type Host, mountPointsUnder, namesIn } from '../../host/index.js';
import type { Pod } from '../../kube/index.js';
import { AttachLimitReached } from '../contracts.js';
import type { AttachmentBook } from './attachments.js';
import { usedVolumes } from './desired-state.js';
import type { OperationExecutor } from './operation-executor.js';
import type { DesiredState } from './states.js';
import { labelWaitText, mountWait, mountWaitText, unmountWaitText } from './wait-texts.js';

export const volumeWaitMs = 123_000;

export interface VolumeWaitsOptions {
  readonly clock: Clock;
  readonly host: Host;
  readonly desired: DesiredState;
  readonly operator: Pick<OperationExecutor, 'actual' | 'plugin'>;
  readonly attachments: Pick<AttachmentBook, 'isAttached'>;
  /** Resolves once it is known what an earlier run left. */
  readonly ready: () => Promise<void>;
  /** Updates the desired state from the pod; returns what went wrong. */
  readonly process: (pod: Pod, signal: AbortSignal) => Promise<readonly string[]>;
  readonly until: (isDone: () => boolean, signal: AbortSignal) => Promise<void>;
  /** Whether any volume of the pod is or may be mounted. */
  readonly exist: (uid: string) => boolean;
  readonly podDirectory: (uid: string) => string;
  /** Looks for volumes of the pod that were not found at the start, so that they are unmounted. Returns whether there are any. */
  readonly findAgain: (uid: string) => Promise<boolean>;
}

export class VolumeWaits {
  readonly #options: VolumeWaitsOptions;

  constructor(options: VolumeWaitsOptions) {
    this.#options = options;
  }

  /** Resolves once all volumes that the pod's containers use are mounted. */
  async mounted(pod: Pod, signal: AbortSignal): Promise<void> {
    if (usedVolumes(pod).length === 0) return;
    const { clock, desired, operator, attachments, ready, process, until } = this.#options;
    const missing = () =>
      mountWait(pod, desired, operator.actual, (wanted) => attachments.isAttached(wanted));
    try {
      await withTimeout(clock, volumeWaitMs, signal, async (limit) => {
        await ready();
        const problems = await process(pod, limit);
        if (problems.length > 0) throw new Error(problems.join('; '));
        await until(() => missing().unmounted.length === 0, limit);
      });
    } catch (error) {
      if (isCancelled(error)) throw error;
      const wait = missing();
      if (wait.unmounted.length === 0) return;
      const labelWait = error instanceof TimedOut ? labelWaitText(pod, desired, operator.actual) : undefined;
      const text = mountWaitText(wait, labelWait ?? problemText(error));
      if (error instanceof TimedOut && (await this.#isLimitReached(pod, wait.unattached, signal))) {
        throw new AttachLimitReached(`Node has reached its volume attachment limit, rejecting pod. ${text}`, {
          cause: error,
        });
      }
      throw new Error(text, { cause: error });
    }
  }

  /** Resolves once none of the pod's volumes is or may be mounted. Nothing of the pod may be running. */
  async unmounted(pod: Pod, signal: AbortSignal): Promise<void> {
    const { host, podDirectory, findAgain } = this.#options;
    const { uid } = pod.metadata;
    await this.#untilNoneIsKnown(uid, signal);
    const volumes = join(podDirectory(uid), 'volumes');
    // Usually nothing is left, and reading the mount table is slow where many pods run.
    if (await hasNothingIn(host, volumes)) return;
    // Directories that could not be read at the start: what is mounted there was not known.
    if (await findAgain(uid)) await this.#untilNoneIsKnown(uid, signal);
    const left = await mountPointsUnder(host, volumes);
    if (left.length === 0) return;
    const targets = left.map(({ target }) => target);
    throw new Error(unmountWaitText(targets, 'no volume of the pod accounts for these mounts; unmount them'));
  }

  async #untilNoneIsKnown(uid: string, signal: AbortSignal): Promise<void> {
    const { clock, operator, ready, until, exist } = this.#options;
    try {
      await withTimeout(clock, volumeWaitMs, signal, async (limit) => {
        await ready();
        await until(() => !exist(uid), limit);
      });
    } catch (error) {
      if (isCancelled(error)) throw error;
      const ofPod = [...operator.actual.mounts.values()].filter(({ podUid }) => podUid === uid);
      const names = ofPod.map(({ uniqueName }) => uniqueName);
      throw new Error(unmountWaitText(names, problemText(error)), { cause: error });
    }
  }

  async #isLimitReached(pod: Pod, unattached: readonly string[], signal: AbortSignal): Promise<boolean> {
    for (const wanted of this.#options.desired.values()) {
      if (wanted.podUid !== pod.metadata.uid) continue;
      if (!wanted.volumeNames.some((name) => unattached.includes(name))) continue;
      const { attaching } = this.#options.operator.plugin(wanted);
      if (await attaching?.isLimitReached?.(wanted.spec, signal)) return true;
    }
    return false;
  }
}

function problemText(error: unknown): string {
  if (error instanceof TimedOut) return 'context deadline exceeded';
  return error instanceof Error ? error.message : String(error);
}

/** Whether there are only empty directories, one per kind of volume. */
async function hasNothingIn({ ownFiles: files }: Host, volumes: string): Promise<boolean> {
  for (const kind of await namesIn({ files }, volumes)) {
    if ((await namesIn({ files }, join(volumes, kind))).length > 0) return false;
  }
  return true;
}

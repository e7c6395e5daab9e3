/** Gives each entry of a volume to the pod's fsGroup, by held paths so that no link leads the walk out of it. */
import { type Clock, throwIfCancelled } from '../../async/index.js';
import { entriesOf, type HeldPath, type Host, HostError, isHostError, isMissing } from '../../host/index.js';
import {
  ownedMode,
  reportedDirectory,
  rootMatches,
  slowWalkText,
  walkProgressText,
} from './ownership-plan.js';

/** The reason of the Warning event for each `onProgress` message. */
export const volumePermissionChangeInProgress = 'VolumePermissionChangeInProgress';

export interface VolumeOwnership {
  readonly host: Host;
  readonly clock: Clock;
  /** The root of the volume. */
  readonly directory: string;
  readonly podUid: string;
  /** Without one nothing is done. */
  readonly fsGroup: number | undefined;
  /** Whether the plugin provides the volume read-only (all atomic-writer volumes), which narrows the mask. */
  readonly readOnly: boolean;
  /** Only plugins that honour it (CSI, local) pass it on. Default: `Always`. */
  readonly changePolicy?: 'Always' | 'OnRootMismatch' | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Receives the messages of `VolumePermissionChangeInProgress` events. */
  readonly onProgress?: (message: string) => void;
  /** Receives failed changes, which the walk ignores. */
  readonly onIgnored?: (error: HostError) => void;
}

export interface VolumeOwnershipOutcome {
  /** False if there is no fsGroup or the root already matched. */
  readonly walked: boolean;
  readonly entries: number;
}

const firstReportMs = 30_000;
const reportPeriodMs = 60_000;
/** Each level holds two descriptors of the process. */
const depthLimit = 500;

/** Fails only if a directory cannot be listed. */
export async function setVolumeOwnership(ownership: VolumeOwnership): Promise<VolumeOwnershipOutcome> {
  const { host, fsGroup } = ownership;
  if (fsGroup === undefined) return { walked: false, entries: 0 };
  const directory = await host.files.realpath(ownership.directory);
  const root = await host.hold(directory);
  const walk: Walk = { ownership, fsGroup, entries: 0 };
  const progress = reportProgress(walk);
  try {
    const facts = await root.stat();
    if (ownership.changePolicy === 'OnRootMismatch' && rootMatches(facts, fsGroup, ownership.readOnly))
      return { walked: false, entries: 0 };
    await giveEntry(walk, root, directory, 0);
    return { walked: true, entries: walk.entries };
  } finally {
    progress.stop();
    await root.close();
  }
}

interface Walk {
  readonly ownership: VolumeOwnership;
  readonly fsGroup: number;
  entries: number;
}

/** Children before their directory. `name` leads to the entry itself, not to a link's target. */
async function giveEntry(walk: Walk, held: HeldPath, name: string, depth: number): Promise<void> {
  const { host, readOnly } = walk.ownership;
  const facts = await held.stat();
  if (facts.kind === 'directory') await giveChildren(walk, held, depth);
  const mode = ownedMode(facts, readOnly);
  walk.entries++;
  if (facts.gid === walk.fsGroup && facts.mode === mode) return;
  await ignoringFailure(walk, host.files.lchown(name, -1, walk.fsGroup));
  // After chown, which clears setuid and setgid.
  await ignoringFailure(walk, host.files.chmod(held.procPath, mode));
}

async function giveChildren(walk: Walk, directory: HeldPath, depth: number): Promise<void> {
  const { host, signal } = walk.ownership;
  if (depth === depthLimit)
    throw new Error(`${walk.ownership.directory} has directories more than ${depthLimit} levels deep`);
  for await (const entries of entriesOf(directory)) {
    for (const { name } of entries) {
      throwIfCancelled(signal);
      const path = `${directory.procPath}/${name}`;
      const child = await holdChild(directory, name);
      if (child === 'gone') continue;
      if (child === 'link') {
        await ignoringFailure(walk, host.files.lchown(path, -1, walk.fsGroup));
        walk.entries++;
        continue;
      }
      try {
        await giveEntry(walk, child, path, depth + 1);
      } finally {
        await child.close();
      }
    }
  }
}

async function holdChild(directory: HeldPath, name: string): Promise<HeldPath | 'link' | 'gone'> {
  try {
    return await directory.child(name);
  } catch (error) {
    if (isHostError(error, 'ELOOP')) return 'link';
    if (isMissing(error)) return 'gone';
    throw error;
  }
}

async function ignoringFailure({ ownership }: Walk, change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    ownership.onIgnored?.(error);
  }
}

function reportProgress(walk: Walk): { stop(): void } {
  const { clock, directory, podUid, onProgress } = walk.ownership;
  const reported = reportedDirectory(directory, podUid);
  const next = (): void => {
    onProgress?.(walkProgressText(reported, walk.entries));
    timer = clock.setTimer(reportPeriodMs, next);
  };
  let timer = clock.setTimer(firstReportMs, () => {
    onProgress?.(slowWalkText(reported));
    timer = clock.setTimer(reportPeriodMs, next);
  });
  return { stop: () => timer.cancel() };
}

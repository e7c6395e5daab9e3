/** The shared part of configMap, secret, downwardAPI and projected volumes: files written and refreshed atomically. */
import { createHash } from 'node:crypto';
import { join } from 'node:path/posix';
import { asError, type Clock } from '../../async/index.js';
import { exists, type Host } from '../../host/index.js';
import type { Pod, Volume } from '../../kube/index.js';
import { type Payload, writeAtomically } from '../atomic-writer.js';
import type { VolumePlugin, VolumeRemains } from '../contracts.js';
import { setVolumeOwnership } from '../ownership/index.js';
import { type MemorySizes, memoryBacking } from './empty-dir.js';
import type { EmptyDirectories, EmptyDirectory } from './empty-directories.js';
import { nestedMountPoints } from './nested-mounts.js';
import { fsGroupOf } from './volume-modes.js';
import { podVolumeDirectory } from './volume-paths.js';

export interface PayloadVolumeContext {
  readonly host: Host;
  readonly clock: Clock;
  /** Names new directories; default: chance. */
  readonly random?: (() => number) | undefined;
  readonly rootDir: string;
  readonly directories: EmptyDirectories;
  readonly sizes: MemorySizes;
  /** Whether pods may choose the owners of files. */
  readonly allowsUsers?: boolean;
}

export interface PayloadVolumeKind {
  readonly name: string;
  /** Secrets, and anything that may contain them, never reach a disk. */
  readonly medium: 'disk' | 'memory';
  accepts(volume: Volume): boolean;
  /** All files of the volume; if it rejects, nothing on disk changes. */
  collect(pod: Pod, volume: Volume, signal: AbortSignal): Promise<Payload>;
  /** Runs after a volume was torn down. */
  onTornDown?(remains: VolumeRemains): void;
}

/**
 * A pod that starts is synced several times within seconds. Only this agent writes these directories, so what it has just
 * written or read there is not read again; the disk is looked at anew by the sync of the next minute.
 */
const trustedMs = 10_000;

/** What a directory held when it was last seen to. */
interface SeenContent {
  readonly digest: string;
  readonly atMs: number;
}

export function payloadVolumes(context: PayloadVolumeContext, kind: PayloadVolumeKind): VolumePlugin {
  const { host, clock, random, rootDir, directories, sizes } = context;
  const directoryOf = ({ podUid, innerName }: VolumeRemains): EmptyDirectory => ({
    podUid,
    markerName: `wrapped_${innerName}`,
    path: podVolumeDirectory(rootDir, podUid, kind.name, innerName),
  });

  const seen = new Map<string, SeenContent>();

  async function write(pod: Pod, volume: Volume, payload: Payload, signal: AbortSignal): Promise<void> {
    const podUid = pod.metadata.uid;
    const { path } = directoryOf({ podUid, innerName: volume.name });
    for (const nested of nestedMountPoints(pod, volume.name)) {
      // An existing entry, even a link to a file, serves as a mount point, too.
      if (await exists(host.ownFiles, join(path, nested))) continue;
      await host.ownFiles.mkdir(join(path, nested), { mode: 0o755, recursive: true });
    }
    const fsGroup = fsGroupOf(pod);
    await writeAtomically({
      files: host.ownFiles,
      clock,
      ...(random === undefined ? {} : { randomSuffix: () => String(Math.floor(random() * 2 ** 32)) }),
      directory: path,
      payload,
      beforeSwitch: async () => {
        await setVolumeOwnership({ host, clock, directory: path, podUid, fsGroup, readOnly: true, signal });
      },
    });
  }

  return {
    name: kind.name,
    refreshes: true,
    ownsDirectory: true,
    supportsMountOptions: false,
    accepts: (spec) => spec.kind === 'inline' && kind.accepts(spec.volume),
    innerName: ({ volume }) => volume.name,
    traits: () => ({ managed: true, readOnly: true, relabel: true }),
    hostPath: ({ volume }, podUid) => directoryOf({ podUid, innerName: volume.name }).path,
    async setUp({ pod, spec: { volume }, isRemount, signal }) {
      const payload = await kind.collect(pod, volume, signal);
      const directory = directoryOf({ podUid: pod.metadata.uid, innerName: volume.name });
      const digest = digestOf(payload);
      const before = seen.get(directory.path);
      const atMs = clock.monotonic();
      if (isRemount && before?.digest === digest && atMs - before.atMs < trustedMs) return;
      seen.delete(directory.path);
      const wasWritten = await exists(host.ownFiles, join(directory.path, '..data'));
      await directories.setUp({
        ...directory,
        backing: kind.medium === 'disk' ? { kind: 'disk' } : memoryBacking(pod, undefined, sizes),
        fsGroup: fsGroupOf(pod),
        signal,
      });
      try {
        await write(pod, volume, payload, signal);
        seen.set(directory.path, { digest, atMs });
      } catch (error) {
        // Files that containers may be reading stay; a volume never written leaves nothing behind.
        if (!wasWritten) await undo(error, () => directories.tearDown(directory));
        throw error;
      }
    },
    async tearDown(remains) {
      const directory = directoryOf(remains);
      seen.delete(directory.path);
      await directories.tearDown(directory);
      kind.onTornDown?.(remains);
    },
  };
}

function digestOf(payload: Payload): string {
  const hash = createHash('sha256');
  for (const [path, { data, mode, fsUser = -1 }] of payload) {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    // The lengths keep one part from passing for the end of another.
    hash.update(`${path.length} ${path} ${mode} ${fsUser} ${bytes.length} `).update(bytes);
  }
  return hash.digest('base64');
}

/** Cleans up after a failure, which stays first in the message. */
async function undo(failure: unknown, cleanUp: () => Promise<void>): Promise<void> {
  try {
    await cleanUp();
  } catch (error) {
    throw new AggregateError([failure, error], asError(failure).message);
  }
}

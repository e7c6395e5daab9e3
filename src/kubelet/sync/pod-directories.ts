/** The directories that the agent and its pods have below the agent's root. */
import path from 'node:path';
import { type HostFiles, isHostError } from '../../host/index.js';

/** For their owner and group, as what is in them is not everybody's business. */
const ownerAndGroup = 0o750;

/** The directories of pods, made at their first sync; later syncs, which come often, need not touch the disk for them. */
export class PodDirectories {
  readonly #files: HostFiles;
  readonly #rootDir: string;
  readonly #made = new Set<string>();

  constructor(files: HostFiles, rootDir: string) {
    this.#files = files;
    this.#rootDir = rootDir;
  }

  /** Makes a pod's directories; those that exist stay as they are. */
  async make(uid: string): Promise<void> {
    if (this.#made.has(uid)) return;
    if (path.basename(uid) !== uid || uid === '.' || uid === '..' || uid === '') {
      throw new Error(`"${uid}" cannot name a pod's directory`);
    }
    const pod = path.join(this.#rootDir, 'pods', uid);
    // From the top: to make a directory with those above it takes a call more for each that is missing.
    for (const dir of [pod, path.join(pod, 'volumes'), path.join(pod, 'plugins')]) {
      await this.#files.mkdir(dir, { recursive: true, mode: ownerAndGroup });
    }
    this.#made.add(uid);
  }

  /** Forgets all other pods, whose directories are being removed. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const uid of this.#made) if (!uids.has(uid)) this.#made.delete(uid);
  }
}

/** Makes the directories that every agent has. */
export async function makeRootDirectories(files: HostFiles, rootDir: string): Promise<void> {
  const below = ['pods', 'plugins', 'plugins_registry', 'pod-resources'].map((name) =>
    path.join(rootDir, name),
  );
  for (const dir of [rootDir, ...below]) await files.mkdir(dir, { recursive: true, mode: ownerAndGroup });
  await files.mkdir(path.join(rootDir, 'checkpoints'), { recursive: true, mode: 0o700 });
  // What is made durable in them is there after a power cut only if they are.
  await files.syncDirectory(rootDir);
  await files.syncDirectory(path.dirname(rootDir)).catch((error: unknown) => {
    // A directory of somebody else that this user may not read.
    if (!isHostError(error, 'EACCES')) throw error;
  });
}

/** Removes leftovers of earlier runs that no mount accounts for: unmounts, and removes only empty directories. */
import { type Host, removeEmptyTree, unmountTree } from '../../host/index.js';
import type { VolumePlugin } from '../contracts.js';
import { cleanSubPaths } from '../subpath/index.js';
import type { Leftover, Reconstruction, StrandedSubPaths } from './reconstruct.js';
import type { RecoveryRecorder } from './recovery-recorder.js';

export interface LeftoversOptions {
  readonly host: Host;
  readonly podDirectory: (uid: string) => string;
  readonly notes: RecoveryRecorder;
  readonly plugins: readonly VolumePlugin[];
}

export class Leftovers {
  readonly #options: LeftoversOptions;
  #volumes: readonly Leftover[] = [];
  #subPaths: readonly StrandedSubPaths[] = [];

  constructor(options: LeftoversOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#volumes.length + this.#subPaths.length === 0;
  }

  take({ leftovers, subPaths }: Reconstruction): void {
    this.#volumes = leftovers;
    this.#subPaths = subPaths;
  }

  /**
   * The work for pods with nothing running. Each pod is tried once: a second attempt would go no better. A volume that is
   * accounted for again, as its pod was set up anew, is no leftover any more.
   */
  due(
    isRuntimeGone: (uid: string) => boolean,
    isAccountedFor: (leftover: Leftover) => boolean,
  ): (() => Promise<void>)[] {
    this.#volumes = this.#volumes.filter((leftover) => !isAccountedFor(leftover));
    const volumes = this.#volumes.filter(({ podUid }) => isRuntimeGone(podUid));
    const subPaths = this.#subPaths.filter(({ podUid }) => isRuntimeGone(podUid));
    this.#volumes = this.#volumes.filter((leftover) => !volumes.includes(leftover));
    this.#subPaths = this.#subPaths.filter((leftover) => !subPaths.includes(leftover));
    return [
      ...subPaths.map((leftover) => () => this.#cleanSubPaths(leftover)),
      ...volumes.map((leftover) => () => this.#cleanVolume(leftover)),
    ];
  }

  async #cleanVolume(leftover: Leftover): Promise<void> {
    const { notes } = this.#options;
    await this.#remove(leftover).then(
      () => notes.leftoverCleaned(leftover),
      (error: unknown) => notes.leftoverKept(leftover, error),
    );
  }

  async #cleanSubPaths({ podUid, innerName }: StrandedSubPaths): Promise<void> {
    const { host, notes, podDirectory } = this.#options;
    await cleanSubPaths({ host, podDirectory: podDirectory(podUid), innerVolumeName: innerName }).then(
      () => notes.subPathsCleaned(podUid, innerName),
      (error: unknown) => notes.subPathsKept(podUid, innerName, error),
    );
  }

  /** A plugin knows what of its own can go; anything else is unmounted, and goes if it is empty. */
  async #remove({ path, mode, problem, pluginName, podUid, innerName, isKept }: Leftover): Promise<void> {
    const { host, plugins } = this.#options;
    if (mode === 'Block') {
      if (isKept) throw new Error(problem);
      return host.files.unlink(path);
    }
    const plugin = plugins.find(({ name }) => name === pluginName);
    if (isKept && plugin !== undefined) return plugin.tearDown({ podUid, innerName });
    await unmountTree(host, path);
    await removeEmptyTree(host, path);
  }
}

/** Creates and removes the empty directories behind volumes, on disk, in memory or in huge pages. */
import { dirname, join } from 'node:path/posix';
import type { Clock } from '../../async/index.js';
import {
  exists,
  type Host,
  isHostError,
  isMissing,
  mountAt,
  removeTree,
  unmountTree,
} from '../../host/index.js';
import { setVolumeOwnership } from '../ownership/index.js';
import { mountedPageBytes, pageBytes } from './huge-pages.js';
import { type MemoryDirectory, resizeMemoryDirectory } from './resize-memory-directory.js';
import { type NoswapSupport, noswapSupport, tmpfsOptions } from './tmpfs-options.js';
import { podDirectory, podPluginDirectory } from './volume-paths.js';

export const emptyDirPluginName = 'kubernetes.io/empty-dir';

/** What backs a directory. */
export type EmptyDirMedium =
  | { readonly kind: 'disk' }
  | { readonly kind: 'memory'; readonly sizeBytes: bigint }
  | { readonly kind: 'huge-pages'; readonly pageSize: string };

export interface EmptyDirectory {
  readonly podUid: string;
  /** The name of its marker: the volume's name, or `wrapped_<name>` behind other kinds of volumes. */
  readonly markerName: string;
  readonly path: string;
}

export interface EmptyDirectoryRequest extends EmptyDirectory {
  readonly backing: EmptyDirMedium;
  readonly fsGroup: number | undefined;
  /** Of the directory itself, on which others are mounted; open to all by default. */
  readonly mode?: number | undefined;
  readonly signal: AbortSignal;
}

export interface EmptyDirectoriesOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly rootDir: string;
  /** Told once, when a volume in memory was mounted that the kernel may swap to disk. */
  readonly onSwappable?: () => void;
}

const directoryMode = 0o777;
const markerMode = 0o750;

export class EmptyDirectories {
  readonly #options: EmptyDirectoriesOptions;
  #noswap: NoswapSupport;
  #isSwappableTold = false;

  constructor(options: EmptyDirectoriesOptions) {
    this.#options = options;
    const { kernelRelease, inUserNamespace } = options.host;
    // Mounts in a user namespace cannot keep memory out of swap.
    this.#noswap = noswapSupport(kernelRelease, inUserNamespace);
  }

  /** Leaves a directory alone that is marked as ready. */
  async setUp(request: EmptyDirectoryRequest): Promise<void> {
    const { host, clock } = this.#options;
    const { podUid, path, fsGroup, signal } = request;
    if (await this.#isReady(request)) return;
    // A marker without its directory is a leftover; after a crash it would vouch for an incomplete one.
    await this.#removeMarker(request);
    await this.#make(request);
    // The volume is usable even if the group cannot be set; the failure shows when it is used.
    await setVolumeOwnership({
      host,
      clock,
      directory: path,
      podUid,
      fsGroup,
      readOnly: false,
      signal,
    }).catch((error: unknown) => {
      if (!isHostError(error)) throw error;
    });
    await this.#writeMarker(request);
  }

  /** For a mounted directory in memory. */
  resize(directory: MemoryDirectory, sizeBytes: bigint, signal?: AbortSignal): Promise<void> {
    return resizeMemoryDirectory(this.#options.host, directory, sizeBytes, signal);
  }

  /** Works without knowing what backs the directory. */
  async tearDown(directory: EmptyDirectory): Promise<void> {
    const { host } = this.#options;
    const { path } = directory;
    await this.#removeMarker(directory);
    if (await this.#isPlainlyUnmounted(path)) return;
    // Containers may propagate mounts into it; left there, they would keep the directory forever.
    const unmounted = await unmountTree(host, path);
    const wasAlone = unmounted.every((target) => target === unmounted[0]);
    const isWithoutMounts = wasAlone && !(await isOwnFileSystem(host, path));
    await removeTree(host, path, { isWithoutMounts });
  }

  /**
   * Handles the usual end of a tmpfs: nothing is mounted in it and nothing lies below it. Unmounting and
   * removing an empty directory shows that more cheaply than the mount table. Anything else stays as it is.
   */
  async #isPlainlyUnmounted(path: string): Promise<boolean> {
    const { host } = this.#options;
    if (!(await isOwnFileSystem(host, path))) return false;
    try {
      await host.mounts.unmount(path);
      await host.ownFiles.rmdir(path);
      return true;
    } catch (error) {
      if (isHostError(error)) return false;
      throw error;
    }
  }

  async #isReady(request: EmptyDirectoryRequest): Promise<boolean> {
    const { ownFiles: files } = this.#options.host;
    if (!(await exists(files, join(this.#markerDirectory(request), 'ready')))) return false;
    if (request.backing.kind === 'memory') return isOwnFileSystem(this.#options.host, request.path);
    if (request.backing.kind === 'huge-pages') {
      const mount = await mountAt(this.#options.host, request.path);
      if (mount === undefined) return false;
      checkPageSize(request, mount.superOptions, mount.options);
      return true;
    }
    try {
      return (await files.lstat(request.path)).kind === 'directory';
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  async #make({ podUid, path, backing, mode, signal }: EmptyDirectoryRequest): Promise<void> {
    const { host } = this.#options;
    await host.ownFiles.mkdir(join(podDirectory(this.#options.rootDir, podUid), 'volumes'), {
      mode: markerMode,
      recursive: true,
    });
    await host.ownFiles.mkdir(path, { mode: directoryMode, recursive: true });
    const isMounted = backing.kind !== 'disk' && (await isOwnFileSystem(host, path));
    const mount = isMounted ? await mountAt(host, path) : undefined;
    if (mount === undefined) await this.#setMode(path, mode);
    switch (backing.kind) {
      case 'disk':
        return;
      case 'memory':
        if (mount?.fsType !== 'tmpfs') await this.#mountTmpfs(path, backing.sizeBytes, signal);
        return;
      case 'huge-pages':
        if (mount?.fsType === 'hugetlbfs') {
          checkPageSize({ path, backing }, mount.superOptions, mount.options);
          return;
        }
        await host.mounts.mount(
          { source: 'nodev', target: path, fsType: 'hugetlbfs', options: [`pagesize=${backing.pageSize}`] },
          signal,
        );
    }
  }

  /** The agent's umask must not decide who may write to a pod's volume. */
  async #setMode(path: string, wanted: number | undefined): Promise<void> {
    const { ownFiles: files } = this.#options.host;
    const { mode } = await files.lstat(path);
    const isAsWanted =
      wanted === undefined ? (mode & directoryMode) === directoryMode : (mode & 0o7777) === wanted;
    if (!isAsWanted) await files.chmod(path, wanted ?? directoryMode);
  }

  async #mountTmpfs(path: string, sizeBytes: bigint, signal: AbortSignal): Promise<void> {
    const mount = (noswap: boolean): Promise<void> =>
      this.#options.host.mounts.mount(
        { source: 'tmpfs', target: path, fsType: 'tmpfs', options: tmpfsOptions(sizeBytes, noswap) },
        signal,
      );
    if (this.#noswap !== 'no') {
      try {
        await mount(true);
        this.#noswap = 'yes';
        return;
      } catch (error) {
        // A kernel that did it before refuses for another reason.
        if (this.#noswap === 'yes' || !isHostError(error)) throw error;
      }
    }
    await mount(false);
    this.#noswap = 'no';
    this.#tellSwappable();
  }

  #tellSwappable(): void {
    if (this.#isSwappableTold) return;
    this.#isSwappableTold = true;
    this.#options.onSwappable?.();
  }

  #markerDirectory({ podUid, markerName }: EmptyDirectory): string {
    return podPluginDirectory(this.#options.rootDir, podUid, emptyDirPluginName, markerName);
  }

  async #writeMarker(directory: EmptyDirectory): Promise<void> {
    const { ownFiles: files } = this.#options.host;
    const dir = this.#markerDirectory(directory);
    await files.mkdir(dir, { mode: markerMode, recursive: true });
    await files.writeFile(join(dir, 'ready'), '', { mode: 0o640 });
  }

  async #removeMarker(directory: EmptyDirectory): Promise<void> {
    const { host } = this.#options;
    const dir = this.#markerDirectory(directory);
    if (!(await exists(host.ownFiles, dir))) return;
    try {
      await host.ownFiles.unlink(join(dir, 'ready'));
      await host.ownFiles.rmdir(dir);
    } catch (error) {
      if (!isHostError(error)) throw error;
      // Not a marker of ours. Nothing is ever mounted on a marker.
      await removeTree(host, dir, { isWithoutMounts: true });
    }
  }
}

function checkPageSize(
  { path, backing }: Pick<EmptyDirectoryRequest, 'path' | 'backing'>,
  ...options: (readonly string[])[]
): void {
  if (backing.kind !== 'huge-pages') return;
  const mountedBytes = mountedPageBytes(options.flat());
  if (mountedBytes === undefined || mountedBytes === pageBytes(backing.pageSize)) return;
  throw new Error(
    `${path} is mounted with huge pages of ${mountedBytes} bytes, but ${backing.pageSize} are wanted`,
  );
}

/**
 * Whether the path is the root of its own file system, that is, a mount of ours. The mount table would tell,
 * too, but is long where many pods run.
 */
async function isOwnFileSystem({ ownFiles }: Host, path: string): Promise<boolean> {
  try {
    const own = await ownFiles.lstat(path);
    return own.device !== (await ownFiles.lstat(dirname(path))).device;
  } catch (error) {
    if (isHostError(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}

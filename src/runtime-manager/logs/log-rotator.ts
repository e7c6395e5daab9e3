/** Rotates the logs of running containers before they grow too large. */
import path from 'node:path';
import { type Clock, Gate, isCancelled, sleep } from '../../async/index.js';
import { ContainerState, type CriRuntime, criLabels, isNotFound } from '../../cri/index.js';
import { entriesOf, type FileFacts, type HeldPath, isMissing, linuxHost } from '../../host/index.js';
import type { WorkQueueWatch } from '../../metrics/index.js';
import type { Timeline } from '../../timeline/index.js';
import { compressLog, removeIfThere } from './compress.js';
import { HeldDirectories } from './held-directories.js';
import { holdLogDirectory, type LogHost } from './open-log.js';
import { planRotation, rotatedName } from './rotation.js';

export interface LogRotatorOptions {
  readonly cri: Pick<CriRuntime, 'listContainers' | 'containerStatus' | 'reopenContainerLog'>;
  readonly clock: Clock;
  readonly timeline: Timeline;
  /** Negative: never rotate. */
  readonly maxSizeBytes: number;
  readonly maxFiles: number;
  readonly workers: number;
  readonly periodMs: number;
  /** Defaults to this machine, as runtimes write logs to real files. */
  readonly host?: LogHost;
  /** A container's log path, if already observed; otherwise the runtime is asked. */
  readonly knownPath?: (podUid: string, containerId: string) => string | undefined;
  /** How many log directories are held between passes, a descriptor each. Default: 1000. */
  readonly mostHeld?: number;
  /** Counts the logs that wait to be looked at. */
  readonly queue?: WorkQueueWatch;
}

export class LogRotator {
  readonly #options: LogRotatorOptions;
  readonly #host: LogHost;
  readonly #paths = new Map<string, string>();
  readonly #held: HeldDirectories;

  constructor(options: LogRotatorOptions) {
    if (options.maxFiles <= 1)
      throw new Error(`invalid containerLogMaxFiles ${options.maxFiles}: it must be at least 2`);
    this.#options = options;
    this.#host = options.host ?? linuxHost();
    this.#held = new HeldDirectories(options.mostHeld ?? 1000);
  }

  async run(signal: AbortSignal): Promise<void> {
    if (this.#options.maxSizeBytes < 0) return;
    try {
      await this.#rotateAlways(signal);
    } finally {
      await this.close();
    }
  }

  /** Lets go of what passes hold in between. */
  async close(): Promise<void> {
    await this.#held.keepOnly(new Set());
  }

  async #rotateAlways(signal: AbortSignal): Promise<void> {
    const { clock, periodMs, timeline } = this.#options;
    for (;;) {
      await sleep(clock, periodMs, signal);
      try {
        await this.rotateAll(signal);
      } catch (error) {
        if (isCancelled(error)) throw error;
        timeline.record({
          kind: 'problem',
          what: 'logs.rotate',
          message: 'rotating container logs failed',
          level: 'warn',
          error,
        });
      }
    }
  }

  /** One pass over all running containers. */
  async rotateAll(signal?: AbortSignal): Promise<void> {
    const { cri, workers, timeline } = this.#options;
    const { containers } = await cri.listContainers({
      filter: { state: { state: ContainerState.CONTAINER_RUNNING } },
    });
    const running = new Set(containers.map(({ id }) => id));
    for (const id of this.#paths.keys()) if (!running.has(id)) this.#paths.delete(id);
    await this.#held.keepOnly(running);
    const gate = new Gate(workers);
    await Promise.all(
      containers.map(({ id, labels }) => {
        const working = this.#options.queue?.added() ?? ((work: () => Promise<void>) => work());
        return gate.run(async () => {
          if (signal?.aborted) return;
          try {
            await working(() => this.#check(id, labels[criLabels.podUid] ?? ''));
          } catch (error) {
            timeline.record({
              kind: 'problem',
              what: 'logs.rotate',
              message: `rotating the log of container ${id} failed`,
              level: 'warn',
              data: { containerId: id },
              error,
            });
          }
        });
      }),
    );
  }

  async #check(id: string, podUid: string): Promise<void> {
    const { cri, maxSizeBytes } = this.#options;
    const log = this.#options.knownPath?.(podUid, id) ?? (await this.#pathOf(id));
    if (log === undefined) return;
    const name = path.basename(log);
    if (await this.#hasRoom(id, name)) return;
    const dir = await holdLogDirectory(this.#host, log);
    try {
      let facts = await this.#factsOf(dir, name);
      if (facts === undefined) {
        // An interrupted rotation leaves no log file; the runtime creates a new one.
        await cri.reopenContainerLog({ containerId: id });
        facts = await this.#factsOf(dir, name);
      }
      // A link leads to a log that another program rotates.
      if (facts?.kind === 'file' && facts.sizeBytes >= maxSizeBytes) await this.#rotate(id, log, dir);
    } finally {
      await this.#held.keep(id, dir);
    }
  }

  /** By the directory that the last pass held; whatever differs from a log with room is looked at from the top. */
  async #hasRoom(id: string, name: string): Promise<boolean> {
    const dir = this.#held.get(id);
    const facts = dir && (await this.#factsOf(dir, name));
    return facts?.kind === 'file' && facts.sizeBytes < this.#options.maxSizeBytes;
  }

  async #factsOf(dir: HeldPath, name: string): Promise<FileFacts | undefined> {
    try {
      return await this.#host.files.lstat(`${dir.procPath}/${name}`);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** A container's log path never changes, so the runtime is asked once. */
  async #pathOf(id: string): Promise<string | undefined> {
    const known = this.#paths.get(id);
    if (known !== undefined) return known;
    try {
      const { status } = await this.#options.cri.containerStatus({ containerId: id });
      if (status === undefined || status.logPath === '') return undefined;
      this.#paths.set(id, status.logPath);
      return status.logPath;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Works on the held directory, whatever replaces its name meanwhile. */
  async #rotate(id: string, log: string, dir: HeldPath): Promise<void> {
    const { cri, clock, maxFiles, timeline } = this.#options;
    const { files } = this.#host;
    const name = path.basename(log);
    const at = (entry: string): string => `${dir.procPath}/${entry}`;
    const { remove, compress } = planRotation(name, await rotatedFiles(dir, name), maxFiles);
    for (const entry of remove) await removeIfThere(files, at(entry));
    for (const entry of compress) await compressLog(this.#host, dir, entry);
    const rotated = rotatedName(name, clock.now());
    await files.rename(at(name), at(rotated));
    try {
      await cri.reopenContainerLog({ containerId: id });
    } catch (error) {
      // The runtime still writes to the file; under its old name the next pass finds it again.
      await files.rename(at(rotated), at(name));
      throw new Error(`failed to reopen container log "${id}"`, { cause: error });
    }
    timeline.record({
      kind: 'effect',
      what: 'logs.rotate',
      message: `rotated ${log}`,
      because: 'it reached the maximum size',
      level: 'debug',
      data: { containerId: id },
    });
  }
}

/**
 * Far more than rotations leave: beyond this somebody else fills the directory, and later rotations remove
 * the rest.
 */
const mostRotated = 1000;

/** The names of a log's rotated files. */
async function rotatedFiles(dir: HeldPath, log: string): Promise<string[]> {
  const names: string[] = [];
  for await (const entries of entriesOf(dir)) {
    for (const { name, kind } of entries) {
      // Only regular files are ours.
      if (name.startsWith(`${log}.`) && kind === 'file') names.push(name);
    }
    if (names.length >= mostRotated) break;
  }
  return names;
}

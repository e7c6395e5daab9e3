/** Rotates the logs of running containers before they grow too large. */
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type Clock, Gate, isCancelled, sleep } from '../../async/index.js';
import { ContainerState, type CriRuntime, criLabels, isNotFound } from '../../cri/index.js';
import type { Timeline } from '../../timeline/index.js';
import { isMissing } from './file-error.js';
import { planRotation, rotatedName } from './rotation.js';

export interface LogRotatorOptions {
  readonly cri: Pick<CriRuntime, 'listContainers' | 'containerStatus' | 'reopenContainerLog'>;
  readonly clock: Clock;
  readonly timeline: Timeline;
  /** Negative: logs are never rotated. */
  readonly maxSizeBytes: number;
  readonly maxFiles: number;
  readonly workers: number;
  readonly periodMs: number;
  /** Where a container of a pod logs, if that was seen already; the runtime is asked otherwise. */
  readonly knownPath?: (podUid: string, containerId: string) => string | undefined;
}

export class LogRotator {
  readonly #options: LogRotatorOptions;
  readonly #paths = new Map<string, string>();

  constructor(options: LogRotatorOptions) {
    if (options.maxFiles <= 1)
      throw new Error(`invalid containerLogMaxFiles ${options.maxFiles}: it must be at least 2`);
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, periodMs, maxSizeBytes, timeline } = this.#options;
    if (maxSizeBytes < 0) return;
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
    const gate = new Gate(workers);
    await Promise.all(
      containers.map(({ id, labels }) =>
        gate.run(async () => {
          if (signal?.aborted) return;
          try {
            await this.#check(id, labels[criLabels.podUid] ?? '');
          } catch (error) {
            timeline.record({
              kind: 'problem',
              what: 'logs.rotate',
              message: `rotating the log of container ${id} failed`,
              level: 'warn',
              error,
            });
          }
        }),
      ),
    );
  }

  async #check(id: string, podUid: string): Promise<void> {
    const { cri, maxSizeBytes } = this.#options;
    const log = this.#options.knownPath?.(podUid, id) ?? (await this.#pathOf(id));
    if (log === undefined) return;
    let info: { readonly size: number };
    try {
      info = await stat(log);
    } catch (error) {
      if (!isMissing(error)) throw error;
      // A rotation that was cut short leaves no file behind; the runtime makes a new one.
      await cri.reopenContainerLog({ containerId: id });
      info = await stat(log);
    }
    if (info.size >= maxSizeBytes) await this.#rotate(id, log);
  }

  /** A container's log stays where it is, so the runtime is asked once. */
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

  async #rotate(id: string, log: string): Promise<void> {
    const { cri, clock, maxFiles, timeline } = this.#options;
    const folder = path.dirname(log);
    const { remove, compress } = planRotation(path.basename(log), await readdir(folder), maxFiles);
    for (const name of remove) await rm(path.join(folder, name), { force: true });
    for (const name of compress) await compressFile(path.join(folder, name));
    const rotated = rotatedName(log, clock.now());
    await rename(log, rotated);
    try {
      await cri.reopenContainerLog({ containerId: id });
    } catch (error) {
      // The runtime still writes to the file; under its old name the next pass finds it again.
      await rename(rotated, log);
      throw new Error(`failed to reopen container log "${id}"`, { cause: error });
    }
    timeline.record({
      kind: 'effect',
      what: 'logs.rotate',
      message: `rotated ${log}`,
      because: 'it reached the maximum size',
      level: 'debug',
      data: { container: id },
    });
  }
}

async function compressFile(file: string): Promise<void> {
  const temporary = `${file}.tmp`;
  try {
    const { mode } = await stat(file);
    // Created with the mode of the log, so that nobody may read it who could not before.
    await pipeline(
      createReadStream(file),
      createGzip(),
      createWriteStream(temporary, { mode: mode & 0o777 }),
    );
    await chmod(temporary, mode & 0o777);
    await rename(temporary, `${file}.gz`);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await rm(file);
}

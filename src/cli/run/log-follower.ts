/** Follows the logs of all containers of a run, and prefixes each line with pod and container. */
import { BoundedMap, ByteReader, type Clock, TaskGroup } from '../../async/index.js';
import { type CriRuntime, isNotFound } from '../../cri/index.js';
import type { ContainerStatus, PodStatus } from '../../kube/index.js';
import { logOptions, readContainerLogs } from '../../runtime-manager/logs/index.js';

export interface LogFollowerOptions {
  readonly cri: Pick<CriRuntime, 'containerStatus'>;
  readonly clock: Clock;
  readonly color: boolean;
  readonly write: (text: string) => Promise<void>;
  /** Called for a log that cannot be read. */
  readonly onProblem: (message: string, error: unknown) => void;
  /** Skips older lines; wall-clock milliseconds. */
  readonly sinceMs?: number;
}

const colors = [36, 33, 32, 35, 34, 96, 93, 92, 95, 94];
/** A longer line is shown in parts. */
const longestLineBytes = 64 * 1024;
/** How many containers are remembered, so that none is followed twice. */
const rememberedIds = 10_000;
/** How long `close` waits for the last lines. */
const drainMs = 2_000;

export class LogFollower {
  readonly #options: LogFollowerOptions;
  readonly #tasks: TaskGroup;
  /** IDs of the containers that are or were followed. */
  readonly #seen = new BoundedMap<string, true>({ maxEntries: rememberedIds });
  readonly #colors = new BoundedMap<string, number>({ maxEntries: rememberedIds });

  constructor(options: LogFollowerOptions) {
    this.#options = options;
    this.#tasks = new TaskGroup({ onError: (task, error) => options.onProblem(task, error) });
  }

  /** Follows the containers that have started since the last call. */
  observe(podName: string, status: PodStatus): void {
    const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    for (const container of all) {
      for (const id of startedIds(container)) {
        if (this.#seen.has(id)) continue;
        this.#seen.set(id, true);
        const name = `${podName}/${container.name}`;
        this.#tasks.start(`reading the log of ${name}`, (signal) => this.#follow(name, id, signal));
      }
    }
  }

  /** Waits a moment for the last lines. */
  async close(): Promise<void> {
    const { clock } = this.#options;
    let timer: { cancel(): void } | undefined;
    const late = new Promise<void>((resolve) => {
      timer = clock.setTimer(drainMs, resolve);
    });
    await Promise.race([this.#tasks.drained(), late]);
    timer?.cancel();
    await this.#tasks.stop();
  }

  async #follow(name: string, containerId: string, signal: AbortSignal): Promise<void> {
    const { cri, clock, write, sinceMs } = this.#options;
    const prefix = this.#prefix(name);
    const streams = { stdout: new PrefixedLines(prefix, write), stderr: new PrefixedLines(prefix, write) };
    try {
      await readContainerLogs({
        cri,
        clock,
        containerId,
        options: logOptions(
          { follow: true, ...(sinceMs === undefined ? {} : { sinceTimeMs: sinceMs }) },
          clock.now(),
        ),
        sinks: streams,
        signal,
      });
    } catch (error) {
      // A removed container has no more log.
      if (!isNotFound(error)) throw error;
    } finally {
      await streams.stdout.end();
      await streams.stderr.end();
    }
  }

  #prefix(name: string): string {
    const index = this.#colors.get(name) ?? this.#colors.size;
    this.#colors.set(name, index);
    if (!this.#options.color) return `${name} | `;
    return `\u001b[${colors[index % colors.length]}m${name} |\u001b[0m `;
  }
}

function startedIds({ state, lastState, containerID }: ContainerStatus): string[] {
  const isStarted = state?.running !== undefined || state?.terminated !== undefined;
  const current = state?.terminated?.containerID || containerID;
  return [
    ...(lastState?.terminated?.containerID ? [lastState.terminated.containerID] : []),
    ...(isStarted && current ? [current] : []),
  ];
}

class PrefixedLines {
  readonly #prefix: string;
  readonly #write: (text: string) => Promise<void>;
  readonly #held = new ByteReader();

  constructor(prefix: string, write: (text: string) => Promise<void>) {
    this.#prefix = prefix;
    this.#write = write;
  }

  async write(bytes: Buffer): Promise<void> {
    const end = bytes.lastIndexOf(0x0a) + 1;
    const heldBytes = end > 0 ? 0 : this.#held.length;
    const cut = heldBytes + bytes.length - end > longestLineBytes ? bytes.length : end;
    if (cut > 0) {
      this.#held.push(bytes.subarray(0, cut));
      const lines = this.#held.takeAll();
      if (cut < bytes.length) this.#held.push(bytes.subarray(cut));
      await this.#show(lines);
    } else if (bytes.length > 0) this.#held.push(bytes);
  }

  async end(): Promise<void> {
    const rest = this.#held.takeAll();
    if (rest.length > 0) await this.#show(rest);
  }

  async #show(bytes: Buffer): Promise<void> {
    const text = bytes.toString('utf8').replace(/\n$/, '');
    const lines = text.split('\n').map((line) => `${this.#prefix}${line.replace(/\r$/, '')}\n`);
    await this.#write(lines.join(''));
  }
}

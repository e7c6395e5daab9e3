/** A containerd owned by one nodelet: configured, started, supervised and removed again. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, errorText, isCancelled, sleep, TaskGroup } from '../../async/index.js';
import { connectCri } from '../../cri/index.js';
import {
  absolutePath,
  type ChildProcess,
  CommandLine,
  checkedWord,
  startProgram,
} from '../../programs/index.js';
import { lastLines, runCommand, systemEnvironment } from './command.js';
import { containerdConfig } from './containerd-config.js';
import { endContainerdOf, killShimsOf } from './containerd-processes.js';
import { writeArchive } from './oci.js';
import { mayLowerOomScore } from './oom-score.js';
import { buildPauseImage, pauseImageName } from './pause-image.js';
import { configureNetwork, type PrivateNetwork, removeNetwork } from './private-network.js';
import { formatToml } from './toml.js';

export interface PrivateContainerdOptions {
  /** For images, snapshots and the log: on a disk. */
  readonly dataDir: string;
  /** For sockets and mounts; must be short, as socket paths are limited. */
  readonly runtimeDir: string;
  /** The directory of the CNI plugins; absent: pods have only the host network. */
  readonly cniBinDir: string | undefined;
  readonly clock: Clock;
  /** Called when containerd exited and is restarted. */
  readonly onProblem: (message: string, error: unknown) => void;
}

const startTimeoutMs = 30_000;
const stopTimeoutMs = 15_000;
const pollMs = 50;
const longestSocketPath = 100;
const firstRestartMs = 250;
const slowestRestartMs = 10_000;
/** An exit after running this long does not count as part of a series. */
const stableMs = 60_000;
/** The namespace of the CRI plugin. */
const namespace = 'k8s.io';
/** The cgroup of sandboxes whose caller names none. */
const defaultCgroup = 'k8s.io';
const cgroupRoot = '/sys/fs/cgroup';

export class PrivateContainerd {
  readonly endpoint: string;
  readonly #options: PrivateContainerdOptions;
  readonly #socket: string;
  readonly #network: PrivateNetwork;
  readonly #tasks: TaskGroup;
  #child: ChildProcess | undefined;

  private constructor(options: PrivateContainerdOptions) {
    this.#options = options;
    this.#socket = path.join(options.runtimeDir, 'containerd.sock');
    this.endpoint = `unix://${this.#socket}`;
    this.#network = {
      id: createHash('sha256').update(options.dataDir).digest('hex').slice(0, 6),
      confDir: path.join(options.dataDir, 'cni/conf'),
      dataDir: path.join(options.dataDir, 'cni/data'),
    };
    this.#tasks = new TaskGroup({ onError: (task, error) => options.onProblem(`${task} failed`, error) });
  }

  /**
   * Resolves when it serves CRI calls and can create sandboxes. Keeps what an earlier one left in the
   * directories.
   */
  static async start(options: PrivateContainerdOptions): Promise<PrivateContainerd> {
    const containerd = new PrivateContainerd(options);
    try {
      await containerd.#prepare();
      await containerd.#launch();
      await containerd.#ensurePauseImage();
    } catch (error) {
      await containerd.#end();
      // Pods of an earlier one may run on: their shims stay.
      await containerd.#removeTraces();
      throw error;
    }
    containerd.#tasks.start('the watch over containerd', (signal) => containerd.#supervise(signal));
    return containerd;
  }

  /** Imports an archive's images where the CRI finds them. */
  async importImages(archive: string, signal?: AbortSignal): Promise<void> {
    await importImages(this.endpoint, archive, signal);
  }

  /**
   * Stops it, and removes its network. All pods must be gone, and the caller removes the directories; with `leavesPods`,
   * what pods that are left need stays for the next one in the same directories.
   */
  async stop({ leavesPods = false }: { readonly leavesPods?: boolean } = {}): Promise<void> {
    await this.#tasks.stop();
    const staysForPods = leavesPods && (await this.#hasPods());
    await this.#end();
    if (staysForPods) return;
    await killShimsOf(this.#socket);
    await this.#removeTraces();
  }

  /** Ends the process. */
  async #end(): Promise<void> {
    await this.#tasks.stop();
    const child = this.#child;
    if (child === undefined || !isRunning(child)) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = this.#options.clock.setTimer(stopTimeoutMs, () => void child.kill('SIGKILL'));
    await exited;
    timer.cancel();
  }

  /** Its network, and what it makes at fixed places. */
  async #removeTraces(): Promise<void> {
    if (this.#options.cniBinDir !== undefined) await removeNetwork(this.#network);
    await removeSharedLeftovers();
  }

  async #hasPods(): Promise<boolean> {
    const client = connectCri({ endpoint: this.endpoint, requestTimeoutMs: stopTimeoutMs });
    try {
      return (await client.listPodSandbox({})).items.length > 0;
    } catch {
      // It does not answer any more: what it ran may still be there.
      return true;
    } finally {
      client.close();
    }
  }

  async #prepare(): Promise<void> {
    const { dataDir, runtimeDir, cniBinDir } = this.#options;
    if (this.#socket.length > longestSocketPath)
      throw new Error(`the path of containerd's socket is too long: ${this.#socket}`);
    await mkdir(dataDir, { recursive: true, mode: 0o711 });
    await mkdir(runtimeDir, { recursive: true, mode: 0o711 });
    await mkdir(this.#network.confDir, { recursive: true });
    // A killed nodelet leaves its containerd behind; two must not share the directories.
    await endContainerdOf(this.#configFile, this.#options.clock, stopTimeoutMs);
    if (cniBinDir !== undefined) await configureNetwork(this.#network);
    const state = path.join(runtimeDir, 'containerd');
    const places = {
      dir: dataDir,
      root: path.join(dataDir, 'root'),
      state,
      runcRoot: path.join(state, 'runc'),
      socket: this.#socket,
      cniConfDir: this.#network.confDir,
      registryHostsDir: path.join(dataDir, 'registries'),
    };
    const config = containerdConfig(places, {
      sandboxImage: pauseImageName,
      cniBinDir: cniBinDir ?? path.join(dataDir, 'cni/bin'),
      restrictOomScore: !(await mayLowerOomScore()),
    });
    await writeFile(this.#configFile, formatToml({ ...config, debug: { level: 'warn' } }));
  }

  get #configFile(): string {
    return path.join(this.#options.dataDir, 'config.toml');
  }

  get #logFile(): string {
    return path.join(this.#options.dataDir, 'containerd.log');
  }

  /** Starts the process and resolves when it serves. */
  async #launch(): Promise<void> {
    const log = openSync(this.#logFile, 'a', 0o600);
    const config = checkedWord(absolutePath, 'the configuration of containerd', this.#configFile);
    // As two words: a killed nodelet's orphan is found by them.
    const child = startProgram(CommandLine.of('containerd').optionWord('--config', config), {
      stdio: ['ignore', log, log],
      env: systemEnvironment(),
    });
    closeSync(log);
    const failed = once(child, 'error').then(([error]) => {
      throw new Error(`containerd cannot be started: ${String(error)}`, { cause: error });
    });
    this.#child = child;
    await Promise.race([once(child, 'spawn'), failed]);
    failed.catch(() => {});
    await this.#untilServing(child);
  }

  async #untilServing(child: ChildProcess): Promise<void> {
    const { clock } = this.#options;
    const client = connectCri({ endpoint: this.endpoint, requestTimeoutMs: startTimeoutMs });
    const giveUpMs = clock.monotonic() + startTimeoutMs;
    try {
      for (;;) {
        // Unlike the version, the status responds only once everything from before is loaded.
        const error = await client.status({}).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        if (error === undefined) return;
        if (!isRunning(child)) throw new Error(`containerd ended at its start:\n${await this.#lastWords()}`);
        if (clock.monotonic() > giveUpMs)
          throw new Error(`containerd does not respond:\n${await this.#lastWords()}`, { cause: error });
        await sleep(clock, pollMs);
      }
    } finally {
      client.close();
    }
  }

  async #lastWords(): Promise<string> {
    return lastLines(await readFile(this.#logFile, 'utf8').catch(() => ''), 10);
  }

  /** Containers keep running while containerd is down, and it finds them again. */
  async #supervise(signal: AbortSignal): Promise<void> {
    const { clock, onProblem } = this.#options;
    let delayMs = firstRestartMs;
    for (;;) {
      const startedMs = clock.monotonic();
      const child = this.#child;
      if (child !== undefined && isRunning(child)) {
        try {
          await once(child, 'exit', { signal });
        } catch {
          return;
        }
      }
      if (signal.aborted) return;
      if (clock.monotonic() - startedMs > stableMs) delayMs = firstRestartMs;
      onProblem('containerd exited unexpectedly and is restarted', new Error(await this.#lastWords()));
      await sleep(clock, delayMs, signal);
      delayMs = Math.min(delayMs * 2, slowestRestartMs);
      await this.#launch().catch((error: unknown) => {
        if (isCancelled(error)) throw error;
        onProblem('containerd could not be restarted', error);
      });
    }
  }

  async #ensurePauseImage(): Promise<void> {
    const client = connectCri({ endpoint: this.endpoint, requestTimeoutMs: startTimeoutMs });
    try {
      const known = async (): Promise<boolean> =>
        (await client.imageStatus({ image: { image: pauseImageName } })).image !== undefined;
      if (await known()) return;
      const archive = path.join(this.#options.dataDir, 'pause.tar');
      await writeFile(archive, writeArchive([buildPauseImage()]));
      await this.importImages(archive);
      const { clock } = this.#options;
      const giveUpMs = clock.monotonic() + startTimeoutMs;
      // The CRI learns of an import from an event.
      while (!(await known())) {
        if (clock.monotonic() > giveUpMs) throw new Error('containerd does not show the sandbox image');
        await sleep(clock, pollMs);
      }
    } finally {
      client.close();
    }
  }
}

/** The runtime is not containerd, so it takes no images from an archive. */
export class ImportUnsupported extends Error {
  override readonly name = 'ImportUnsupported';
}

/** Imports an archive's images into a containerd, where its CRI finds them. */
export async function importImages(endpoint: string, archive: string, signal?: AbortSignal): Promise<void> {
  const address = endpoint.replace(/^unix:\/\//, '');
  const line = CommandLine.of('ctr').option('--address', address).option('--namespace', namespace);
  try {
    await runCommand(line.literal('images', 'import').operands(archive), {
      timeoutMs: 300_000,
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    const text = errorText(error);
    throw saysUnimplemented(text) ? new ImportUnsupported(text, { cause: error }) : error;
  }
}

/**
 * Whether ctr says that the server does not have containerd's services. ctr has no exit code for it: ctr 1.6
 * prints `unknown method /containerd.services.leases.v1.Leases/Create: not implemented`.
 */
export function saysUnimplemented(ctrOutput: string): boolean {
  return /not implemented|Unimplemented/i.test(ctrOutput);
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

/**
 * Directories at fixed places that containerd creates and leaves; they stay if another containerd uses them.
 */
async function removeSharedLeftovers(): Promise<void> {
  const controllers = await readdir(cgroupRoot).catch((): string[] => []);
  const dirs = [
    '/run/containerd/s',
    '/run/containerd/fifo',
    '/run/containerd',
    path.join(cgroupRoot, defaultCgroup),
    ...controllers.map((controller) => path.join(cgroupRoot, controller, defaultCgroup)),
  ];
  for (const directory of dirs) {
    // If it is not empty, it is in use or not ours.
    await rmdir(directory).catch(() => undefined);
  }
}

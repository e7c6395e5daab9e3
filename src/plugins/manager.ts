/** The plugin manager: looks after the sockets in the registration directory and keeps the plugins behind them registered. */
import { type Clock, errorText, TaskGroup, type Timer, WakeableSleep, withTimeout } from '../async/index.js';
import type { DirectoryWatch, Host } from '../host/index.js';
import type { Timeline } from '../timeline/index.js';
import type { OpenPluginSocket, PluginClaim, PluginHandler } from './contracts.js';
import { RegistrationFailure, registerPlugin } from './handshake.js';
import { pluginLimits } from './limits.js';
import {
  chosenSockets,
  type FoundSockets,
  failedOperation,
  type PlannedRegistration,
  planPlugins,
  type SocketOperation,
} from './plan.js';
import { PluginRecorder } from './recorder.js';
import { type PluginScan, scanForPlugins } from './scan.js';

export interface PluginManagerOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly host: Host;
  /** Where plugins put their registration sockets. */
  readonly directory: string;
  readonly open: OpenPluginSocket;
  /** By type: `CSIPlugin`. */
  readonly handlers: ReadonlyMap<string, PluginHandler>;
}

interface RegisteredPlugin {
  readonly identity: string;
  readonly claim: PluginClaim;
}

export class PluginManager {
  readonly #options: PluginManagerOptions;
  readonly #notes: PluginRecorder;
  readonly #tasks: TaskGroup;
  readonly #sleep = new WakeableSleep();
  readonly #watches = new Map<string, { readonly identity: string; readonly watch: DirectoryWatch }>();
  readonly #registered = new Map<string, RegisteredPlugin>();
  readonly #operations = new Map<string, SocketOperation>();
  #found: FoundSockets = new Map();
  #hasChanged = false;
  #timer: Timer | undefined;

  constructor(options: PluginManagerOptions) {
    this.#options = options;
    this.#notes = new PluginRecorder(options.timeline);
    this.#tasks = new TaskGroup({ onError: (task, error) => this.#notes.broken(task, error) });
  }

  /** Socket paths by state, for the metric. */
  sockets(): { readonly desired: readonly string[]; readonly actual: readonly string[] } {
    return { desired: [...this.#found.keys()], actual: [...this.#registered.keys()] };
  }

  /** Runs until aborted. Plugins stay registered then: the next run finds their sockets. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      for (;;) {
        this.#hasChanged = false;
        await this.#look();
        this.#reconcile();
        await this.#sleep.sleep(clock, this.#hasChanged ? 0 : pluginLimits.rescanMs, signal);
        // Several changes make one look, and a plugin that never rests does not keep the node busy.
        await new WakeableSleep().sleep(clock, pluginLimits.quietMs, signal);
      }
    } finally {
      this.#timer?.cancel();
      for (const { watch } of this.#watches.values()) watch.close();
      this.#watches.clear();
      await this.#tasks.stop();
    }
  }

  async #look(): Promise<void> {
    const { host, directory } = this.#options;
    let scan: PluginScan;
    try {
      scan = await scanForPlugins(host, directory);
    } catch (error) {
      this.#notes.unreadable([`${directory}: ${errorText(error)}`]);
      return;
    }
    const identities = new Map([...this.#registered].map(([path, { identity }]) => [path, identity]));
    this.#found = chosenSockets(scan.sockets, identities);
    const leftOut = scan.sockets.size - this.#found.size;
    this.#notes.unreadable([
      ...scan.problems,
      ...this.#follow(scan.directories),
      ...(leftOut > 0
        ? [`${leftOut} sockets are left out: more than ${pluginLimits.sockets} are in ${directory}`]
        : []),
    ]);
    for (const [path, { pending }] of this.#operations) {
      if (!pending && !this.#found.has(path)) this.#operations.delete(path);
    }
  }

  /** Watches these directories and no others; returns what cannot be watched. */
  #follow(directories: ReadonlyMap<string, string>): string[] {
    for (const [path, { identity, watch }] of this.#watches) {
      if (directories.get(path) === identity) continue;
      watch.close();
      this.#watches.delete(path);
    }
    const problems: string[] = [];
    for (const [path, identity] of directories) {
      if (this.#watches.has(path)) continue;
      try {
        this.#watches.set(path, { identity, watch: this.#options.host.watch(path, () => this.#changed()) });
        // What came between the look and the watch is seen by the next look.
        this.#changed();
      } catch (error) {
        problems.push(
          `${path} is looked at only every ${pluginLimits.rescanMs / 1000} s: ${errorText(error)}`,
        );
      }
    }
    return problems;
  }

  #changed(): void {
    this.#hasChanged = true;
    this.#sleep.wake();
  }

  #reconcile(): void {
    if (this.#tasks.signal.aborted) return;
    const { clock } = this.#options;
    const nowMs = clock.monotonic();
    const { steps, retryAtMs } = planPlugins({
      found: this.#found,
      registered: new Map([...this.#registered].map(([path, { identity }]) => [path, identity])),
      operations: this.#operations,
      nowMs,
    });
    for (const step of steps) this.#start(step);
    this.#timer?.cancel();
    this.#timer =
      retryAtMs === undefined
        ? undefined
        : clock.setTimer(Math.max(1, retryAtMs - nowMs), () => this.#reconcile());
  }

  #start(step: PlannedRegistration): void {
    const { socketPath, kind } = step;
    const last = this.#operations.get(socketPath);
    const identity = this.#found.get(socketPath) ?? '';
    const pending = { delayMs: 0, failedAtMs: 0, ...last, identity, pending: true };
    this.#operations.set(socketPath, pending);
    this.#tasks.start(`${kind} the plugin at ${socketPath}`, async (signal) => {
      try {
        if (kind === 'register') await this.#register(step, identity, last, signal);
        else await this.#deregister(step, signal);
      } finally {
        this.#reconcile();
      }
    });
  }

  async #register(
    { socketPath, because }: PlannedRegistration,
    identity: string,
    last: SocketOperation | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#options;
    try {
      const claim = await registerPlugin(socketPath, this.#options, signal);
      this.#registered.set(socketPath, { identity, claim });
      this.#operations.delete(socketPath);
      this.#notes.registered(socketPath, claim, because);
    } catch (error) {
      if (signal.aborted) return;
      const failure = failedOperation(last, identity, clock.monotonic());
      this.#operations.set(socketPath, failure);
      const claim = error instanceof RegistrationFailure ? error.claim : undefined;
      this.#notes.refused(socketPath, claim, error, failure.delayMs);
    }
  }

  async #deregister({ socketPath, because }: PlannedRegistration, signal: AbortSignal): Promise<void> {
    const { clock, handlers } = this.#options;
    const plugin = this.#registered.get(socketPath);
    try {
      if (plugin === undefined) return;
      const { claim } = plugin;
      const handler = handlers.get(claim.type);
      await withTimeout(clock, pluginLimits.deregisterMs, signal, async (limit) =>
        handler?.deregister(claim, limit),
      ).then(
        () => this.#notes.deregistered(socketPath, claim, because),
        (error: unknown) => this.#notes.notDeregistered(socketPath, claim, error),
      );
    } finally {
      this.#registered.delete(socketPath);
      this.#operations.delete(socketPath);
    }
  }
}

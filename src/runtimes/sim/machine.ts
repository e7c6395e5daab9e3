/** The machine under a simulated runtime: its state, and the levers for tests. */
import { type Clock, systemClock } from '../../async/index.js';
import { CriError, type CriMethodName } from '../../cri/index.js';
import { type LoopbackStreaming, loopbackStreaming, type StreamRequest } from '../../streaming/index.js';
import { PodEvents } from '../pod-events.js';
import { sandboxStatus } from '../pod-status.js';
import { createStamps } from '../stamps.js';
import { RuntimeStreamRequests } from '../stream-requests.js';
import { SimCalls } from './calls.js';
import { SimContainers, simContainerStatus } from './containers.js';
import { execStreams, requireRunning, type SimExec } from './exec.js';
import type { FaultPlan } from './faults.js';
import { type SimImage, SimImages } from './images.js';
import { SimMemoryLog } from './memory-log.js';
import { probeAnswer, type SimProbeAnswer, type SimProbeRequest } from './probe-answers.js';
import { SimPodIps, SimSandboxes } from './sandboxes.js';
import { type SimUsage, simUsageOf } from './stats.js';
import { type SimObserver, type SimSandbox, SimStore } from './store.js';
import { attachStreams, forwardPort, type SimPortForward } from './streams.js';

export interface SimRuntimeOptions {
  readonly clock?: Clock;
  /** What can be pulled, and what is present from the start; default: `any` image can be pulled. */
  readonly images?: 'any' | readonly SimImage[];
  /** The range of pod addresses; default 10.88.0.0/16. */
  readonly podCidr?: string;
  /** Whether GetContainerEvents is implemented, as in containerd from 1.7 on; default yes. */
  readonly containerEvents?: boolean;
  /** Log files are written for sandboxes whose log directory is below this one; default: none. */
  readonly logRoot?: string;
  /** Each container's last output is kept in memory, up to this much; default: none. */
  readonly logBytes?: number;
  /** Serves ExecSync and Exec before annotations and commands do. */
  readonly exec?: SimExec;
  /** Serves pods' ports before annotations do. */
  readonly portForward?: SimPortForward;
  /** Runtime handlers besides the default one. */
  readonly runtimeHandlers?: readonly string[];
  /** Default cgroupfs. */
  readonly cgroupDriver?: 'systemd' | 'cgroupfs';
  /** Part of all ids, so that those of two runtimes differ. */
  readonly seed?: string;
  /** Sees what happens to sandboxes and containers at the moment when it happens. */
  readonly observer?: SimObserver;
}

export type SimConditionName = 'RuntimeReady' | 'NetworkReady';

export interface SimCondition {
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

const ready: SimCondition = { status: true, reason: '', message: '' };

export class SimMachine {
  readonly images: SimImages;
  /** The fault plan. */
  readonly faults: FaultPlan;
  /** Calls so far by method, whatever their outcome. */
  readonly calls: Record<CriMethodName, number>;
  protected readonly options: SimRuntimeOptions;
  protected readonly stamp: () => bigint;
  protected readonly clock: Clock;
  protected readonly front: SimCalls;
  protected readonly store: SimStore;
  protected readonly events: PodEvents<SimSandbox>;
  protected readonly containers: SimContainers;
  protected readonly sandboxes: SimSandboxes;
  protected readonly streams: RuntimeStreamRequests;
  #streaming: LoopbackStreaming | undefined;
  readonly #closing = new Set<Promise<void>>();
  protected readonly conditions = new Map<SimConditionName, SimCondition>([
    ['RuntimeReady', ready],
    ['NetworkReady', ready],
  ]);

  constructor(options: SimRuntimeOptions = {}) {
    const clock = options.clock ?? systemClock;
    const stamp = createStamps(() => clock.now());
    this.stamp = stamp;
    this.options = options;
    this.clock = clock;
    this.front = new SimCalls(clock);
    this.faults = this.front.faults;
    this.calls = this.front.counts;
    this.store = new SimStore(options.seed ?? 'sim');
    this.images = new SimImages({ clock, stamp, known: options.images ?? 'any', mountpoint: '/sim' });
    this.events = new PodEvents<SimSandbox>({
      stamp,
      sandboxStatus,
      containerStatuses: (sandbox) => [...sandbox.containers].map(simContainerStatus),
    });
    const { store, images, events } = this;
    const { observer } = options;
    this.containers = new SimContainers({
      clock,
      store,
      images,
      events,
      stamp,
      logRoot: options.logRoot,
      logBytes: options.logBytes,
      observer,
    });
    this.sandboxes = new SimSandboxes({
      store,
      events,
      stamp,
      observer,
      containers: this.containers,
      ips: new SimPodIps(options.podCidr ?? '10.88.0.0/16'),
      runtimeHandlers: options.runtimeHandlers ?? [],
      networkReady: () => this.conditions.get('NetworkReady')?.status ?? false,
    });
    this.streams = new RuntimeStreamRequests({
      streaming: { url: (request) => this.#streamingUrl(request), close: () => this.#cutStreams() },
      checkContainer: (id) =>
        requireRunning(this.containers.find(id, `failed to find container "${id}" in store: not found`)),
      checkSandbox: (id) => this.#readySandbox(id),
    });
  }

  /** How many event streams are open. */
  get eventReaders(): number {
    return this.events.readers;
  }

  /** Existing sandboxes and containers, in whatever state. */
  get size(): { readonly sandboxes: number; readonly containers: number } {
    return { sandboxes: this.store.sandboxes.size, containers: this.store.containers.size };
  }

  /** Without a network, sandboxes that need their own cannot run. */
  setCondition(name: SimConditionName, status: boolean, reason = '', message = ''): void {
    this.conditions.set(name, { status, reason, message });
  }

  /** The runtime's process is gone: calls fail with Unavailable, containers keep running. */
  goAway(): void {
    this.front.goAway();
    this.events.breakStreams();
    const cut = this.#cutStreams().finally(() => this.#closing.delete(cut));
    this.#closing.add(cut);
  }

  comeBack(): void {
    this.front.comeBack();
  }

  /** Breaks the open event streams; new ones can be opened. */
  breakEventStreams(): void {
    this.events.breakStreams();
  }

  /** What a container has printed of late, where output is kept in memory. */
  memoryLog(containerId: string): SimMemoryLog | undefined {
    const log = this.store.containers.get(containerId)?.log;
    return log instanceof SimMemoryLog ? log : undefined;
  }

  /** What all containers use now. CPU time of containers that are removed is no longer part of it. */
  usage(): SimUsage {
    return simUsageOf(this.store.containers.values(), this.stamp());
  }

  /** What a probe over the network finds; undefined for a container that the runtime does not have. */
  probe(containerId: string, request: SimProbeRequest): SimProbeAnswer | undefined {
    const container = this.store.containers.get(containerId);
    if (container === undefined) return undefined;
    const { state, script } = container;
    if (state.kind !== 'running') return { kind: 'refused' };
    return probeAnswer(script.probes, request, this.clock.now() - Number(state.startedAt / 1_000_000n));
  }

  /** Makes a running container exit by itself. */
  exitContainer(containerId: string, exitCode: number, reason?: string): void {
    this.containers.exit(containerId, exitCode, reason);
  }

  /** Loses a container as if it had never been, without an event. */
  forgetContainer(containerId: string): void {
    this.containers.forget(containerId);
  }

  /** Loses a sandbox with its containers as if they had never been, without an event. */
  forgetSandbox(sandboxId: string): void {
    this.sandboxes.forget(sandboxId);
  }

  /** Kills the sandbox's own process; its containers run until they are stopped. */
  killSandbox(sandboxId: string): void {
    this.sandboxes.die(sandboxId);
  }

  /**
   * Reboots the machine: running containers become exited with 255 (`Unknown`), sandboxes not ready, created
   * containers stay created. Running calls lose their response.
   */
  reboot(): void {
    this.goAway();
    for (const sandbox of this.store.sandboxes.values()) this.sandboxes.lose(sandbox);
    this.comeBack();
  }

  /** Leaves no timer and no open stream behind, and no socket once the promise resolves. */
  async close(): Promise<void> {
    this.goAway();
    for (const sandbox of this.store.sandboxes.values()) this.sandboxes.lose(sandbox);
    await Promise.all(this.#closing);
  }

  /** Sockets are opened for the first stream request, and closed with the runtime. */
  #streamingUrl(request: StreamRequest): Promise<string | undefined> {
    this.#streaming ??= loopbackStreaming({
      clock: this.clock,
      backend: {
        exec: (wanted, streams, signal) =>
          execStreams(this.clock, this.containers.find(wanted.containerId), wanted, streams, {
            exec: this.options.exec,
            signal,
          }),
        attach: (wanted, streams, signal) =>
          attachStreams(this.containers.find(wanted.containerId), wanted, streams, signal),
        portForward: (id, port, stream) =>
          forwardPort(this.#readySandbox(id), port, stream, this.options.portForward),
      },
    });
    return this.#streaming.url(request);
  }

  async #cutStreams(): Promise<void> {
    const streaming = this.#streaming;
    this.#streaming = undefined;
    await streaming?.close();
  }

  #readySandbox(id: string): SimSandbox {
    const sandbox = this.store.sandboxes.get(id);
    if (sandbox === undefined) {
      throw new CriError('NotFound', `failed to find sandbox "${id}" in store: not found`);
    }
    if (!sandbox.ready) throw new CriError('Unknown', `sandbox container "${id}" is not running`);
    return sandbox;
  }
}

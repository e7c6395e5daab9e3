/** A node whose pods and entries a test sets: the endpoints that the page follows, on a socket that can go and come back. */

import { systemClock } from '../../src/async/index.js';
import { baselineConfiguration, resolveFeatureGates } from '../../src/config/index.js';
import { unimplementedCriRuntime } from '../../src/cri/index.js';
import type { Pod } from '../../src/kube/index.js';
import type { ServerListener } from '../../src/server/index.js';
import type { LocalKubelet } from '../../src/server/local/index.js';
import { startLocalServer } from '../../src/server/local/index.js';
import { Timeline } from '../../src/timeline/index.js';

const notServed = (): Promise<never> => Promise.reject(new Error('the node is not served here'));

export class FakeNode {
  readonly socketPath: string;
  #recordMs: number | undefined;
  #timeline = this.#newTimeline();
  #listener: ServerListener | undefined;
  readonly #pods = new Map<string, Pod>();
  readonly #bells = new Set<() => void>();

  constructor(socketPath: string) {
    this.socketPath = socketPath;
  }

  /** Entries may be of a moment that the test says. */
  #newTimeline(): Timeline {
    return new Timeline({ clock: { ...systemClock, now: () => this.#recordMs ?? Date.now() } });
  }

  /** Its timeline begins anew, as that of a process does. */
  async start(): Promise<void> {
    this.#timeline = this.#newTimeline();
    for (const name of this.#pods.keys()) this.#recordStart(name);
    this.#listener = await startLocalServer(this.#kubelet(), {
      socketPath: this.socketPath,
      timeline: this.#timeline,
      stop: notServed,
      limits: { closeGraceMs: 0 },
    });
  }

  async stop(): Promise<void> {
    await this.#listener?.close();
    this.#listener = undefined;
  }

  uidOf(name: string): string {
    return `uid-${name}`;
  }

  setPods(...names: readonly string[]): void {
    this.#pods.clear();
    for (const name of names) {
      this.#pods.set(name, this.#pod(name, 1));
      if (this.#listener !== undefined) this.#recordStart(name);
    }
    this.#ring();
  }

  /** As many of its three containers are ready then. */
  change(name: string, ready = 3): void {
    this.#pods.set(name, this.#pod(name, ready));
    const pod = { uid: this.uidOf(name), name, namespace: 'default' };
    const [from, to] = ready === 3 ? (['False', 'True'] as const) : (['True', 'False'] as const);
    this.#timeline.record({
      kind: 'transition',
      what: 'pod.ready',
      message: `Ready ${from} → ${to}`,
      data: { from, to },
      pod,
    });
    this.#ring();
  }

  /** Its first container ended and started again so often, in the hour before now. */
  addRestarts(name: string, restarts: number): void {
    const pod = { uid: this.uidOf(name), name, namespace: 'default' };
    const hourMs = 3_600_000;
    for (let restart = 1; restart <= restarts; restart++) {
      const endedMs = Date.now() - hourMs + (hourMs * (restart - 1)) / restarts;
      const told = { kind: 'transition', what: 'container.state', container: 'a', pod } as const;
      const at = (partOfRound: number): void => {
        this.#recordMs = endedMs + (partOfRound * hourMs) / restarts;
      };
      at(0);
      this.#timeline.record({
        ...told,
        message: 'running → terminated',
        because: 'its process ended with 3',
        data: { from: 'running', to: 'terminated', exitCode: 3, reason: 'Error', restartCount: restart - 1 },
      });
      at(0.1);
      this.#timeline.record({
        ...told,
        message: 'terminated → waiting',
        because: 'it failed before',
        data: { from: 'terminated', to: 'waiting', reason: 'CrashLoopBackOff', restartCount: restart - 1 },
      });
      at(0.8);
      this.#timeline.record({
        ...told,
        message: 'waiting → running',
        data: { from: 'waiting', to: 'running', restartCount: restart },
      });
    }
    this.#recordMs = undefined;
  }

  #ring(): void {
    for (const bell of this.#bells) bell();
  }

  #recordStart(name: string): void {
    const pod = { uid: this.uidOf(name), name, namespace: 'default' };
    const image = { kind: 'event', message: 'image', container: 'app', pod } as const;
    const beganMs = Date.now() - 60_000;
    this.#recordMs = beganMs;
    this.#timeline.record({
      kind: 'observation',
      what: 'pod.seen',
      message: 'seen',
      durationMs: 0,
      data: { source: 'file' },
      pod,
    });
    this.#timeline.record({ ...image, what: 'event.Pulling', event: { type: 'Normal', reason: 'Pulling' } });
    this.#recordMs = beganMs + 5_000;
    this.#timeline.record({ ...image, what: 'event.Pulled', event: { type: 'Normal', reason: 'Pulled' } });
    this.#timeline.record({
      kind: 'transition',
      what: 'pod.ready',
      message: 'Ready False → True',
      data: { from: 'False', to: 'True' },
      pod,
    });
    this.#recordMs = undefined;
  }

  #pod(name: string, ready: number): Pod {
    const containers = ['a', 'b', 'c'];
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace: 'default',
        uid: this.uidOf(name),
        // Old enough that its age stands still.
        creationTimestamp: new Date(Date.now() - 86_400_000 * 3).toISOString(),
      },
      spec: { containers: containers.map((one) => ({ name: one, image: 'host' })) },
      status: {
        phase: 'Running',
        containerStatuses: containers.map((one, at) => ({
          name: one,
          ready: at < ready,
          restartCount: 0,
          image: 'host',
          imageID: '',
          state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
        })),
      },
    };
  }

  #kubelet(): LocalKubelet {
    const subscribe = (listener: () => void): (() => void) => {
      this.#bells.add(listener);
      return () => void this.#bells.delete(listener);
    };
    return {
      nodeName: 'here',
      clock: systemClock,
      config: baselineConfiguration(resolveFeatureGates({}).gates),
      timeline: this.#timeline,
      runtime: unimplementedCriRuntime(),
      pods: () => [...this.#pods.values()],
      runningPods: async () => [],
      onStatus: (listener) => subscribe(() => listener({ uid: '', status: {} })),
      onPods: subscribe,
      blockers: () => [],
      healthChecks: [],
      whatIf: {
        evict: notServed,
        gc: notServed,
        shutdown: () => ({ delaySeconds: 0, groups: [] }),
        config: notServed,
      },
      describeNode: notServed,
    };
  }
}

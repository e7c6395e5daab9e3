/** A PLEG on a scripted runtime, in virtual time. */
import { expect } from 'vitest';
import { TaskGroup, VirtualClock } from '../../async/index.js';
import { absentPodStatus, type ObservedPod, type ObservedPodStatus } from '../../cri/index.js';
import { Timeline } from '../../timeline/index.js';
import { createPlegMetrics } from '../metrics.js';
import { Pleg, type PlegOptions } from './pleg.js';
import type { PodParts, PodReader } from './ports.js';

export type ListedState = 'created' | 'running' | 'exited' | 'unknown';

/** A runtime whose pods the test sets; `pod` → container id → state. */
export class ScriptedRuntime {
  pods = new Map<string, Record<string, ListedState>>();
  /** Pods listed with a sandbox. */
  sandboxes = new Set<string>();
  /** What the agent created and no relist has shown yet. */
  created = new Map<string, PodParts>();
  readError: Error | undefined;
  ips: string[] = [];
  sandboxReady = true;
  listError: Error | undefined;
  inspectError: Error | undefined;
  /** Pods whose inspection hangs until the promise settles. */
  hangs = new Map<string, Promise<void>>();
  calls: string[] = [];
  isStarting = false;
  podsWait = false;
  readonly byId: PodReader = {
    unseen: (uid) => this.created.get(uid) ?? { sandboxIds: [], containers: [] },
    seen: (uid) => void this.created.delete(uid),
    read: async (uid, { sandboxIds, containers }) => {
      this.calls.push(`read ${[...sandboxIds, ...containers.map(({ id }) => id)].join(' ')}`);
      if (this.readError !== undefined) throw this.readError;
      const status = await this.#status(uid);
      const pod = this.#pod(uid);
      const there = new Set(pod.containers.map(({ id }) => id));
      if (!this.pods.has(uid) || containers.some(({ id }) => !there.has(id))) return undefined;
      const asked = new Set(containers.map(({ id }) => id));
      return { pod: { ...pod, containers: pod.containers.filter(({ id }) => asked.has(id)) }, status };
    },
  };
  constructor(private readonly clock: VirtualClock) {}
  #pod(uid: string): ObservedPod {
    const containers = Object.entries(this.pods.get(uid) ?? {}).map(([id, state]) => ({
      id,
      name: id,
      sandboxId: `s-${uid}`,
      state,
      image: 'i',
      imageId: 'i',
      hash: '',
      createdAtNs: 1n,
    }));
    return {
      uid,
      name: uid,
      namespace: 'd',
      sandboxes: this.sandboxes.has(uid)
        ? [{ id: `s-${uid}`, state: 'running', attempt: 0, createdAtNs: 1n }]
        : [],
      containers,
      observedAtMs: this.clock.monotonic(),
    };
  }
  isEnding: (uid: string) => boolean = () => false;
  async listPods(): Promise<ObservedPod[]> {
    this.calls.push('list');
    if (this.listError !== undefined) throw this.listError;
    return [...this.pods.keys()].map((uid) => this.#pod(uid));
  }
  async listPod(uid: string): Promise<ObservedPod | undefined> {
    this.calls.push(`list ${uid}`);
    return this.pods.has(uid) ? this.#pod(uid) : undefined;
  }
  async podStatus(uid: string): Promise<ObservedPodStatus> {
    this.calls.push(`inspect ${uid}`);
    return this.#status(uid);
  }
  async #status(uid: string): Promise<ObservedPodStatus> {
    const states = { ...this.pods.get(uid) };
    await this.hangs.get(uid);
    if (this.inspectError !== undefined) throw this.inspectError;
    return {
      ...absentPodStatus(uid),
      name: uid,
      namespace: Object.values(states).join(' '),
      ips: this.ips,
      sandboxes: [
        {
          id: 's',
          ready: this.sandboxReady,
          attempt: 0,
          createdAtNs: 1n,
          hostNetwork: false,
          network: undefined,
          runtimeHandler: '',
        },
      ],
    };
  }
}

export class PlegBench {
  readonly clock = new VirtualClock();
  readonly runtime = new ScriptedRuntime(this.clock);
  readonly metrics = createPlegMetrics();
  /** Ids that the agent itself removed. */
  readonly own = new Set<string>();
  pleg = this.create();
  #tasks = new TaskGroup({ onError: () => {} });

  create(options: Partial<PlegOptions> = {}): Pleg {
    this.pleg = new Pleg({
      clock: this.clock,
      runtime: this.runtime,
      timeline: new Timeline({ clock: this.clock }),
      isOwnRemoval: (id) => this.own.has(id),
      metrics: this.metrics,
      ...options,
    });
    return this.pleg;
  }

  /** The events since the last call, each as type and id. */
  taken(): string[] {
    const events: string[] = [];
    for (;;) {
      const next = this.pleg.events.tryReceive();
      if (next === undefined || next.done) return events;
      events.push(`${next.value.type} ${next.value.id}`);
    }
  }

  /** The events of one relist while the runtime has exactly these pods. */
  async relist(pods: Record<string, Record<string, ListedState>>): Promise<string[]> {
    this.runtime.pods = new Map(Object.entries(pods));
    this.runtime.calls = [];
    await this.clock.advance(1);
    await this.pleg.relist();
    return this.taken();
  }

  start(): void {
    this.#tasks = new TaskGroup({
      onError: (_task, error) => {
        throw error;
      },
    });
    this.#tasks.start('pleg', (signal) => this.pleg.run(signal));
  }

  async stop(): Promise<void> {
    await this.#tasks.stop();
    expect(this.clock.pendingTimers).toBe(0);
  }
}

import { describe, expect, it } from 'vitest';
import { settle, TaskGroup, VirtualClock } from '../../async/index.js';
import { configSourceAnnotation, isTerminalPhase, type Pod } from '../../kube/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { Informer, type KubeApi, resources } from '../../kube-client/index.js';
import { Timeline } from '../../timeline/index.js';
import { PodManager } from '../desired/index.js';
import { ApiStatusSync } from './api-sync.js';
import { StatusManager } from './manager.js';
import { statusOf } from './pod-fixtures.js';

/** The same numbers for the same seed, so that a failure can be reproduced. */
function randomOf(seed: number): () => number {
  let state = seed * 2_654_435_761 + 1;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

const names = ['a', 'b', 'c', 'd'];

/** One node whose pods change while everything between it and the API goes wrong. */
class World {
  readonly clock = new VirtualClock();
  readonly api = new SimulatedKubeApi({ clock: this.clock });
  readonly timeline = new Timeline({ clock: this.clock });
  readonly pods = new PodManager();
  readonly tasks = new TaskGroup({
    onError: (_, error) => {
      throw error;
    },
  });
  readonly random: () => number;
  readonly wrongDeletions: string[] = [];
  #statuses: StatusManager;
  #agent = new TaskGroup({ onError: () => undefined });
  #restarts = 0;
  #backups = [this.api.snapshot()];

  constructor(seed: number) {
    this.random = randomOf(seed);
    this.#follow();
    this.#statuses = this.#startAgent();
  }

  get statuses(): StatusManager {
    return this.#statuses;
  }

  #follow(): void {
    const informer: Informer<Pod> = new Informer({
      api: this.api,
      clock: this.clock,
      resource: resources.pods,
      random: this.random,
      onUpdate: () => {
        const seen = new Set(informer.list().map(({ metadata }) => metadata.uid));
        for (const pod of this.pods.list()) if (!seen.has(pod.metadata.uid)) this.pods.remove(pod);
        for (const pod of informer.list()) {
          const annotations = { [configSourceAnnotation]: 'api' };
          this.pods.upsert({ ...pod, metadata: { ...pod.metadata, annotations } });
        }
      },
    });
    this.tasks.start('informer', (signal) => informer.run(signal));
  }

  /** A new process knows nothing of what the last one wrote. */
  #startAgent(): StatusManager {
    const { clock, timeline, pods } = this;
    const statuses = new StatusManager({ clock, timeline, podOf: (uid) => pods.byUid(uid) });
    const sync = new ApiStatusSync({
      clock,
      timeline,
      api: this.#watched(),
      statuses,
      pods,
      couldHaveRunningContainers: () => false,
      random: this.random,
    });
    this.#agent.start('sync', (signal) => sync.run(signal));
    return statuses;
  }

  /** Checks that nothing is deleted that should not be. */
  #watched(): KubeApi {
    const check = (name: string, uid: string | undefined): void => {
      const stored = this.api.snapshot().collections.get('pods')?.get(`n/${name}`);
      if (uid === undefined) this.wrongDeletions.push(`${name} without UID`);
      if (stored?.metadata.uid === uid && stored?.metadata.deletionTimestamp === undefined) {
        this.wrongDeletions.push(name);
      }
    };
    return new Proxy(this.api, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        if (property !== 'delete') return value.bind(target);
        return (...call: Parameters<KubeApi['delete']>) => {
          if (target.faults.reachable) check(call[1].name, call[2]?.preconditions?.uid);
          return target.delete(...call);
        };
      },
    });
  }

  async restartAgent(): Promise<void> {
    await this.#agent.stop();
    this.#agent = new TaskGroup({ onError: () => undefined });
    this.#restarts++;
    this.#statuses = this.#startAgent();
  }

  /** Plays the workers and housekeeping. */
  work(round: number, isQuiet = false): void {
    for (const pod of this.pods.list()) {
      const { uid, deletionTimestamp } = pod.metadata;
      if (deletionTimestamp !== undefined) {
        this.#statuses.set(pod, { phase: 'Failed' });
        if (isQuiet || this.random() < 0.5) this.#statuses.terminate(pod);
        continue;
      }
      if (isQuiet) continue;
      const entry = this.#statuses.entry(uid);
      if (entry === undefined ? isTerminalPhase(pod.status?.phase) : isTerminalPhase(entry.status.phase))
        continue;
      if (entry !== undefined && this.random() < 0.5) continue;
      this.#statuses.set(pod, {
        phase: 'Running',
        conditions: [{ type: 'Ready', status: this.random() < 0.5 ? 'True' : 'False' }],
        containerStatuses: [statusOf('c', 'running', { restartCount: this.#restarts * 1000 + round })],
      });
    }
    this.#statuses.removeOrphaned(new Set(this.pods.list().map(({ metadata }) => metadata.uid)));
  }

  async mishap(): Promise<void> {
    const { api, clock, random } = this;
    const name = names[Math.floor(random() * names.length)] ?? '';
    const ref = { namespace: 'n', name };
    const ignore = (): undefined => undefined;
    switch (Math.floor(random() * 12)) {
      case 0:
      case 1:
        await api
          .create(resources.pods, {
            metadata: { name, namespace: 'n' },
            spec: { nodeName: 'node', containers: [{ name: 'c', image: 'i' }] },
          })
          .catch(ignore);
        break;
      case 2:
        await api.delete(resources.pods, ref).catch(ignore);
        break;
      case 3:
        await api.delete(resources.pods, ref, { gracePeriodSeconds: 0 }).catch(ignore);
        break;
      case 4:
        api.setReachable(false);
        await clock.advance(random() * 600_000);
        api.setReachable(true);
        break;
      case 5:
        api.cutWatches();
        break;
      case 6:
        api.faults.add({ verb: 'patch', fault: { kind: 'lose-response' } });
        break;
      case 7:
        api.faults.add({ verb: 'delete', fault: { kind: 'lose-response' } });
        break;
      case 8:
        this.#backups.push(api.snapshot());
        break;
      case 9:
        await this.#restore();
        break;
      case 10:
        await this.meddle(name);
        break;
      case 11:
        await this.restartAgent();
        break;
    }
  }

  /** Somebody else writes the status of a pod. */
  async meddle(name: string): Promise<void> {
    const body = { status: { phase: 'Pending', containerStatuses: [statusOf('c', 'waiting')] } };
    const patch = { type: 'strategic', body } as const;
    await this.api
      .patch(resources.pods, { namespace: 'n', name }, patch, { subresource: 'status' })
      .catch(() => undefined);
  }

  async #restore(): Promise<void> {
    const { api, random } = this;
    // A cluster writes much more than this node's pods, so a backup is far behind what was seen.
    for (let n = 0; n < 60; n++) {
      const name = `filler-${this.clock.monotonic()}-${n}`;
      await api.create(resources.configMaps, { metadata: { name, namespace: 'n' } });
    }
    await api.create(resources.pods, {
      metadata: { name: `last-${this.clock.monotonic()}`, namespace: 'n' },
      spec: { containers: [] },
    });
    await settle();
    const backup = this.#backups[Math.floor(random() * this.#backups.length)];
    if (backup !== undefined) api.restore(backup);
    // Meanwhile work goes on with the old state.
    this.work(0);
    await this.clock.advance(60_000);
  }

  async stop(): Promise<void> {
    await this.#agent.stop();
    await this.tasks.stop();
  }
}

describe('statuses converge whatever happens, and nothing is deleted that the API did not delete', () => {
  it.each(Array.from({ length: 25 }, (_, n) => n + 1))('seed %i', async (seed) => {
    const world = new World(seed);
    const { api, clock, pods, random } = world;
    for (let round = 0; round < 40; round++) {
      await world.mishap();
      world.work(round);
      await clock.advance(random() * 15_000);
    }
    for (const name of names) if (random() < 0.5) await world.meddle(name);
    // Nothing changes any more, except that deleted pods end.
    for (let round = 0; round < 10; round++) {
      await clock.advance(10_000);
      world.work(1000, true);
    }
    await clock.advance(30_000);
    expect(world.wrongDeletions).toEqual([]);
    for (const { uid, status } of world.statuses.entries()) {
      const name = pods.byUid(uid)?.metadata.name ?? '';
      const stored = await api.get(resources.pods, { namespace: 'n', name });
      expect(stored.metadata.uid).toBe(uid);
      expect(stored.status?.phase).toBe(status.phase);
      expect(stored.status?.containerStatuses ?? []).toEqual(status.containerStatuses ?? []);
    }
    // Deleted pods that have ended are gone.
    const left = (await api.list(resources.pods)).items;
    expect(left.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([]);
    await world.stop();
    expect(clock.pendingTimers).toBe(0);
  });
});

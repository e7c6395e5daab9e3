import { beforeEach, describe, expect, it } from 'vitest';
import { settle, VirtualClock, WorkQueue } from '../../async/index.js';
import { absentPodStatus, type ObservedPod, type ObservedPodStatus } from '../../cri/index.js';
import type { Pod, PodStatus } from '../../kube/index.js';
import { PodManager, PodWorkers, ReasonCache, StatusManager } from '../../pods/index.js';
import { SyncFailure, type SyncStepResult } from '../../runtime-manager/index.js';
import { Timeline } from '../../timeline/index.js';
import { createKubeletMetrics } from '../metrics.js';
import { type PodCgroups, withoutVolumes } from '../ports.js';
import { Housekeeping } from './housekeeping.js';
import { KubeletPodSyncer, type SyncerRuntime } from './pod-syncer.js';

/** Cgroups that note what is done to them. */
class NotedCgroups implements PodCgroups {
  readonly done: string[] = [];
  present = new Set<string>();
  listError: Error | undefined;
  async list(): Promise<readonly string[]> {
    if (this.listError !== undefined) throw this.listError;
    return [...this.present];
  }
  exists = async (pod: Pod): Promise<boolean> => this.present.has(pod.metadata.uid);
  ensure = async (pod: Pod): Promise<void> => {
    this.done.push(`ensure ${pod.metadata.uid}`);
    this.present.add(pod.metadata.uid);
  };
  destroy = async (pod: Pod): Promise<void> => void this.done.push(`destroy ${pod.metadata.uid}`);
  destroyLater = (uid: string): void => void this.done.push(`destroy later ${uid}`);
  minimizeCpu = async (uid: string): Promise<void> => void this.done.push(`minimize ${uid}`);
  parentOf = (): string => '/x';
}

const pod = (uid: string, spec: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { uid, name: uid, namespace: 'd' },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});

let clock: VirtualClock;
let timeline: Timeline;
let cgroups: NotedCgroups;
beforeEach(() => {
  clock = new VirtualClock();
  timeline = new Timeline({ clock });
  cgroups = new NotedCgroups();
});

describe('housekeeping of cgroups', () => {
  const setup = (volumesOf: string[]) => {
    const pods = new PodManager();
    const statuses = new StatusManager({ clock, timeline, podOf: (uid) => pods.byUid(uid) });
    const killed: string[] = [];
    const never = new Promise<never>(() => {});
    const done = { kind: 'done', terminal: false } as const;
    const workers = new PodWorkers({
      clock,
      timeline,
      queue: new WorkQueue<string>(clock),
      resyncMs: 60_000,
      statuses: {
        peek: (uid) => ({ status: absentPodStatus(uid) }),
        newerThan: async (uid) => absentPodStatus(uid),
      },
      syncer: {
        syncPod: async () => done,
        syncTerminatingPod: () => never,
        syncTerminatingRuntimePod: async ({ uid }) => {
          killed.push(uid);
          return done;
        },
        syncTerminatedPod: async () => done,
      },
    });
    const running: ObservedPod = {
      uid: 'stranger',
      name: 's',
      namespace: 'd',
      containers: [],
      sandboxes: [{ id: 's', state: 'running', attempt: 0, createdAtNs: 1n }],
      observedAtMs: 0,
    };
    const housekeeping = new Housekeeping({
      timeline,
      pods,
      workers,
      statuses,
      cgroups,
      observedPods: () => [running],
      listRunningPods: async () => [running],
      cleanPodDirectories: async () => true,
      collectBackoff: () => {},
      podVolumesExist: (uid) => volumesOf.includes(uid),
      metrics: createKubeletMetrics(),
    });
    return { pods, workers, housekeeping, killed };
  };

  it('an orphan with volumes only loses its CPU, one without goes, one of a pod that still stops stays', async () => {
    const { pods, workers, housekeeping } = setup(['orphan-with-volumes']);
    const stopping = pod('stopping');
    pods.upsert(stopping);
    workers.update({ type: 'create', pod: stopping });
    await settle();
    workers.update({ type: 'kill', pod: stopping });
    await settle();
    cgroups.present = new Set(['orphan-with-volumes', 'orphan', 'stopping']);
    await housekeeping.run();
    expect(cgroups.done).toEqual(['minimize orphan-with-volumes', 'destroy later orphan']);
  });
  it('nothing is done at all when the cgroups cannot be listed', async () => {
    const { housekeeping, killed } = setup([]);
    cgroups.listError = new Error('no such mount');
    await expect(housekeeping.run()).rejects.toThrow(
      'failed to get list of pods that still exist on cgroup mounts: no such mount',
    );
    await settle();
    expect(killed).toEqual([]);
  });
});

describe('the cgroup of a pod that is synced', () => {
  const sync = async (given: Pod, phase: 'running' | 'new', killFails = false): Promise<string[]> => {
    const done = cgroups.done;
    const steps: SyncStepResult[] = killFails
      ? [{ action: 'KillContainer', target: 'c', failure: new SyncFailure('KillContainerError', 'stuck') }]
      : [];
    const runtime: SyncerRuntime = {
      syncPod: async () => {
        done.push('sync');
        return { steps: [], plan: {} as never, sandboxCreated: false, podIps: [], resyncAtOnce: false };
      },
      resizeAlone: () => undefined,
      killPod: async () => {
        done.push('kill');
        return { steps };
      },
      podStatus: async (uid) => absentPodStatus(uid),
    };
    const status: PodStatus = {
      phase: 'Running',
      containerStatuses: [
        {
          name: 'c',
          image: 'i',
          imageID: '',
          ready: true,
          restartCount: 0,
          state: phase === 'running' ? { running: {} } : { waiting: {} },
        },
      ],
    };
    const observed: ObservedPodStatus = absentPodStatus('p');
    const syncer = new KubeletPodSyncer({
      clock,
      timeline,
      runtime,
      statuses: new StatusManager({ clock, timeline, podOf: () => given }),
      generateStatus: () => status,
      reasons: new ReasonCache(),
      volumes: withoutVolumes,
      networkError: () => undefined,
      isTerminationRequested: () => false,
      makePodDirectories: async () => {},
      observedSince: async (uid) => absentPodStatus(uid),
      removeDeadContainers: () => {},
      requestRelist: () => {},
      requestPodRelist: () => {},
      syncAgain: () => {},
      isStopping: () => false,
      preparationsAtOnce: 1,
      metrics: createKubeletMetrics(),
      cgroups,
    });
    await syncer.syncPod({
      type: 'sync',
      pod: given,
      mirror: undefined,
      status: observed,
      signal: new AbortController().signal,
    });
    return done;
  };
  it.each<[string, Pod, 'running' | 'new', boolean, string[]]>([
    ['missing for a new pod: made', pod('p'), 'new', false, ['ensure p', 'sync']],
    [
      'missing under running containers: they are killed, then it is made',
      pod('p'),
      'running',
      false,
      ['kill', 'ensure p', 'sync'],
    ],
    [
      'missing under a pod that runs once: not made again',
      pod('p', { restartPolicy: 'Never' }),
      'running',
      false,
      ['kill', 'sync'],
    ],
    [
      'a kill that failed does not keep it from being made',
      pod('p', { restartPolicy: 'Never' }),
      'running',
      true,
      ['kill', 'ensure p', 'sync'],
    ],
  ])('%s', async (_rule, given, phase, killFails, done) => {
    expect(await sync(given, phase, killFails)).toEqual(done);
  });
  it('there: left alone', async () => {
    cgroups.present.add('p');
    expect(await sync(pod('p'), 'running')).toEqual(['sync']);
  });
});

/** What changed manifests make of the pods of a run, and what the next process makes of pods that were kept. */
import { describe, expect, it } from 'vitest';
import { settle } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { type KeptPod, type RunPod, RunPods } from './run-pods.js';

interface Manifest {
  readonly image?: string;
  readonly command?: string;
  readonly slot?: string;
  readonly policy?: string;
  readonly job?: number;
}

/** The UID follows from the content, as it does in a run. */
function manifest(
  name: string,
  { image = 'i:1', command = 'a', slot = `Pod ${name}`, policy = 'Always', job }: Manifest = {},
): RunPod {
  const pod: Pod = {
    metadata: { name, namespace: 'default', uid: `${name} ${image} ${command}` },
    spec: {
      restartPolicy: policy,
      terminationGracePeriodSeconds: 7,
      containers: [{ name: 'c', image, command: [command] }],
    },
  };
  return { pod, slot, ...(job === undefined ? {} : { job: { key: 'job', parallelism: job } }) };
}

interface World {
  readonly pods: RunPods;
  /** What the kubelet was told last. */
  readonly told: () => string;
  readonly kept: () => readonly KeptPod[];
  readonly uidOf: (name: string) => string;
  readonly stop: () => void;
}

async function world(first: readonly RunPod[], before: readonly KeptPod[] = []): Promise<World> {
  const pods = new RunPods(first, 0, before);
  let told: readonly Pod[] = [];
  let kept: readonly KeptPod[] = [];
  const stop = new AbortController();
  void pods
    .source(
      {
        deliver: async (snapshot) => {
          // What the kubelet hears is on disk.
          expect(kept.map(({ pod }) => pod)).toEqual(snapshot.pods);
          told = snapshot.pods;
        },
      },
      async (given) => {
        await Promise.resolve();
        kept = given;
      },
    )
    .run(stop.signal)
    .catch(() => {});
  await settle();
  return {
    pods,
    told: () =>
      told
        .map(({ metadata, spec }) => {
          const { image, command = [] } = spec.containers[0]!;
          return `${metadata.name} ${image} ${command}${metadata.deletionTimestamp === undefined ? '' : ' ending'}`;
        })
        .join(', '),
    kept: () => kept,
    uidOf: (name) => told.find(({ metadata }) => metadata.name === name)!.metadata.uid,
    stop: () => stop.abort(),
  };
}

describe('changed manifests', () => {
  it('start, update, replace and end pods, the old one before the new one', async () => {
    const { pods, told, uidOf } = await world([manifest('a'), manifest('b'), manifest('c')]);
    const [a, b, c] = [uidOf('a'), uidOf('b'), uidOf('c')];
    const changes = pods.apply(
      [manifest('a', { image: 'i:2' }), manifest('b', { command: 'z' }), manifest('d')],
      0,
    );
    await settle();
    expect(changes.map(({ kind, pod }) => `${pod.metadata.name} ${kind}`)).toEqual([
      'a updated',
      'b replaced',
      'd started',
      'c ended',
    ]);
    expect(told()).toBe('a i:2 a, b i:1 a ending, d i:1 a, c i:1 a ending');
    expect(uidOf('a')).toBe(a);
    pods.finished(b);
    await settle();
    expect(told()).toBe('a i:2 a, b i:1 z, d i:1 a, c i:1 a ending');
    pods.finished(c);
    await settle();
    expect(told()).toBe('a i:2 a, b i:1 z, d i:1 a');
    expect(pods.list().map(({ pod }) => pod.metadata.name)).toEqual(['a', 'b', 'd']);
  });

  it('that come again and again never use a UID twice, and only the last one starts', async () => {
    const { pods, told, uidOf } = await world([manifest('a')]);
    const first = uidOf('a');
    for (const command of ['b', 'a', 'c', 'a']) pods.apply([manifest('a', { command })], 0);
    await settle();
    expect(told()).toBe('a i:1 a ending');
    expect(pods.list()).toHaveLength(1);
    expect(pods.list()[0]?.because).toBe(
      'another one takes its place, as spec.containers[0].command[0] changed',
    );
    pods.finished(first);
    await settle();
    expect(told()).toBe('a i:1 a');
    expect(uidOf('a')).not.toBe(first);
  });

  it('that go and come back start the pod again, after its end', async () => {
    const { pods, told, uidOf } = await world([manifest('a')]);
    const first = uidOf('a');
    pods.apply([], 0);
    pods.apply([manifest('a')], 0);
    await settle();
    expect(told()).toBe('a i:1 a ending');
    pods.finished(first);
    await settle();
    expect(told()).toBe('a i:1 a');
  });

  it('that give a name to another workload wait for its earlier owner', async () => {
    const { pods, told, uidOf } = await world([manifest('db-0', { slot: 'StatefulSet db 0' })]);
    const first = uidOf('db-0');
    pods.apply([manifest('db-0', { command: 'z' })], 0);
    await settle();
    expect(told()).toBe('db-0 i:1 a ending');
    pods.finished(first);
    await settle();
    expect(told()).toBe('db-0 i:1 z');
  });

  it('replace the pod of a workload in its slot, whatever its new name', async () => {
    const { pods, told, uidOf } = await world([manifest('w-1', { slot: 'Deployment w 0' })]);
    const first = uidOf('w-1');
    const [change] = pods.apply([manifest('w-2', { slot: 'Deployment w 0' })], 0);
    expect(change).toMatchObject({ kind: 'replaced', because: 'metadata.name changed' });
    await settle();
    expect(told()).toBe('w-1 i:1 a ending');
    expect(pods.list().map(({ pod, state }) => `${pod.metadata.name} ${state}`)).toEqual([
      'w-1 stopping',
      'w-2 waiting',
    ]);
    pods.finished(first);
    await settle();
    expect(told()).toBe('w-2 i:1 a');
  });

  it('leave alone a pod that was stopped by hand, until its own manifest changes', async () => {
    const { pods, told, uidOf } = await world([manifest('a')]);
    const uid = uidOf('a');
    pods.stop(0, new Set([uid]));
    pods.apply([manifest('a'), manifest('b')], 0);
    pods.finished(uid);
    await settle();
    expect(told()).toBe('b i:1 a');
    pods.apply([manifest('a', { image: 'i:2' }), manifest('b')], 0);
    await settle();
    expect(told()).toBe('a i:2 a, b i:1 a');
  });

  it('stopping a pod by hand also stops the one that waits for its place', async () => {
    const { pods, told, uidOf } = await world([manifest('a')]);
    const uid = uidOf('a');
    pods.apply([manifest('a', { command: 'z' })], 0);
    pods.stop(0, new Set([uid]));
    pods.finished(uid);
    await settle();
    expect(told()).toBe('');
  });

  it('do nothing once the run stops', async () => {
    const { pods, told } = await world([manifest('a')]);
    pods.stop(0);
    expect(pods.apply([manifest('a', { command: 'z' }), manifest('b')], 0)).toEqual([]);
    await settle();
    expect(told()).toBe('a i:1 a ending');
  });

  it('may change how many pods of a Job run at a time', async () => {
    const job = (name: string, parallelism: number): RunPod =>
      manifest(name, { policy: 'Never', job: parallelism });
    const { pods, told } = await world([job('a', 1), job('b', 1)]);
    expect(told()).toBe('a i:1 a');
    expect(pods.apply([job('a', 2), job('b', 2)], 0)).toEqual([]);
    await settle();
    expect(told()).toBe('a i:1 a, b i:1 a');
  });

  it('count failures only of pods that are still in them', async () => {
    const { pods, uidOf } = await world([manifest('a', { policy: 'Never' })]);
    pods.observe(uidOf('a'), { phase: 'Failed' });
    pods.finished(uidOf('a'));
    expect(pods.failures()).toHaveLength(1);
    pods.apply([], 0);
    expect(pods.failures()).toEqual([]);
  });
});

describe('the next process of a run that was killed', () => {
  it.each<[string, (pods: RunPods, uid: string) => void, string, string]>([
    ['before anything', () => {}, 'a i:1 a', 'a i:1 z'],
    [
      'after an update in place',
      (pods) => pods.apply([manifest('a', { image: 'i:2' })], 0),
      'a i:2 a',
      'a i:1 z',
    ],
    ['while a pod ended', (pods) => pods.apply([], 0), 'a i:1 a', 'a i:1 z'],
    [
      'while another pod waited for its place',
      (pods) => pods.apply([manifest('a', { command: 'z' })], 0),
      'a i:1 a',
      'a i:1 z',
    ],
    ['while it stopped all', (pods) => pods.stop(0), 'a i:1 a', 'a i:1 z'],
  ])('%s: ends what is not wanted first, then starts what is', async (_when, happens, same, other) => {
    const before = await world([manifest('a')]);
    const uid = before.uidOf('a');
    happens(before.pods, uid);
    await settle();
    before.stop();
    const kept: KeptPod[] = JSON.parse(JSON.stringify(before.kept()));
    const isEnding = kept[0]?.pod.metadata.deletionTimestamp !== undefined;

    const [image = ''] = /i:\d/.exec(same) ?? [];
    const again = await world([manifest('a', { image })], kept);
    if (isEnding) {
      expect(again.told()).toBe(`${same} ending`);
      again.pods.finished(uid);
      await settle();
      expect(again.told()).toBe(same);
      expect(again.uidOf('a')).not.toBe(uid);
    } else {
      expect(again.told()).toBe(same);
      expect(again.uidOf('a')).toBe(uid);
    }

    const changed = await world([manifest('a', { command: 'z' })], kept);
    expect(changed.told()).toBe(`${same} ending`);
    changed.pods.finished(uid);
    await settle();
    expect(changed.told()).toBe(other);
  });

  it('ends when its own pods have, once those that are not wanted are gone', async () => {
    const old = manifest('old');
    const { pods, uidOf } = await world([manifest('job', { policy: 'Never' })], [{ ...old, isWanted: true }]);
    let hasEnded = false;
    void pods.ended(new AbortController().signal).then(() => {
      hasEnded = true;
    });
    pods.observe(uidOf('job'), { phase: 'Succeeded' });
    pods.finished(uidOf('job'));
    await settle();
    expect(hasEnded).toBe(false);
    pods.finished(old.pod.metadata.uid);
    await settle();
    expect(hasEnded).toBe(true);
  });
});

import { describe, expect, it } from 'vitest';
import { settle } from '../../async/index.js';
import type { Pod, PodPhase } from '../../kube/index.js';
import { type RunPod, RunPods } from './run-pods.js';

const pod = (uid: string, restartPolicy = 'Always', grace = 30): Pod => ({
  metadata: { name: uid, namespace: 'default', uid },
  spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy, terminationGracePeriodSeconds: grace },
});
const run = (one: Pod): RunPod => ({ pod: one, slot: `Pod ${one.metadata.name}` });
const job = (uid: string, parallelism: number): RunPod => ({
  ...run(pod(uid, 'Never')),
  job: { key: 'job', parallelism },
});
const states = (pods: RunPods): string =>
  pods
    .list()
    .map(({ pod: { metadata }, state }) => `${metadata.name}:${state}`)
    .join(' ');
const end = (pods: RunPods, uid: string, phase: PodPhase = 'Succeeded'): void => {
  pods.observe(uid, { phase });
  pods.finished(uid);
};
const isSettled = async (promise: Promise<unknown>): Promise<boolean> => {
  let done = false;
  void promise.then(() => {
    done = true;
  });
  await settle();
  return done;
};
const never = new AbortController().signal;

describe('RunPods', () => {
  it('activates pods of a Job as others end', () => {
    const pods = new RunPods([job('a', 2), job('b', 2), job('c', 2), job('d', 2)]);
    expect(states(pods)).toBe('a:active b:active c:waiting d:waiting');
    end(pods, 'b');
    expect(states(pods)).toBe('a:active b:active c:active d:waiting');
    end(pods, 'a', 'Failed');
    expect(states(pods)).toBe('a:active b:active c:active d:active');
  });
  it('has ended when all pods have ended, and not before', async () => {
    const pods = new RunPods([job('a', 1), job('b', 1)]);
    const ended = pods.ended(never);
    end(pods, 'a');
    expect(await isSettled(ended)).toBe(false);
    pods.observe('b', { phase: 'Succeeded' });
    expect(await isSettled(ended)).toBe(false);
    pods.finished('b');
    expect(await isSettled(ended)).toBe(true);
  });
  it('does not end by itself with restartPolicy Always', async () => {
    const pods = new RunPods([run(pod('web')), run(pod('a', 'Never'))]);
    const ended = pods.ended(never);
    end(pods, 'a');
    expect(await isSettled(ended)).toBe(false);
  });
  it.each<[string, string, PodPhase, number]>([
    ['a pod with restartPolicy Never failed', 'Never', 'Failed', 1],
    ['a pod with restartPolicy OnFailure failed', 'OnFailure', 'Failed', 1],
    ['a pod succeeded', 'Never', 'Succeeded', 0],
    ['a failed pod with restartPolicy Always does not count', 'Always', 'Failed', 0],
  ])('counts %s', (_rule, policy, phase, failures) => {
    const pods = new RunPods([run(pod('a', policy))]);
    pods.observe('a', { phase });
    expect(pods.failures()).toHaveLength(failures);
  });
  it('does not count a stopped pod as failed', () => {
    const pods = new RunPods([run(pod('a', 'Never'))]);
    pods.stop(0);
    pods.observe('a', { phase: 'Failed' });
    expect(pods.failures()).toEqual([]);
  });
  it('stops with the grace periods; waiting and ended pods are gone at once, and no more pods start', async () => {
    const pods = new RunPods([job('a', 1), job('b', 1), run(pod('web', 'Always', 7))]);
    end(pods, 'a');
    pods.stop(Date.parse('2030-01-01T00:00:00Z'));
    expect(states(pods)).toBe('a:gone b:stopping web:stopping');
    expect(pods.longestGraceSeconds()).toBe(30);
    expect(pods.list()[2]?.pod.metadata).toMatchObject({
      deletionTimestamp: '2030-01-01T00:00:00.000Z',
      deletionGracePeriodSeconds: 7,
    });
    const gone = pods.gone(never);
    pods.finished('web');
    expect(await isSettled(gone)).toBe(false);
    pods.finished('b');
    expect(await isSettled(gone)).toBe(true);
  });
  it('stops only some pods', () => {
    const pods = new RunPods([run(pod('a')), run(pod('b'))]);
    pods.stop(0, new Set(['a']), 1);
    expect(states(pods)).toBe('a:stopping b:active');
    expect(pods.longestGraceSeconds()).toBe(1);
  });
});

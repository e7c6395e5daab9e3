import { afterEach, describe, expect, it } from 'vitest';
import type { Job, JobSpec, Pod } from '../../kube/index.js';
import { resources } from '../../kube-client/index.js';
import { TestCluster, type TestClusterOptions } from '../test-cluster.js';
import { formatIndexes, parseIndexes } from './index-ranges.js';
import { indexOf } from './job-pods.js';

let cluster: TestCluster | undefined;
afterEach(async () => {
  await cluster?.stop();
  cluster = undefined;
});

const jobOf = (spec: Partial<JobSpec>): Job => ({
  metadata: { name: 'work', namespace: 'default', generation: 1 },
  spec: {
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'i' }] } },
    ...spec,
  },
});
const ref = { namespace: 'default', name: 'work' };
const start = async (
  spec: Partial<JobSpec>,
  fate: TestClusterOptions['fate'],
  more: TestClusterOptions = {},
): Promise<TestCluster> => {
  cluster = await TestCluster.started({ fate, ...more });
  await cluster.api.create(resources.jobs, jobOf(spec));
  await cluster.advance(2000);
  return cluster;
};
const status = async (): Promise<NonNullable<Job['status']>> =>
  (await cluster!.get(resources.jobs, 'work')).status ?? {};
const conditions = async (): Promise<string[]> =>
  ((await status()).conditions ?? [])
    .filter((one) => one.status === 'True')
    .map(({ type, reason }) => `${type} ${reason}`);
const created = (): number =>
  cluster!.api.calls.filter(({ verb, resource }) => verb === 'create' && resource === 'pods').length;

describe('index ranges', () => {
  it.each([
    ['', []],
    ['0-2,5', [0, 1, 2, 5]],
    ['1,x,3-2,7-99', [1, 7, 8, 9]],
  ])('%j', (text, expected) => {
    expect([...parseIndexes(text, 10)]).toEqual(expected);
  });
  it.each([
    [[], ''],
    [[5, 0, 2, 1], '0-2,5'],
    [[1, 2], '1,2'],
  ])('%j', (indexes, expected) => {
    expect(formatIndexes(new Set(indexes))).toBe(expected);
  });
});

describe('the Job controller', () => {
  it('runs its pods to the end and counts each once', async () => {
    await start({ parallelism: 2, completions: 5 }, () => 'succeeded');
    await cluster!.advance(5000);
    expect(await status()).toMatchObject({
      succeeded: 5,
      failed: 0,
      active: 0,
      ready: 0,
      uncountedTerminatedPods: {},
    });
    expect(await conditions()).toEqual([
      'SuccessCriteriaMet CompletionsReached',
      'Complete CompletionsReached',
    ]);
    expect((await status()).completionTime).toBeDefined();
    const pods = await cluster!.list(resources.pods);
    expect(pods).toHaveLength(5);
    expect(pods.flatMap(({ metadata }) => metadata.finalizers ?? [])).toEqual([]);
    expect(pods[0]!.metadata.labels).toMatchObject({
      'job-name': 'work',
      'batch.kubernetes.io/job-name': 'work',
    });
    expect((await cluster!.events('work')).at(-1)).toBe('Completed: Job completed');
  });

  it('replaces failed pods with growing pauses, until there were too many', async () => {
    await start({ backoffLimit: 2 }, () => 'failed');
    expect(created()).toBe(1);
    await cluster!.advance(10_000);
    expect(created()).toBe(2);
    await cluster!.advance(10_000);
    expect(created()).toBe(2);
    await cluster!.advance(60_000);
    expect(created()).toBe(3);
    expect(await status()).toMatchObject({ failed: 3, succeeded: 0, active: 0 });
    expect(await conditions()).toEqual(['FailureTarget BackoffLimitExceeded', 'Failed BackoffLimitExceeded']);
    expect((await cluster!.events('work')).at(-1)).toBe(
      'BackoffLimitExceeded: Job has reached the specified backoff limit',
    );
  });

  it('gives each index a pod, with its index in the name, the labels, the environment and the host name', async () => {
    await start({ completionMode: 'Indexed', completions: 3, parallelism: 3 }, () => 'ready');
    const pods = (await cluster!.list(resources.pods)).sort((a, b) => (indexOf(a) ?? 0) - (indexOf(b) ?? 0));
    expect(pods.map(indexOf)).toEqual([0, 1, 2]);
    const [first] = pods;
    expect(first!.metadata.name).toMatch(/^work-0-/);
    expect(first!.metadata.labels?.['batch.kubernetes.io/job-completion-index']).toBe('0');
    expect(first!.spec.hostname).toBe('work-0');
    expect(first!.spec.containers[0]!.env).toMatchObject([{ name: 'JOB_COMPLETION_INDEX' }]);
    await cluster!.setPod(pods[2]!, 'succeeded');
    await cluster!.setPod(pods[0]!, 'succeeded');
    await cluster!.advance(1000);
    expect(await status()).toMatchObject({ completedIndexes: '0,2', succeeded: 2, active: 1 });
    await cluster!.setPod(pods[1]!, 'succeeded');
    await cluster!.advance(1000);
    expect(await status()).toMatchObject({ completedIndexes: '0-2', succeeded: 3 });
    expect(await conditions()).toContain('Complete CompletionsReached');
  });

  it('limits the failures of each index, and fails when an index has failed', async () => {
    const bad = (pod: Pod): boolean => indexOf(pod) === 1;
    await start(
      { completionMode: 'Indexed', completions: 3, parallelism: 3, backoffLimitPerIndex: 1 },
      (pod) => (bad(pod) ? 'failed' : 'succeeded'),
    );
    await cluster!.advance(60_000);
    expect(await status()).toMatchObject({
      completedIndexes: '0,2',
      failedIndexes: '1',
      failed: 2,
      succeeded: 2,
    });
    expect(await conditions()).toEqual(['FailureTarget FailedIndexes', 'Failed FailedIndexes']);
  });

  it.each<[rule: string, action: 'FailJob' | 'Ignore' | 'Count', expected: string, failed: number]>([
    ['a rule can end the Job at once', 'FailJob', 'Failed PodFailurePolicy', 1],
    ['a rule can leave a failure out', 'Ignore', '', 0],
    ['a rule can let it count', 'Count', 'Failed BackoffLimitExceeded', 1],
  ])('%s', async (_, action, expected, failed) => {
    let left = 1;
    const rules = [{ action, onExitCodes: { operator: 'In' as const, values: [1] } }];
    await start({ backoffLimit: 0, podFailurePolicy: { rules } }, () => (left-- > 0 ? 'failed' : 'ready'));
    await cluster!.advance(1000);
    expect((await conditions()).at(-1) ?? '').toBe(expected);
    expect((await status()).failed).toBe(failed);
  });

  it('is complete when its success policy says so, and ends the other pods', async () => {
    await start(
      {
        completionMode: 'Indexed',
        completions: 3,
        parallelism: 3,
        successPolicy: { rules: [{ succeededIndexes: '0-1', succeededCount: 1 }] },
      },
      (pod) => (indexOf(pod) === 1 ? 'succeeded' : 'ready'),
    );
    await cluster!.advance(5000);
    expect(await conditions()).toEqual(['SuccessCriteriaMet SuccessPolicy', 'Complete SuccessPolicy']);
    expect(await status()).toMatchObject({ active: 0, completedIndexes: '1' });
  });

  it('fails when it was active for too long', async () => {
    await start({ activeDeadlineSeconds: 30 }, () => 'ready');
    expect(await conditions()).toEqual([]);
    await cluster!.advance(35_000);
    expect((await conditions()).at(-1)).toBe('Failed DeadlineExceeded');
    expect(await cluster!.list(resources.pods)).toEqual([]);
  });

  it('ends its pods while it is suspended, and goes on later', async () => {
    await start({ parallelism: 2, completions: 2 }, () => 'ready');
    const suspend = (value: boolean) =>
      cluster!.api.patch(resources.jobs, ref, { type: 'merge', body: { spec: { suspend: value } } });
    await suspend(true);
    await cluster!.advance(2000);
    expect(await cluster!.list(resources.pods)).toEqual([]);
    expect(await conditions()).toEqual(['Suspended JobSuspended']);
    expect(await status()).toMatchObject({ failed: 0, active: 0 });
    await suspend(false);
    await cluster!.advance(2000);
    expect(await cluster!.list(resources.pods)).toHaveLength(2);
    expect((await status()).conditions).toMatchObject([
      { type: 'Suspended', status: 'False', reason: 'JobResumed' },
    ]);
  });

  it('is deleted with its pods when its time after the end is over', async () => {
    await start({ ttlSecondsAfterFinished: 20 }, () => 'succeeded');
    expect(await conditions()).toContain('Complete CompletionsReached');
    await cluster!.advance(25_000);
    expect(await cluster!.list(resources.jobs)).toEqual([]);
    expect(await cluster!.list(resources.pods)).toEqual([]);
  });

  it('lets its pods go when it is deleted', async () => {
    await start({ parallelism: 2, completions: 2 }, () => 'ready');
    await cluster!.api.delete(resources.jobs, ref);
    await cluster!.advance(5000);
    expect(await cluster!.list(resources.pods)).toEqual([]);
  });
});

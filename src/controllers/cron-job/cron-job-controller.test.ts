import { afterEach, describe, expect, it } from 'vitest';
import type { CronJob, Job } from '../../kube/index.js';
import { resources } from '../../kube-client/index.js';
import { TestCluster, type TestClusterOptions } from '../test-cluster.js';

let cluster: TestCluster;
afterEach(() => cluster.stop());

const ref = { namespace: 'default', name: 'nightly' };
const minuteMs = 60_000;
const start = async (
  spec: Partial<CronJob['spec']>,
  fate: TestClusterOptions['fate'] = () => 'succeeded',
): Promise<void> => {
  cluster = await TestCluster.started({ fate });
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'i' }] } };
  await cluster.api.create(resources.cronJobs, {
    metadata: { ...ref },
    spec: { schedule: '* * * * *', jobTemplate: { spec: { template, backoffLimit: 0 } }, ...spec },
  });
  await cluster.settle();
};
const jobs = (): Promise<Job[]> => cluster.list(resources.jobs);
const status = async (): Promise<CronJob['status']> =>
  (await cluster.get(resources.cronJobs, 'nightly')).status;

describe('the CronJob controller', () => {
  it('starts a Job at each moment, and keeps the last three', async () => {
    await start({});
    expect(await jobs()).toEqual([]);
    await cluster.advance(minuteMs + 2000);
    const [first] = await jobs();
    expect(first!.metadata.name).toBe(`nightly-${Date.UTC(2026, 0, 1, 0, 1) / minuteMs}`);
    expect(first!.metadata.annotations).toMatchObject({
      'batch.kubernetes.io/cronjob-scheduled-timestamp': '2026-01-01T00:01:00Z',
    });
    for (let minute = 0; minute < 4; minute++) await cluster.advance(minuteMs);
    expect(await jobs()).toHaveLength(3);
    expect(await status()).toMatchObject({ lastScheduleTime: '2026-01-01T00:05:00Z' });
    expect((await status())?.active ?? []).toEqual([]);
    expect((await status())?.lastSuccessfulTime).toBeDefined();
    expect(await cluster.events('nightly')).toContainEqual(
      `SuccessfulCreate: Created job ${first!.metadata.name}`,
    );
  });

  it.each([
    ['Allow', 3, 3],
    ['Forbid', 1, 1],
    ['Replace', 1, 3],
  ] as const)(
    '%s: %d run at a time after three moments, %d were started',
    async (concurrencyPolicy, running, started) => {
      await start({ concurrencyPolicy }, () => 'ready');
      for (let minute = 0; minute < 3; minute++) await cluster.advance(minuteMs + 200);
      expect(await jobs()).toHaveLength(running);
      expect((await status())?.active).toHaveLength(running);
      const created = cluster.api.calls.filter(
        ({ verb, resource }) => verb === 'create' && resource === 'jobs',
      );
      expect(created).toHaveLength(started);
    },
  );

  it('starts nothing while it is suspended, and only the last moment that it missed', async () => {
    await start({ suspend: true });
    await cluster.advance(10 * minuteMs);
    expect(await jobs()).toEqual([]);
    await cluster.api.patch(resources.cronJobs, ref, { type: 'merge', body: { spec: { suspend: false } } });
    await cluster.advance(1000);
    expect(await jobs()).toHaveLength(1);
  });

  it('lets a moment go that it missed by too much', async () => {
    await start({ suspend: true, schedule: '@hourly', startingDeadlineSeconds: 60 });
    await cluster.advance(70 * minuteMs);
    await cluster.api.patch(resources.cronJobs, ref, { type: 'merge', body: { spec: { suspend: false } } });
    await cluster.advance(1000);
    expect(await jobs()).toEqual([]);
    expect(await cluster.events('nightly')).toContainEqual(expect.stringMatching(/^MissSchedule: /));
  });

  it.each([
    [{ schedule: 'never' }, /^UnparseableSchedule: /],
    [{ timeZone: 'Mars/Olympus' }, /^UnknownTimeZone: /],
  ])('tells of %j', async (spec, event) => {
    await start(spec);
    await cluster.advance(5 * minuteMs);
    expect(await jobs()).toEqual([]);
    expect(await cluster.events('nightly')).toContainEqual(expect.stringMatching(event));
  });
});

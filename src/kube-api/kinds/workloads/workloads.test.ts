import { beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../kube/types/index.js';
import { type Resource, resources } from '../../../kube-client/resources.js';
import type { ServedApi } from '../../server.js';
import { change, createIn, refusalOf, testApi } from '../kinds-test-api.js';
import { scheduleProblem } from './cron-schedule.js';

let api: ServedApi;
beforeEach(async () => {
  ({ api } = await testApi());
});

const labels = { app: 'web' };
const selector = { matchLabels: labels };
const podSpec = { containers: [{ name: 'app', image: 'busybox' }] };
const template = { metadata: { labels }, spec: podSpec };
const jobTemplate = { spec: { ...podSpec, restartPolicy: 'Never' } };
const endless = { selector, template };

const filled = {
  dnsPolicy: 'ClusterFirst',
  restartPolicy: 'Always',
  securityContext: {},
  terminationGracePeriodSeconds: 30,
  schedulerName: 'default-scheduler',
};

const made = (resource: Resource, spec: object, name = 'web'): Promise<KubeObject> =>
  createIn(api, resource, { metadata: { name }, spec });

describe('defaults', () => {
  it.each<[Resource, object, object]>([
    [
      resources.deployments,
      endless,
      {
        replicas: 1,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
        revisionHistoryLimit: 10,
        progressDeadlineSeconds: 600,
        template: { spec: filled },
      },
    ],
    [
      resources.deployments,
      { ...endless, strategy: { type: 'Recreate' } },
      { strategy: { type: 'Recreate' } },
    ],
    [resources.replicaSets, endless, { replicas: 1, template: { spec: filled } }],
    [
      resources.daemonSets,
      endless,
      {
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
        revisionHistoryLimit: 10,
      },
    ],
    [
      resources.statefulSets,
      { ...endless, volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: {} }] },
      {
        replicas: 1,
        podManagementPolicy: 'OrderedReady',
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
        volumeClaimTemplates: [{ spec: { volumeMode: 'Filesystem' }, status: { phase: 'Pending' } }],
      },
    ],
    [
      resources.jobs,
      { template: jobTemplate },
      {
        completions: 1,
        parallelism: 1,
        backoffLimit: 6,
        completionMode: 'NonIndexed',
        suspend: false,
        podReplacementPolicy: 'TerminatingOrFailed',
      },
    ],
    [
      resources.cronJobs,
      { schedule: '*/5 * * * *', jobTemplate: { spec: { template: jobTemplate } } },
      {
        concurrencyPolicy: 'Allow',
        suspend: false,
        successfulJobsHistoryLimit: 3,
        failedJobsHistoryLimit: 1,
        jobTemplate: { spec: { template: { spec: { dnsPolicy: 'ClusterFirst' } } } },
      },
    ],
  ])('of $kind', async (resource, spec, expected) => {
    expect(await made(resource, spec)).toMatchObject({ metadata: { generation: 1 }, spec: expected });
  });

  it('of a template have nothing that only pods get', async () => {
    const limits = { resources: { limits: { cpu: '1' } } };
    const containers = [{ ...podSpec.containers[0], ...limits }];
    const { spec } = await createIn(api, resources.deployments, {
      metadata: { name: 'web' },
      spec: { selector, template: { metadata: { labels }, spec: { containers } } },
    });
    expect(spec.template.spec).not.toHaveProperty('enableServiceLinks');
    expect(spec.template.spec.containers[0]).toMatchObject(limits);
    expect(spec.template.spec.containers[0]?.resources).not.toHaveProperty('requests');
  });

  it('a job without completions but with parallelism keeps none', async () => {
    const { spec } = await createIn(api, resources.jobs, {
      metadata: { name: 'queue' },
      spec: { template: jobTemplate, parallelism: 3 },
    });
    expect(spec.completions).toBeUndefined();
  });

  it('a job knows its pods by its identity', async () => {
    const job = await createIn(api, resources.jobs, {
      metadata: { name: 'once' },
      spec: { template: jobTemplate },
    });
    const { uid } = job.metadata;
    expect(job.spec.selector).toEqual({ matchLabels: { 'batch.kubernetes.io/controller-uid': uid } });
    const given = {
      'batch.kubernetes.io/controller-uid': uid,
      'batch.kubernetes.io/job-name': 'once',
      'controller-uid': uid,
      'job-name': 'once',
    };
    expect(job.spec.template.metadata?.labels).toEqual(given);
    expect(job.metadata.labels).toEqual(given);
  });
});

describe('refused', () => {
  const never = { metadata: { labels }, spec: { ...podSpec, restartPolicy: 'Never' } };
  const { deployments, statefulSets, daemonSets, jobs, cronJobs, replicaSets } = resources;
  const cron = { schedule: '0 * * * *', jobTemplate: { spec: { template: jobTemplate } } };
  it.each<[Resource, string, object, string]>([
    [deployments, 'no selector', { template }, 'spec.selector: Required value'],
    [
      deployments,
      'an empty selector',
      { selector: {}, template },
      'empty selector is invalid for deployment',
    ],
    [
      deployments,
      'another selector',
      { selector: { matchLabels: { app: 'x' } }, template },
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    ],
    [
      deployments,
      'an unknown operator',
      { selector: { matchExpressions: [{ key: 'app', operator: 'Like' }] }, template },
      'spec.selector.matchExpressions[0].operator: Unsupported value: "Like"',
    ],
    [
      deployments,
      'no containers',
      { selector, template: { metadata: { labels } } },
      'spec.template.spec.containers: Required value',
    ],
    [
      deployments,
      'pods that end',
      { selector, template: never },
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    ],
    [
      deployments,
      'negative replicas',
      { ...endless, replicas: -1 },
      'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      deployments,
      'no room to roll',
      { ...endless, strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: '0%' } } },
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0',
    ],
    [
      deployments,
      'no percentage',
      { ...endless, strategy: { rollingUpdate: { maxSurge: 'x' } } },
      'a valid percent string must be a numeric string',
    ],
    [
      deployments,
      'an unknown strategy',
      { ...endless, strategy: { type: 'x' } },
      'spec.strategy.type: Unsupported value: "x"',
    ],
    [
      deployments,
      'a short deadline',
      { ...endless, progressDeadlineSeconds: 5, minReadySeconds: 5 },
      'spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds',
    ],
    [replicaSets, 'no selector', { template }, 'spec.selector: Required value'],
    [
      daemonSets,
      'both ways to roll',
      { ...endless, updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } } },
      'may not be set when maxUnavailable is non-zero',
    ],
    [
      statefulSets,
      'an unknown policy',
      { ...endless, podManagementPolicy: 'x' },
      'spec.podManagementPolicy: Unsupported value: "x": supported values: "OrderedReady", "Parallel"',
    ],
    [
      jobs,
      'pods that always restart',
      { template: { spec: podSpec } },
      'spec.template.spec.restartPolicy: Unsupported value: "Always": supported values: "OnFailure", "Never"',
    ],
    [
      jobs,
      'indexes without a number',
      { template: jobTemplate, completionMode: 'Indexed', parallelism: 1 },
      'spec.completions: Required value: when completion mode is Indexed',
    ],
    [cronJobs, 'no schedule', { ...cron, schedule: '' }, 'spec.schedule: Required value'],
    [
      cronJobs,
      'a broken schedule',
      { ...cron, schedule: '99 * * * *' },
      'end of range (99) above maximum (59): 99',
    ],
    [
      cronJobs,
      'a zone in the schedule',
      { ...cron, schedule: 'TZ=UTC 1 * * * *' },
      'cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
    ],
    [
      cronJobs,
      'an unknown zone',
      { ...cron, timeZone: 'Mars/Base' },
      'spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base',
    ],
    [
      cronJobs,
      'broken pods',
      { ...cron, jobTemplate: { spec: { template: {} } } },
      'spec.jobTemplate.spec.template.spec.containers: Required value',
    ],
    [
      deployments,
      'no mapping',
      7 as unknown as object,
      '400 Deployment in version "v1" cannot be handled as a Deployment',
    ],
  ])('$kind: %s', async (resource, _rule, spec, why) => {
    expect(await refusalOf(made(resource, spec))).toContain(why);
  });

  it('a cron job with a long name', async () => {
    expect(await refusalOf(made(cronJobs, cron, 'x'.repeat(53)))).toContain(
      'must be no more than 52 characters',
    );
  });
});

describe('changes', () => {
  it.each<[Resource, string, object, object, string]>([
    [resources.deployments, 'replicas', endless, { replicas: 3 }, 'accepted'],
    [
      resources.deployments,
      'the selector',
      endless,
      { selector: { matchLabels: { b: 'c' } }, template: { metadata: { labels: { b: 'c' } } } },
      'spec.selector: Invalid value: {"matchLabels":{"app":"web","b":"c"}}: field is immutable',
    ],
    [
      resources.statefulSets,
      'replicas and template',
      endless,
      { replicas: 3, template: { metadata: { annotations: { a: 'b' } } } },
      'accepted',
    ],
    [
      resources.statefulSets,
      'the name of its Service',
      endless,
      { serviceName: 'x' },
      "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy'",
    ],
    [resources.jobs, 'parallelism', { template: jobTemplate }, { parallelism: 2 }, 'accepted'],
    [
      resources.jobs,
      'completions',
      { template: jobTemplate },
      { completions: 2 },
      'spec.completions: Invalid value: 2: field is immutable',
    ],
    [
      resources.jobs,
      'the template',
      { template: jobTemplate },
      { template: { spec: { nodeSelector: { a: 'b' } } } },
      'field is immutable',
    ],
    [
      resources.jobs,
      'where held back pods go',
      { template: jobTemplate, suspend: true },
      { template: { spec: { nodeSelector: { a: 'b' } } } },
      'accepted',
    ],
  ])('$kind: %s', async (resource, _rule, spec, patch, why) => {
    await made(resource, spec);
    expect(await refusalOf(change(api, resource, 'web', { spec: patch }))).toContain(why);
  });

  it('only those of the spec are counted', async () => {
    await made(resources.deployments, endless);
    const labelled = await change(api, resources.deployments, 'web', { metadata: { labels: { a: 'b' } } });
    expect(labelled.metadata.generation).toBe(1);
    const scaled = await change(api, resources.deployments, 'web', { spec: { replicas: 2 } });
    expect(scaled.metadata.generation).toBe(2);
    const told = await change(api, resources.deployments, 'web', { status: { replicas: 2 } }, 'status');
    expect(told.metadata.generation).toBe(2);
  });
});

describe('schedules', () => {
  it.each(['* * * * *', '*/5 0-12/2 1,15 jan-MAR sun', '0 0 ? * 6', '@daily', '@every 1h30m'])(
    '%s',
    (text) => {
      expect(scheduleProblem(text)).toBeUndefined();
    },
  );
  it.each([
    '',
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '5-1 * * * *',
    '*/0 * * * *',
    'a * * * *',
    '* * 0 * *',
    '* * * * 7',
    '@often',
    '1/2/3 * * * *',
    '1-2-3 * * * *',
  ])('not %j', (text) => {
    expect(scheduleProblem(text)).toEqual(expect.any(String));
  });
});

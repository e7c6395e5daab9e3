import { mkdir, mkdtemp, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CriError } from '../../cri/index.js';
import type { Container, EphemeralContainer } from '../../kube/index.js';
import { Registry } from '../../metrics/index.js';
import { samples } from '../../metrics/test-samples.js';
import { filelessPodConfigs } from '../config/fileless.js';
import { type ContainerConfigRequest, SyncFailure } from '../contracts.js';
import { RuntimeManager } from '../manager.js';
import { createRuntimeMetrics } from '../metrics.js';
import { syncError } from '../sync-result.js';
import { bench, container, exited, makePod, makeStatus, running } from '../test-fixtures.js';

type Script = NonNullable<Parameters<typeof bench>[0]>;

/** Syncs a pod with one container that has not run yet. */
async function start(script: Script = {}, extra: Partial<Container> = {}) {
  const table = bench(script);
  const pod = makePod({ terminationGracePeriodSeconds: 30, containers: [container('app', extra)] });
  const manager = new RuntimeManager(table.options);
  const result = await manager.syncPod(pod, makeStatus(pod, []), { restartingAllContainers: false });
  return { ...table, pod, manager, result, failure: result.steps.find((step) => step.failure)?.failure };
}

describe('starting a container', () => {
  it('records its steps in order', async () => {
    const { calls, events, timeline } = await start();
    expect(calls.map(({ method, target }) => `${method} ${target}`)).toEqual([
      'CreateContainer app',
      'StartContainer new-app',
    ]);
    expect(events()).toEqual(['Normal Created Container created', 'Normal Started Container started']);
    const entries = timeline.ofPod('uid-1');
    expect(entries.find((entry) => entry.what === 'pod.plan')).toMatchObject({
      message: 'start container app',
      because: 'it has not run yet',
    });
    expect(entries.find((entry) => entry.what === 'container.start')?.because).toBe('it has not run yet');
    expect(entries.find((entry) => entry.event?.reason === 'Started')?.event?.fieldPath).toBe(
      'spec.containers{app}',
    );
  });

  const cleaned: string[] = [];
  const built = async (request: ContainerConfigRequest) => ({
    config: { metadata: { name: request.container.name } },
    cleanup: async () => void cleaned.push(request.container.name),
  });
  const configs = (container_: typeof built) => ({
    ...filelessPodConfigs,
    sandbox: async () => ({}),
    container: container_,
  });
  const internals = (failing: 'preCreate' | 'preStart') => ({
    preCreate: async (_pod: unknown, _container: unknown, config: object) => {
      if (failing === 'preCreate') throw new Error('no cpus');
      return config;
    },
    preStart: async () => {
      if (failing === 'preStart') throw new Error('no cpus');
    },
    postStop: async () => {},
  });
  it.each<[string, Script, string, string, string]>([
    [
      'no image',
      {
        options: { images: { ensure: () => Promise.reject(new SyncFailure('ErrImagePull', 'no such tag')) } },
      },
      'Warning Failed Error: ErrImagePull',
      'ErrImagePull',
      'no such tag',
    ],
    [
      'no config',
      { options: { configs: configs(() => Promise.reject(new Error('configmap "x" not found'))) } },
      'Warning Failed Error: configmap "x" not found',
      'CreateContainerConfigError',
      'configmap "x" not found',
    ],
    [
      'no devices',
      {
        options: {
          internals: {
            ...internals('preCreate'),
            additions: () => Promise.reject(new Error('endpoint has been stopped')),
          },
        },
      },
      'Warning Failed Error: endpoint has been stopped',
      'CreateContainerConfigError',
      'endpoint has been stopped',
    ],
    [
      'pre-create hook',
      { options: { internals: internals('preCreate'), configs: configs(built) } },
      'Warning Failed Internal PreCreateContainer hook failed: no cpus',
      'PreCreateHookError',
      'no cpus',
    ],
    [
      'not created',
      { overrides: { createContainer: () => Promise.reject(new CriError('Unknown', 'name in use')) } },
      'Warning Failed Error: name in use',
      'CreateContainerError',
      'name in use',
    ],
    [
      'pre-start hook',
      { options: { internals: internals('preStart') } },
      'Warning Failed Internal PreStartContainer hook failed: no cpus',
      'PreStartHookError',
      'no cpus',
    ],
    [
      'not started; the event has the name instead of the id',
      { overrides: { startContainer: () => Promise.reject(new CriError('Unknown', 'task new-app failed')) } },
      'Warning Failed Error: task app failed',
      'RunContainerError',
      'task new-app failed',
    ],
  ])('failure: %s', async (_, script, event, reason, message) => {
    const registry = new Registry();
    const metrics = createRuntimeMetrics(registry);
    const { events, failure } = await start({ ...script, options: { ...script.options, metrics } });
    expect(events().at(-1)).toBe(event);
    expect(failure).toMatchObject({ reason, message });
    const counts = Object.entries(samples(registry)).filter(([name]) => name.includes('started_containers'));
    expect(Object.fromEntries(counts)).toEqual({
      'kubelet_started_containers_total{container_type="container"}': 1,
      [`kubelet_started_containers_errors_total{container_type="container",code="${reason}"}`]: 1,
    });
  });

  it('always cleans up what the config prepared', async () => {
    cleaned.length = 0;
    await start({ options: { configs: configs(built) } });
    await start({ options: { configs: configs(built), internals: internals('preCreate') } });
    await start({
      options: { configs: configs(built) },
      overrides: { createContainer: () => Promise.reject(new CriError('Unknown', 'no')) },
    });
    expect(cleaned).toEqual(['app', 'app', 'app']);
  });

  const postStart: Partial<Container> = { lifecycle: { postStart: { exec: { command: ['hi'] } } } };

  it('a failed postStart hook kills the container', async () => {
    const hooks = { postStart: () => Promise.reject(new Error('handler said no')), preStop: async () => {} };
    const { calls, events, failure } = await start({ options: { hooks } }, postStart);
    expect(calls.at(-1)).toMatchObject({ method: 'StopContainer', target: 'new-app', timeout: 30 });
    expect(events().slice(2)).toEqual([
      'Warning FailedPostStartHook PostStartHook failed',
      'Normal Killing FailedPostStartHook',
    ]);
    expect(failure).toMatchObject({ reason: 'PostStartHookError', message: 'handler said no' });
  });

  it('records a hook that was not run', async () => {
    const { timeline, failure } = await start({}, postStart);
    expect(failure).toBeUndefined();
    expect(timeline.ofPod('uid-1').filter(({ kind }) => kind === 'problem')).toMatchObject([
      { message: 'postStart hook of container app not run: this agent runs no hooks' },
    ]);
  });

  it('an ephemeral container joins the newest instance of its target', async () => {
    const asked: (string | undefined)[] = [];
    const debug = (target: string): EphemeralContainer => ({
      ...container(`debug-${target}`),
      targetContainerName: target,
    });
    const pod = makePod({
      containers: [container('app')],
      ephemeralContainers: [debug('app'), debug('ghost')],
    });
    const { options } = bench({
      options: {
        configs: configs(async (request) => {
          asked.push(request.targetContainerId);
          return built(request);
        }),
      },
    });
    const status = makeStatus(pod, [running('app')]);
    const result = await new RuntimeManager(options).syncPod(pod, status, { restartingAllContainers: false });
    expect(asked).toEqual(['id-app']);
    expect(syncError(result)?.message).toBe(
      'failed to "StartContainer" for "debug-ghost" with CreateContainerConfigError: "unable to find target container ghost"',
    );
  });
});

describe('counting restarts and linking logs', () => {
  let directory = '';
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'start-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const counting = (podLogsDir: string, counts: number[]): Script => ({
    podLogsDir,
    options: {
      containerLogsDir: join(directory, 'containers'),
      configs: {
        ...filelessPodConfigs,
        sandbox: async () => ({ logDirectory: join(directory, 'shop_web_uid-1') }),
        container: async ({ restartCount }) => {
          counts.push(restartCount);
          return {
            config: { metadata: { name: 'app' }, logPath: `app/${restartCount}.log` },
            cleanup: async () => {},
          };
        },
      },
    },
  });

  it('takes the count from the logs without an instance', async () => {
    const logs = join(directory, 'shop_web_uid-1', 'app');
    await mkdir(logs, { recursive: true });
    for (const file of ['0.log.rotated', '1.log', '2.log']) await writeFile(join(logs, file), '');
    const counts: number[] = [];
    const { failure } = await start(counting(directory, counts));
    expect(failure).toBeUndefined();
    expect(counts).toEqual([3]);
  });

  it('links an existing log into the flat directory', async () => {
    const logs = join(directory, 'shop_web_uid-1', 'app');
    await mkdir(logs, { recursive: true });
    await mkdir(join(directory, 'containers'));
    const counts: number[] = [];
    const script = counting('/nonexistent', counts);
    await writeFile(join(logs, '0.log'), '');
    await start(script);
    expect(counts).toEqual([0]);
    expect(await readlink(join(directory, 'containers', 'web_shop_app-new-app.log'))).toBe(
      join(logs, '0.log'),
    );
  });

  it('takes the count from the newest instance', async () => {
    const counts: number[] = [];
    const table = bench(counting(directory, counts));
    const pod = makePod({ containers: [container('app')] });
    const status = makeStatus(pod, [
      exited('app', 1, { restartCount: 6 }),
      exited('app', 1, { restartCount: 5 }),
    ]);
    await new RuntimeManager(table.options).syncPod(pod, status, { restartingAllContainers: false });
    expect(counts).toEqual([7]);
  });
});

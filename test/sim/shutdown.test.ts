/** The machine of a simulated node shuts down: what becomes of pods, the node, the lock and the state file, and when. */
import { afterEach, describe, expect, it } from 'vitest';
import { settle } from '../../src/async/index.js';
import { SimulatedMachine } from '../../src/host/index.js';
import { resources } from '../../src/kube-client/index.js';
import type { KubeletOptions } from '../../src/kubelet/index.js';
import { SimulatedLogind, type SimulatedLogindOptions } from '../../src/node/index.js';
import { ClusterMachine, startMember } from './cluster-machine.js';
import { endNodes, nodeName, second } from './node.js';
import { apiPod, type PodShape, staticName, staticPod } from './pods.js';
import { Outside, rootDir, startVolumeNode, type VolumeNodeOptions } from './volume-node.js';

afterEach(endNodes);

const statePath = `${rootDir}/graceful_node_shutdown_state`;
const message = 'Pod was terminated in response to imminent node shutdown.';
const twoGroups = { shutdownGracePeriod: 30 * second, shutdownGracePeriodCriticalPods: 10 * second };

interface Scenario extends Omit<VolumeNodeOptions, 'kubelet'> {
  readonly config?: KubeletOptions['config'];
  readonly logind?: SimulatedLogind;
  readonly logindOptions?: SimulatedLogindOptions;
}

async function startScenario({ config = twoGroups, logindOptions, ...options }: Scenario = {}) {
  const files = options.files ?? new SimulatedMachine();
  const logind = options.logind ?? new SimulatedLogind({ inhibitDelayMaxMs: 60 * second, ...logindOptions });
  const started = await startVolumeNode({ ...options, files, kubelet: { config, logind } });
  const { node } = started;
  return { ...started, node, logind, files, outside: new Outside(files) };
}

const withLock = (scenario: Awaited<ReturnType<typeof startScenario>>): Promise<void> =>
  scenario.node.until('the lock is held', () => scenario.logind.heldLocks === 1);

const shape = (priority: number, stopDelay: string, graceSeconds = 60): PodShape => ({
  graceSeconds,
  sim: { 'stop-delay': stopDelay },
  spec: { priority },
});

describe('a shutdown', { timeout: 30_000 }, () => {
  it('kills low priorities first and within their period, then releases the lock', async () => {
    const scenario = await startScenario();
    const { node, logind, outside } = scenario;
    node.set([
      apiPod('plain', shape(0, '5s')),
      apiPod('stubborn', shape(7, '1h')),
      apiPod('critical', shape(2_000_000_000, '3s')),
    ]);
    for (const name of ['plain', 'stubborn', 'critical']) await node.untilReady(name);
    await withLock(scenario);
    const startMs = node.clock.now();
    logind.prepare(true);
    await node.advance(0);
    expect(node.events(undefined, 'Shutdown').map((entry) => entry.message)).toEqual([
      'Shutdown manager detected shutdown event',
    ]);
    expect(await outside.text(statePath)).toBe(
      `{"startTime":"${new Date(startMs).toISOString()}","endTime":"0001-01-01T00:00:00Z"}`,
    );
    await node.advance(6 * second);
    expect(node.machine.running('plain')).toEqual([]);
    expect(node.machine.running('critical')).toHaveLength(1);
    expect(logind.heldLocks).toBe(1);
    // The one that does not stop has its grace cut to the period of its group: 20 s.
    await node.advance(15 * second);
    expect(node.machine.running('critical')).toHaveLength(1);
    await node.until('the lock is released', () => logind.heldLocks === 0, 12 * second);
    expect(node.machine.running()).toEqual([]);
    for (const name of ['plain', 'stubborn', 'critical']) {
      expect(node.status(name)).toMatchObject({ phase: 'Failed', reason: 'Terminated', message });
      expect(node.status(name)?.conditions).toContainEqual(
        expect.objectContaining({
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'TerminationByKubelet',
          message,
        }),
      );
    }
    const state = JSON.parse((await outside.text(statePath)) ?? '') as { startTime: string; endTime: string };
    expect(Date.parse(state.endTime)).toBeGreaterThan(startMs + 20 * second);
    expect(node.metric('kubelet_graceful_shutdown_start_time_seconds')).toBe(Math.floor(startMs / 1000));
    expect(node.metric('kubelet_graceful_shutdown_end_time_seconds')).toBe(
      Math.floor(Date.parse(state.endTime) / 1000),
    );
    expect(node.recorded('node.shutdown-group').map(({ data }) => data)).toEqual([
      { priority: 0, periodSeconds: 20, left: 2 },
      { priority: 0, periodSeconds: 20, left: expect.any(Number) },
      { priority: 2_000_000_000, periodSeconds: 10, left: 1 },
      { priority: 2_000_000_000, periodSeconds: 10, left: 0 },
    ]);
    expect(node.recorded('node.shutdown-pod', 'stubborn')[0]).toMatchObject({ data: { graceSeconds: 20 } });
  });

  it('includes static pods', async () => {
    const scenario = await startScenario({ sources: ['api', 'file'] });
    const { node, logind } = scenario;
    node.set([apiPod('web', shape(0, '2s'))], 'api');
    node.set([staticPod('static', shape(0, '1s'))], 'file');
    await node.untilReady('web');
    await withLock(scenario);
    logind.prepare(true);
    await node.until('the lock is released', () => logind.heldLocks === 0);
    expect(node.machine.running()).toEqual([]);
    expect(node.status('web')).toMatchObject({ phase: 'Failed', reason: 'Terminated' });
    expect(node.status(staticName('static'))).toMatchObject({ phase: 'Failed', reason: 'Terminated' });
  });

  it('refuses new pods until it is cancelled, and then holds a lock again', async () => {
    const scenario = await startScenario();
    const { node, logind } = scenario;
    node.set([apiPod('web', shape(0, '4s'))]);
    await node.untilReady('web');
    await withLock(scenario);
    logind.prepare(true);
    await node.advance(second);
    node.put(apiPod('late'));
    await node.advance(100);
    expect(node.status('late')).toMatchObject({
      phase: 'Failed',
      reason: 'NodeShutdown',
      message: 'Pod was rejected: Pod was rejected as the node is shutting down.',
    });
    expect(node.metric('kubelet_admission_rejections_total', { reason: 'NodeShutdown' })).toBe(1);
    // The cancellation waits for the end of the killing.
    logind.prepare(false);
    await node.advance(second);
    expect(node.events(undefined, 'Shutdown')).toHaveLength(1);
    await node.until('the cancellation is handled', () => node.events(undefined, 'Shutdown').length === 2);
    await node.advance(0);
    expect(node.events(undefined, 'Shutdown').map((entry) => entry.message)).toEqual([
      'Shutdown manager detected shutdown event',
      'Shutdown manager detected shutdown cancellation',
    ]);
    expect(logind.heldLocks).toBe(1);
    expect(logind.calls.filter((call) => call === 'inhibit' || call === 'release')).toEqual([
      'inhibit',
      'release',
      'inhibit',
    ]);
    node.put(apiPod('next'));
    await node.untilReady('next');
    expect(node.status('web')).toMatchObject({ phase: 'Failed', reason: 'Terminated' });
  });

  it('goes on to the next group while volumes of the first stay mounted', async () => {
    const scenario = await startScenario();
    const { node, logind, host } = scenario;
    const mounted: PodShape = {
      ...shape(0, '1s'),
      containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      spec: { volumes: [{ name: 'data', emptyDir: { medium: 'Memory' } }] },
    };
    node.set([apiPod('mounted', mounted), apiPod('critical', shape(2_000_000_000, '1s'))]);
    for (const name of ['mounted', 'critical']) await node.untilReady(name);
    await withLock(scenario);
    host.inject({
      at: ({ operation }) => operation === 'unmount',
      when: 'before',
      effect: { kind: 'fail', code: 'EBUSY' },
    });
    logind.prepare(true);
    await node.advance(19 * second);
    expect(node.machine.running('mounted')).toEqual([]);
    expect(node.machine.running('critical')).toHaveLength(1);
    await node.advance(3 * second);
    expect(node.machine.running('critical')).toEqual([]);
    await node.until('the lock is released', () => logind.heldLocks === 0);
  });

  it('starts the kill of a group without a period, and does not wait for it', async () => {
    const scenario = await startScenario({ config: { shutdownGracePeriod: 10 * second } });
    const { node, logind } = scenario;
    node.set([apiPod('critical', shape(2_000_000_000, '30s'))]);
    await node.untilReady('critical');
    await withLock(scenario);
    logind.prepare(true);
    await node.advance(0);
    expect(logind.heldLocks).toBe(0);
    await node.until('the pod is killed', () => node.machine.running().length === 0, 5 * second);
  });

  it('ends with the kubelet, which leaves no lock and no timer', async () => {
    const scenario = await startScenario();
    const { node, logind } = scenario;
    node.set([apiPod('web', shape(0, '1h')), apiPod('critical', shape(2_000_000_000, '1s'))]);
    for (const name of ['web', 'critical']) await node.untilReady(name);
    await withLock(scenario);
    logind.prepare(true);
    await node.advance(second);
    await node.stop();
    expect([logind.heldLocks, logind.openConnections]).toEqual([0, 0]);
    expect(node.machine.running('critical')).toHaveLength(1);
  });
});

describe('the node of a cluster', { timeout: 30_000 }, () => {
  it('is not ready at once, and its pods fail in the API', async () => {
    const on = new ClusterMachine();
    const logind = new SimulatedLogind({ inhibitDelayMaxMs: 60 * second });
    const member = await startMember({
      on,
      kubelet: { config: { ...twoGroups, localStorageCapacityIsolation: false }, logind },
    });
    await on.create('web', shape(0, '3s'));
    await member.untilReady('web');
    await member.node.until('the lock is held', () => logind.heldLocks === 1);
    const ready = async () =>
      (await on.api.get(resources.nodes, { name: nodeName })).status?.conditions?.find(
        ({ type }) => type === 'Ready',
      );
    await member.node.advance(30 * second);
    expect(await ready()).toMatchObject({ status: 'True' });
    logind.prepare(true);
    await member.node.advance(500);
    expect(await ready()).toMatchObject({
      status: 'False',
      reason: 'KubeletNotReady',
      message: 'node is shutting down',
    });
    const failed = await member.until('has failed', 'web', ({ status }) => status?.phase === 'Failed');
    expect(failed.status).toMatchObject({ reason: 'Terminated', message });
    const { items } = await on.api.list(resources.events);
    expect(
      items.filter(({ reason }) => reason === 'Shutdown').map((event) => [event.type, event.message]),
    ).toEqual([['Normal', 'Shutdown manager detected shutdown event']]);
    // A cancellation reports nothing by itself; the next period does.
    logind.prepare(false);
    await member.node.advance(500);
    expect(await ready()).toMatchObject({ status: 'False' });
    await member.node.advance(15 * second);
    expect(await ready()).toMatchObject({ status: 'True' });
  });
});

describe('logind', { timeout: 30_000 }, () => {
  it('is made to wait long enough', async () => {
    const files = new SimulatedMachine();
    const outside = new Outside(files);
    const override = '/etc/systemd/logind.conf.d/99-kubelet.conf';
    const scenario = await startScenario({
      files,
      config: { shutdownGracePeriod: 300 * second, shutdownGracePeriodCriticalPods: 120 * second },
      logindOptions: {
        inhibitDelayMaxMs: 5 * second,
        onReload: async () =>
          Number(/InhibitDelayMaxSec=(\d+)/.exec((await outside.text(override)) ?? '')?.[1]) * second,
      },
    });
    await withLock(scenario);
    expect(await outside.text(override)).toBe('# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=300\n');
    expect(scenario.logind.calls).toEqual(['connect', 'read', 'reload', 'read', 'inhibit']);
  });

  it.each<[rule: string, refuse: (logind: SimulatedLogind) => void, error: string]>([
    ['waits too short and stays so', () => {}, 'node shutdown manager was timed out after 5 attempts'],
    [
      'gives no lock, as in the middle of a shutdown',
      (logind) => {
        logind.inhibitRefusal =
          'Failed to inhibit: The operation inhibition has been requested for is already running';
      },
      'failed creating systemd inhibitor: Failed to inhibit: The operation',
    ],
    [
      'is not there',
      (logind) => {
        logind.connectRefusal = 'connect ENOENT /run/dbus/system_bus_socket';
      },
      'connect ENOENT',
    ],
  ])('that %s is reported once; pods run, and nothing is tried again', async (rule, refuse, error) => {
    const isShort = rule.startsWith('waits');
    const logind = new SimulatedLogind({ inhibitDelayMaxMs: isShort ? 5 * second : 60 * second });
    refuse(logind);
    const { node } = await startScenario({ logind });
    node.set([apiPod('web')]);
    await node.untilReady('web');
    await node.advance(10 * second);
    const [problem, ...others] = node.recorded('node.shutdown');
    expect(problem).toMatchObject({
      message: expect.stringContaining('Failed to start node shutdown manager'),
    });
    expect(problem?.error).toContain(error);
    expect(others).toEqual([]);
    const calls = logind.calls.length;
    await node.advance(60 * second);
    expect([logind.calls.length, logind.openConnections, logind.heldLocks]).toEqual([calls, 0, 0]);
    node.put(apiPod('next'));
    await node.untilReady('next');
  });

  it('is connected again after its loss, with a new lock before the old one goes', async () => {
    const scenario = await startScenario();
    const { node, logind } = scenario;
    await withLock(scenario);
    logind.connectRefusal = 'connect ECONNREFUSED';
    logind.loseBus();
    await node.advance(4 * second);
    expect(logind.heldLocks).toBe(1);
    expect(logind.calls.filter((call) => call === 'connect').length).toBeGreaterThanOrEqual(4);
    logind.connectRefusal = undefined;
    await node.advance(second);
    expect(logind.calls.slice(-4)).toEqual(['connect', 'read', 'inhibit', 'release']);
    expect([logind.heldLocks, logind.openConnections]).toEqual([1, 1]);
    // What it says is heard again.
    logind.prepare(true);
    await node.advance(0);
    expect(node.events(undefined, 'Shutdown')).toHaveLength(1);
  });

  it.each<[rule: string, refuse: (logind: SimulatedLogind) => void]>([
    [
      'cannot be reached',
      (logind) => {
        logind.connectRefusal = 'connect ECONNREFUSED';
      },
    ],
    [
      'gives no lock',
      (logind) => {
        logind.inhibitRefusal = 'not now';
      },
    ],
  ])('that %s a hundred times keeps one connection at most', async (_rule, refuse) => {
    const scenario = await startScenario();
    const { node, logind } = scenario;
    await withLock(scenario);
    refuse(logind);
    logind.loseBus();
    const tries = (): number => logind.calls.filter((call) => call === 'connect').length - 1;
    while (tries() < 100) {
      const before = tries();
      await node.until('it is tried again', () => tries() > before, 60 * second);
      expect(logind.openConnections).toBeLessThanOrEqual(1);
    }
    logind.connectRefusal = undefined;
    logind.inhibitRefusal = undefined;
    await node.advance(2 * second);
    expect([logind.heldLocks, logind.openConnections]).toEqual([1, 1]);
  });

  it('is asked again when the holder of the lock died', async () => {
    const scenario = await startScenario();
    const { node, logind } = scenario;
    await withLock(scenario);
    logind.loseLocks();
    await node.advance(0);
    expect(logind.heldLocks).toBe(0);
    await node.advance(second);
    expect([logind.heldLocks, logind.openConnections]).toEqual([1, 1]);
  });

  it('that gives a lock again has cancelled the shutdown, whoever heard of it', async () => {
    const scenario = await startScenario();
    const { node, logind } = scenario;
    await withLock(scenario);
    logind.prepare(true);
    await node.until('the lock is released', () => logind.heldLocks === 0);
    logind.inhibitRefusal = 'The operation inhibition has been requested for is already running';
    logind.loseBus();
    await node.advance(5 * second);
    node.put(apiPod('early'));
    await node.advance(100);
    expect(node.status('early')?.reason).toBe('NodeShutdown');
    logind.inhibitRefusal = undefined;
    await node.advance(2 * second);
    expect(logind.heldLocks).toBe(1);
    node.put(apiPod('late'));
    await node.untilReady('late');
  });

  it('is not asked where no period is configured', async () => {
    const { node, logind } = await startScenario({ config: {} });
    node.set([apiPod('web')]);
    await node.untilReady('web');
    expect(logind.calls).toEqual([]);
    // Told from the start, with no time.
    expect(node.metric('kubelet_graceful_shutdown_start_time_seconds')).toBe(0);
  });
});

describe('the state file', { timeout: 30_000 }, () => {
  it('tells of the last shutdown after a restart', async () => {
    const files = new SimulatedMachine();
    const outside = new Outside(files);
    await outside.makeDirectory(rootDir);
    await outside.write(statePath, '{"startTime":"2026-01-01T00:00:05.5Z","endTime":"2026-01-01T00:00:25Z"}');
    const scenario = await startScenario({ files });
    await withLock(scenario);
    await settle();
    expect(scenario.node.metric('kubelet_graceful_shutdown_start_time_seconds')).toBe(1_767_225_605);
    expect(scenario.node.metric('kubelet_graceful_shutdown_end_time_seconds')).toBe(1_767_225_625);
    expect(await outside.names(rootDir)).not.toContainEqual(expect.stringContaining('.tmp'));
  });

  it('of a shutdown is whole when the next kubelet reads it, and nothing else is left', async () => {
    const files = new SimulatedMachine();
    const outside = new Outside(files);
    const first = await startScenario({ files });
    first.node.set([apiPod('web', shape(0, '4s'))]);
    await first.node.untilReady('web');
    await withLock(first);
    const startSeconds = Math.floor(first.node.clock.now() / 1000);
    first.logind.prepare(true);
    await first.node.until('the lock is released', () => first.logind.heldLocks === 0);
    await first.node.stop();
    const next = await startScenario({ files, machine: first.node.machine });
    await withLock(next);
    await settle();
    const shown = (name: string) => next.node.metric(`kubelet_graceful_shutdown_${name}_time_seconds`) ?? 0;
    expect(shown('start')).toBe(startSeconds);
    expect(shown('end')).toBeGreaterThanOrEqual(startSeconds + 4);
    expect((await outside.names(rootDir)).filter((name) => name.includes('shutdown_state'))).toEqual([
      'graceful_node_shutdown_state',
    ]);
  });

  it.each(['', '{"startTime":', '[]x', '{"startTime":"tomorrow","endTime":7}'])(
    'that says %j is set aside, and the lock is held nevertheless',
    async (content) => {
      const files = new SimulatedMachine();
      const outside = new Outside(files);
      await outside.makeDirectory(rootDir);
      await outside.write(statePath, content);
      const scenario = await startScenario({ files });
      await withLock(scenario);
      await settle();
      expect(scenario.node.metric('kubelet_graceful_shutdown_start_time_seconds')).toBe(0);
      expect(await outside.text(statePath)).toBeUndefined();
      expect(await outside.names(rootDir)).toContainEqual(
        expect.stringContaining('graceful_node_shutdown_state.corrupt-'),
      );
    },
  );

  it('is complete after a death in the middle, and the next kubelet neither kills nor refuses', async () => {
    const files = new SimulatedMachine();
    const first = await startScenario({ files });
    first.node.set([apiPod('web', shape(0, '15s'))]);
    await first.node.untilReady('web');
    await withLock(first);
    first.logind.prepare(true);
    await first.node.advance(second);
    await first.crash();
    const outside = new Outside(files);
    expect(JSON.parse((await outside.text(statePath)) ?? '')).toMatchObject({
      endTime: '0001-01-01T00:00:00Z',
    });
    const logind = new SimulatedLogind({ inhibitDelayMaxMs: 60 * second });
    logind.inhibitRefusal = 'The operation inhibition has been requested for is already running';
    const next = await startScenario({ files, logind, machine: first.node.machine });
    next.node.set([apiPod('next')]);
    await next.node.untilReady('next');
    expect(next.node.events(undefined, 'Shutdown')).toEqual([]);
    expect(logind.heldLocks).toBe(0);
  });

  it('that a disk does not take delays no kill', async () => {
    const scenario = await startScenario();
    const { node, logind, host } = scenario;
    node.set([apiPod('web', shape(0, '2s'))]);
    await node.untilReady('web');
    await withLock(scenario);
    host.inject({
      at: ({ path }) => path.startsWith(statePath),
      when: 'before',
      effect: { kind: 'fail', code: 'ENOSPC' },
    });
    logind.prepare(true);
    await node.advance(3 * second);
    expect(node.machine.running()).toEqual([]);
    await node.until('the lock is released', () => logind.heldLocks === 0);
    expect(node.recorded('node.shutdown').map((entry) => entry.message)).toContain(
      'the times of this shutdown cannot be kept',
    );
  });
});

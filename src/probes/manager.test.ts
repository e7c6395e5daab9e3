import { afterEach, describe, expect, it } from 'vitest';
import { settle, sleep, VirtualClock } from '../async/index.js';
import type { Container, ContainerStatus, Pod, PodStatus, Probe } from '../kube/index.js';
import { Registry } from '../metrics/index.js';
import { Timeline } from '../timeline/index.js';
import type { ProbeKind, ProbeRun } from './contracts.js';
import { ProbeManager } from './manager.js';
import { createProbeMetrics } from './metrics.js';
import type { ProbeConclusion } from './prober.js';

const managers: { manager: ProbeManager; clock: VirtualClock }[] = [];
afterEach(async () => {
  for (const { manager, clock } of managers.splice(0)) {
    await manager.stop();
    expect(clock.pendingTimers, 'timers left behind').toBe(0);
  }
});

interface Setting {
  /** How long a run takes. */
  runMs?: number;
  verdict?: ProbeConclusion | undefined;
  /** Thrown instead of returning a verdict. */
  crash?: Error | undefined;
}

function setUp({ oldEnough = true } = {}) {
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const registry = new Registry();
  const statuses = new Map<string, PodStatus>();
  const runs: { atMs: number; kind: ProbeKind; containerId: string }[] = [];
  const setting: Setting = { verdict: { result: 'success', output: 'fine' } };
  const probe = async ({ kind, containerId }: ProbeRun, signal: AbortSignal) => {
    runs.push({ atMs: clock.monotonic(), kind, containerId });
    if (setting.runMs !== undefined) await sleep(clock, setting.runMs, signal);
    if (setting.crash !== undefined) throw setting.crash;
    return setting.verdict;
  };
  const manager = new ProbeManager({
    clock,
    timeline,
    random: () => 0.5,
    statusOf: (uid) => statuses.get(uid),
    probe,
    metrics: createProbeMetrics(registry),
    keepsStatusOverRestart: true,
  });
  managers.push({ manager, clock });
  const show = (state: Partial<ContainerStatus> = {}, uid = 'u1', name = 'app'): void => {
    const shown: ContainerStatus = {
      name,
      ready: false,
      started: true,
      restartCount: 0,
      image: '',
      imageID: '',
      containerID: 'containerd://c1',
      state: { running: { startedAt: new Date(clock.now()).toISOString() } },
      ...state,
    };
    const others = statuses.get(uid)?.containerStatuses?.filter((one) => one.name !== name) ?? [];
    statuses.set(uid, { phase: 'Running', containerStatuses: [...others, shown] });
  };
  const ready = oldEnough ? clock.advance(60_000) : Promise.resolve();
  return { clock, timeline, registry, statuses, runs, setting, manager, show, ready };
}

const everySecond: Probe = { exec: { command: ['x'] }, periodSeconds: 1 };
const podWith = (container: Partial<Container>, more: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { name: 'a', namespace: 'ns', uid: 'u1' },
  spec: { containers: [{ name: 'app', ...container }], ...more },
});

describe('the ticks of a worker', () => {
  it('probes at once and then once per period', async () => {
    const { manager, clock, runs, show, ready } = setUp();
    await ready;
    show();
    manager.add(podWith({ livenessProbe: everySecond }));
    await clock.advance(3_500);
    expect(runs.map(({ atMs }) => atMs - 60_000)).toEqual([0, 1_000, 2_000, 3_000]);
  });

  it('waits for part of its period if the agent has just started', async () => {
    const { manager, clock, runs, show } = setUp({ oldEnough: false });
    show();
    manager.add(podWith({ livenessProbe: everySecond }));
    await clock.advance(1_700);
    expect(runs.map(({ atMs }) => atMs)).toEqual([500, 1_500]);
  });

  it('makes up for one missed tick, not more, and keeps its rhythm', async () => {
    const { manager, clock, runs, show, setting, ready } = setUp();
    await ready;
    show();
    setting.runMs = 2_300;
    manager.add(podWith({ livenessProbe: everySecond }));
    await clock.advance(100);
    setting.runMs = undefined;
    await clock.advance(4_000);
    expect(runs.map(({ atMs }) => atMs - 60_000)).toEqual([0, 2_300, 3_000, 4_000]);
  });

  it('a trigger probes at once and restarts the period', async () => {
    const { manager, clock, runs, show, ready } = setUp();
    await ready;
    show();
    manager.add(podWith({ readinessProbe: everySecond }));
    await clock.advance(300);
    manager.trigger('readiness', 'u1', 'app');
    await clock.advance(1_100);
    expect(runs.map(({ atMs }) => atMs - 60_000)).toEqual([0, 300, 1_300]);
  });

  it('keeps one trigger that arrives during a run', async () => {
    const { manager, clock, runs, show, setting, ready } = setUp();
    await ready;
    show();
    setting.runMs = 400;
    manager.add(podWith({ readinessProbe: { ...everySecond, periodSeconds: 10 } }));
    await clock.advance(100);
    manager.trigger('readiness', 'u1', 'app');
    manager.trigger('readiness', 'u1', 'app');
    await clock.advance(2_000);
    expect(runs.map(({ atMs }) => atMs - 60_000)).toEqual([0, 400]);
  });

  it('continues after a run that crashed', async () => {
    const { manager, clock, runs, show, setting, timeline, ready } = setUp();
    await ready;
    show();
    setting.crash = new Error('oops');
    manager.add(podWith({ livenessProbe: everySecond }));
    await clock.advance(1_500);
    expect(runs).toHaveLength(2);
    expect(timeline.ofPod('u1').some(({ what }) => what === 'probe.crash')).toBe(true);
  });
});

describe('the workers of pods', () => {
  it('are created once, for regular containers and sidecars only', async () => {
    const { manager, ready } = setUp();
    await ready;
    const probes = { startupProbe: everySecond, readinessProbe: everySecond, livenessProbe: everySecond };
    const pod = podWith(probes, {
      initContainers: [
        { name: 'side', restartPolicy: 'Always', ...probes },
        { name: 'init', ...probes },
      ],
      ephemeralContainers: [{ name: 'debug', ...probes }],
    });
    manager.add(pod);
    manager.add(pod);
    expect(manager.size).toBe(6);
    expect(manager.has('startup', 'u1', 'side')).toBe(true);
    expect(manager.has('startup', 'u1', 'init')).toBe(false);
    manager.stopLivenessAndStartup(pod);
    expect(manager.size, 'readiness and those of the sidecar go on').toBe(4);
    manager.remove(pod);
    expect(manager.size).toBe(0);
  });

  it('start again for a container whose worker is gone, whatever runs for the one before', async () => {
    const { manager, clock, show, ready } = setUp();
    await ready;
    const probes = { readinessProbe: everySecond };
    const pod = podWith(probes, { initContainers: [{ name: 'side', restartPolicy: 'Always', ...probes }] });
    manager.add(podWith(probes));
    show();
    await clock.advance(1_000);
    expect(manager.has('readiness', 'u1', 'side')).toBe(false);
    manager.add(pod);
    expect(manager.has('readiness', 'u1', 'side')).toBe(true);
    expect(manager.size).toBe(2);
  });

  it('are not recreated for containers that ended for good', async () => {
    const { manager, clock, show, ready } = setUp();
    await ready;
    const pod = podWith({ livenessProbe: everySecond }, { restartPolicy: 'Never' });
    show({ state: { terminated: { exitCode: 0 } } });
    manager.add(pod);
    expect(manager.size).toBe(0);
    show();
    manager.add(pod);
    await clock.advance(500);
    show({ state: { terminated: { exitCode: 1 } } });
    await clock.advance(1_000);
    expect(manager.size).toBe(0);
    expect(manager.result('liveness', 'c1')).toBeUndefined();
  });

  it('end when the pod can no longer be running', async () => {
    const { manager, ready } = setUp();
    await ready;
    manager.add(podWith({ livenessProbe: everySecond }));
    manager.keepOnly(new Set(['u1']));
    expect(manager.size).toBe(1);
    manager.keepOnly(new Set(['u2']));
    expect(manager.size).toBe(0);
  });

  it('finish and count the current run before they end', async () => {
    const { manager, clock, show, setting, ready, registry } = setUp();
    await ready;
    show();
    const pod = podWith({ readinessProbe: everySecond });
    manager.add(pod);
    await clock.advance(500);
    expect(manager.result('readiness', 'c1')).toBe('success');
    expect(registry.text()).toContain('prober_probe_total');
    setting.runMs = 700;
    await clock.advance(600);
    manager.remove(pod);
    expect(manager.size).toBe(1);
    await clock.advance(700);
    expect(manager.size).toBe(0);
    expect(manager.result('readiness', 'c1')).toBeUndefined();
    expect(registry.text()).toBe('');
  });

  it('wait while their results are not taken, and continue when they are', async () => {
    const { manager, clock, show, runs, setting, ready } = setUp();
    await ready;
    const containers = Array.from({ length: 25 }, (_, index) => ({
      name: `c${index}`,
      readinessProbe: everySecond,
    }));
    for (const { name } of containers) show({ containerID: `containerd://${name}` }, 'u1', name);
    setting.verdict = { result: 'failure', output: '' };
    manager.add({ metadata: { uid: 'u1', name: 'a', namespace: 'default' }, spec: { containers } });
    await clock.advance(500);
    const { updates } = manager.results.readiness;
    expect(updates.size).toBe(20);
    expect(runs, 'five wait to tell what counts before their first run').toHaveLength(20);
    for (let taken = 0; taken < 10; taken++) updates.tryReceive();
    await settle();
    expect(runs).toHaveLength(25);
  });

  it('report each result of a container once', async () => {
    const { manager, clock, show, setting, ready } = setUp();
    await ready;
    show();
    manager.add(podWith({ livenessProbe: { ...everySecond, failureThreshold: 2 } }));
    setting.verdict = { result: 'failure', output: 'sick' };
    await clock.advance(5_500);
    const news: string[] = [];
    for (;;) {
      const received = manager.results.liveness.updates.tryReceive();
      if (received === undefined || received.done) break;
      news.push(`${received.value.podUid} ${received.value.containerId} ${received.value.result}`);
    }
    expect(news).toEqual(['u1 c1 success', 'u1 c1 failure']);
    show({ containerID: 'containerd://c2' });
    await clock.advance(1_000);
    expect(manager.result('liveness', 'c1')).toBeUndefined();
    expect(manager.result('liveness', 'c2')).toBe('success');
  });

  it('all end at once with the agent', async () => {
    const { manager, clock, show, setting, ready } = setUp();
    await ready;
    show();
    setting.runMs = 60_000;
    manager.add(podWith({ livenessProbe: everySecond, readinessProbe: everySecond }));
    await clock.advance(100);
    await manager.stop();
    expect(clock.pendingTimers).toBe(0);
    manager.add(podWith({ livenessProbe: everySecond }));
    expect(clock.pendingTimers).toBe(0);
  });
});

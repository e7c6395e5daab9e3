import { describe, expect, it } from 'vitest';
import { sleep } from '../../async/index.js';
import {
  ContainerStatusResponse,
  CriError,
  type CriRuntime,
  criAnnotations,
  criLabels,
} from '../../cri/index.js';
import type { Container, Pod } from '../../kube/index.js';
import type { LifecycleHooks } from '../contracts.js';
import { RuntimeManager } from '../manager.js';
import { syncError } from '../sync-result.js';
import { bench, container, exited, makePod, makeSandbox, makeStatus, running } from '../test-fixtures.js';
import { stubPod } from './restored-pod.js';

const preStop: Partial<Container> = { lifecycle: { preStop: { exec: { command: ['bye'] } } } };
const hookedPod = (graceSeconds = 30): Pod =>
  makePod({ terminationGracePeriodSeconds: graceSeconds, containers: [container('c0', preStop)] });

/** A runtime whose containers carry a preStop hook and a grace period. */
const carrying = (graceSeconds: number): Partial<CriRuntime> => ({
  containerStatus: async ({ containerId }) =>
    ContainerStatusResponse.create({
      status: {
        id: containerId,
        labels: { [criLabels.containerName]: 'c0', [criLabels.podUid]: 'uid-1' },
        annotations: {
          [criAnnotations.preStopHandler]: JSON.stringify({ exec: { command: ['bye'] } }),
          [criAnnotations.podTerminationGracePeriod]: String(graceSeconds),
        },
      },
    }),
});

/** Kills the pod and advances the time until that is done. */
async function kill(
  pod: Pod | undefined,
  script: NonNullable<Parameters<typeof bench>[0]> & {
    hookMs?: number;
    overrideSeconds?: number;
    hooks?: Partial<LifecycleHooks>;
  },
  status = makeStatus(pod ?? hookedPod(), [running('c0')]),
) {
  const table = bench(script);
  const ran: string[] = [];
  const hooks: LifecycleHooks = {
    postStart: async () => {},
    preStop: async (_pod, { name }, _id, signal) => {
      ran.push(name);
      await sleep(table.clock, script.hookMs ?? 0, signal);
    },
    ...script.hooks,
  };
  const manager = new RuntimeManager({ hooks, ...table.options });
  const killing = manager.killPod(pod, status, script.overrideSeconds);
  let done = false;
  void killing.finally(() => {
    done = true;
  });
  await table.clock.advanceUntil(() => done);
  const result = await killing;
  const stops = table.calls
    .filter(({ method }) => method === 'StopContainer')
    .map(({ target, atMs, timeout }) => `${target} at ${atMs / 1000}s timeout ${timeout}`);
  return { ...table, manager, result, stops, ran };
}

describe('killing a container', () => {
  it.each([
    [
      '52: the time of the hook is subtracted from the grace',
      30,
      10_000,
      undefined,
      'id-c0 at 10s timeout 20',
    ],
    [
      '53: a hook that hangs is waited for no longer than the grace',
      30,
      1_000_000,
      undefined,
      'id-c0 at 30s timeout 2',
    ],
    ['54: without grace the hook is skipped', 30, 10_000, 0, 'id-c0 at 0s timeout 2'],
    ['a fraction of a second is not subtracted', 30, 1_900, undefined, 'id-c0 at 1.9s timeout 29'],
    ['the override replaces the grace', 30, 0, 7, 'id-c0 at 0s timeout 7'],
    ['no less than the minimum', 1, 0, undefined, 'id-c0 at 0s timeout 2'],
  ])('%s', async (_, graceSeconds, hookMs, overrideSeconds, expected) => {
    const { stops, ran, manager, clock } = await kill(hookedPod(graceSeconds), { hookMs, overrideSeconds });
    expect(stops).toEqual([expected]);
    expect(ran).toEqual(overrideSeconds === 0 ? [] : ['c0']);
    await manager.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('56: a hook that succeeds leaves no event but Killing', async () => {
    const { events, result } = await kill(hookedPod(), {});
    expect(events()).toEqual(['Normal Killing Stopping container c0']);
    expect(syncError(result)).toBeUndefined();
  });

  it('a failed hook is reported and does not delay the kill', async () => {
    const { events, stops } = await kill(hookedPod(), {
      hooks: { preStop: () => Promise.reject(new Error('secret detail')) },
    });
    expect(events()).toEqual([
      'Normal Killing Stopping container c0',
      'Warning FailedPreStopHook PreStopHook failed',
    ]);
    expect(stops).toEqual(['id-c0 at 0s timeout 30']);
  });

  it('without hooks the timeline says that one was skipped', async () => {
    const { timeline, stops } = await kill(hookedPod(), { options: { hooks: undefined } });
    expect(stops).toEqual(['id-c0 at 0s timeout 30']);
    const problems = timeline.ofPod('uid-1').filter((entry) => entry.kind === 'problem');
    expect(problems.map(({ message }) => message)).toEqual([
      'preStop hook of container c0 not run: this agent runs no hooks',
    ]);
  });

  it.each([
    ['58: a missing container counts as killed', 'NotFound', undefined],
    [
      'any other response is a failure',
      'Internal',
      'failed to "KillContainer" for "c0" with KillContainerError: "rpc error: code = Internal desc = no"',
    ],
  ] as const)('%s', async (_, code, expected) => {
    const overrides: Partial<CriRuntime> = { stopContainer: () => Promise.reject(new CriError(code, 'no')) };
    const { result } = await kill(hookedPod(), { overrides });
    expect(syncError(result)?.message).toBe(expected);
  });

  it('a container that the spec does not name is not killed blindly', async () => {
    const { result, stops } = await kill(hookedPod(), {}, makeStatus(hookedPod(), [running('stranger')]));
    expect(stops).toEqual([]);
    expect(result.steps[0]?.failure?.reason).toBe('KillContainerError');
  });
});

describe('killing a pod', () => {
  const sidecarPod = makePod({
    terminationGracePeriodSeconds: 30,
    initContainers: [
      container('s0', { restartPolicy: 'Always' }),
      container('s1', { restartPolicy: 'Always' }),
    ],
    containers: [container('c')],
  });
  const allRun = makeStatus(sidecarPod, [running('s0'), running('s1'), running('c')]);

  it('57: sidecars stop after the containers they serve, in reverse order', async () => {
    const { stops, calls } = await kill(sidecarPod, { stopMs: { 'id-c': 5_000, 'id-s1': 3_000 } }, allRun);
    expect(stops).toEqual(['id-c at 0s timeout 30', 'id-s1 at 5s timeout 25', 'id-s0 at 8s timeout 22']);
    expect(calls.at(-1)).toMatchObject({ method: 'StopPodSandbox', target: 'sandbox-0', atMs: 8_000 });
  });

  it('a container that could not be stopped makes the sidecars wait out their grace', async () => {
    const asked: string[] = [];
    const overrides: Partial<CriRuntime> = {
      stopContainer: async ({ containerId = '', timeout }) => {
        if (containerId === 'id-c') throw new CriError('Unknown', 'stuck');
        asked.push(`${containerId} timeout ${timeout}`);
        return {};
      },
    };
    const { result, clock } = await kill(sidecarPod, { overrides }, allRun);
    expect(asked.sort()).toEqual(['id-s0 timeout 2', 'id-s1 timeout 2']);
    expect(clock.monotonic()).toBe(30_000);
    expect(syncError(result)?.message).toContain('KillContainerError');
  });

  it('preStop of sidecars runs at once, before their wait', async () => {
    const hooked = makePod({
      terminationGracePeriodSeconds: 30,
      initContainers: [container('s0', { restartPolicy: 'Always', ...preStop })],
      containers: [container('c', preStop)],
    });
    const { ran, stops } = await kill(
      hooked,
      { hookMs: 4_000 },
      makeStatus(hooked, [running('s0'), running('c')]),
    );
    expect(ran.sort()).toEqual(['c', 's0']);
    expect(stops).toEqual(['id-c at 4s timeout 26', 'id-s0 at 4s timeout 26']);
  });

  it('stops every sandbox and goes on after an error', async () => {
    const asked: string[] = [];
    const overrides: Partial<CriRuntime> = {
      stopPodSandbox: ({ podSandboxId = '' }) => {
        asked.push(podSandboxId);
        if (podSandboxId === 'b') return Promise.reject(new CriError('Unknown', 'cni'));
        return podSandboxId === 'a' ? Promise.reject(new CriError('NotFound', 'gone')) : Promise.resolve({});
      },
    };
    const pod = makePod();
    const sandboxes = ['c', 'b', 'a'].map((id) => makeSandbox({ id }));
    const { result } = await kill(pod, { overrides }, makeStatus(pod, [exited('c0')], sandboxes));
    expect(asked).toEqual(['c', 'b', 'a']);
    expect(syncError(result)?.message).toBe(
      'failed to "KillPodSandbox" for "uid-1" with KillPodSandboxError: "rpc error: code = Unknown desc = cni"',
    );
  });

  it('an unknown pod is restored from its containers', async () => {
    const { stops, ran, events } = await kill(undefined, { overrides: carrying(45), hookMs: 5_000 });
    expect(ran).toEqual(['c0']);
    expect(stops).toEqual(['id-c0 at 5s timeout 40']);
    expect(events()).toEqual([]);
  });

  it('a container of an unknown pod gets its own hook and grace, and the timeline says why', async () => {
    const table = bench({ overrides: carrying(20) });
    const ran: string[] = [];
    const preStopOf: LifecycleHooks['preStop'] = async (_pod, { name }, id) => void ran.push(`${name} ${id}`);
    const manager = new RuntimeManager({
      ...table.options,
      hooks: { postStart: async () => {}, preStop: preStopOf },
    });
    await manager.killOrphan({ id: 'x', name: 'c0', message: 'unknown state', because: 'the pod is gone' });
    expect(ran).toEqual(['c0 x']);
    expect(table.calls).toMatchObject([{ method: 'StopContainer', target: 'x', timeout: 20 }]);
    expect(table.timeline.ofPod('uid-1').at(-1)).toMatchObject({
      what: 'container.stop',
      because: 'the pod is gone',
      container: 'c0',
    });
  });

  it('a missing container needs no kill; one that does not stop is reported', async () => {
    const fail = (code: 'NotFound' | 'Internal') => () => Promise.reject(new CriError(code, 'no'));
    const orphan = { id: 'x', name: 'c0', message: '', because: '' };
    const gone = bench({ overrides: { containerStatus: fail('NotFound') } });
    await new RuntimeManager(gone.options).killOrphan(orphan);
    expect(gone.calls).toEqual([]);
    const broken = bench({ overrides: { containerStatus: fail('Internal') } });
    await expect(new RuntimeManager(broken.options).killOrphan(orphan)).rejects.toThrow('Internal');
  });

  it('an undesired pod is killed through a stub with the minimum grace', async () => {
    const observed = {
      uid: 'uid-1',
      name: 'web',
      namespace: 'shop',
      sandboxes: [],
      containers: ['a', 'b'].map((id) => ({
        id,
        name: 'c0',
        sandboxId: 's',
        state: id === 'a' ? ('running' as const) : ('exited' as const),
        image: 'example/c0:1',
        imageId: '',
        hash: '',
        createdAtNs: 0n,
      })),
      observedAtMs: 0,
    };
    const stub = stubPod(observed);
    expect(stub.spec.containers).toEqual([{ name: 'c0', image: 'example/c0:1' }]);
    const table = bench();
    await new RuntimeManager(table.options).killPod(stub, observed);
    expect(table.calls).toEqual([{ method: 'StopContainer', target: 'a', atMs: 0, timeout: 2 }]);
  });
});

import { describe, expect, it } from 'vitest';
import { sleep } from '../async/index.js';
import {
  CriError,
  type CriRuntime,
  PodSandboxStatusResponse,
  RunPodSandboxResponse,
  VersionResponse,
} from '../cri/index.js';
import type { Pod } from '../kube/index.js';
import { Registry } from '../metrics/index.js';
import { samples } from '../metrics/test-samples.js';
import { type ProbeVerdicts, SyncFailure } from './contracts.js';
import { RuntimeManager } from './manager.js';
import { createRuntimeMetrics } from './metrics.js';
import { crashLoopKey } from './plan/back-off.js';
import { syncError } from './sync-result.js';
import { bench, container, exited, makePod, makeSandbox, makeStatus, running } from './test-fixtures.js';

type Script = NonNullable<Parameters<typeof bench>[0]>;

async function sync(
  pod: Pod,
  status: ReturnType<typeof makeStatus>,
  script: Script = {},
  restartingAllContainers = false,
) {
  const table = bench(script);
  const manager = new RuntimeManager(table.options);
  const ready: string[] = [];
  const result = await manager.syncPod(pod, status, {
    restartingAllContainers,
    onSandboxReady: ({ id, podIps }) => void ready.push(`${id} ${podIps.join(',')}`),
  });
  const did = table.calls.map(({ method, target }) => `${method} ${target}`);
  return { ...table, manager, result, ready, did };
}

const onePod = makePod({ containers: [container('app')] });
const withInit = makePod({ initContainers: [container('init')], containers: [container('app')] });

describe('syncPod', () => {
  it('leaves a pod in its desired state alone', async () => {
    const { did, timeline, result } = await sync(onePod, makeStatus(onePod, [running('app')]));
    expect(did).toEqual([]);
    expect(timeline.ofPod('uid-1')).toEqual([]);
    expect(syncError(result)).toBeUndefined();
  });

  it('2: a new pod gets its sandbox and containers without mention of a change', async () => {
    const { did, events, ready, result } = await sync(onePod, makeStatus(onePod, [], []));
    expect(did).toEqual(['RunPodSandbox uid-1', 'CreateContainer app', 'StartContainer new-app']);
    expect(events()[0]).toBe('Normal Created Container created');
    expect(ready).toEqual(['new-sandbox-1 10.0.0.9,fd00::9']);
    expect(result).toMatchObject({ sandboxCreated: true, podIps: ['10.0.0.9', 'fd00::9'] });
  });

  it.each([
    ['started', undefined, { kubelet_started_pods_errors_total: 0 }],
    [
      'failed',
      new CriError('Internal', 'no network'),
      {
        kubelet_started_pods_errors_total: 1,
        'kubelet_run_podsandbox_errors_total{runtime_handler="gvisor"}': 1,
      },
    ],
  ])('counts how long a sandbox took, and its handler: %s', async (_, error, expected) => {
    const registry = new Registry();
    const table = bench({
      options: { metrics: createRuntimeMetrics(registry), runtimeHandler: async () => 'gvisor' },
      overrides: {
        runPodSandbox: async () => {
          await sleep(table.clock, 2_000);
          if (error !== undefined) throw error;
          return RunPodSandboxResponse.create({ podSandboxId: 's' });
        },
      },
    });
    const synced = new RuntimeManager(table.options).syncPod(onePod, makeStatus(onePod, [], []), {
      restartingAllContainers: false,
    });
    await table.clock.advance(2_000);
    await synced;
    const counts = Object.entries(samples(registry)).filter(([name]) => /podsandbox|started_pods/.test(name));
    expect(Object.fromEntries(counts)).toEqual({
      kubelet_started_pods_total: 1,
      'kubelet_run_podsandbox_duration_seconds_count{runtime_handler="gvisor"}': 1,
      'kubelet_run_podsandbox_duration_seconds_sum{runtime_handler="gvisor"}': 2,
      ...expected,
    });
  });

  it('7: a dead sandbox is replaced, and init containers start over without their history', async () => {
    const status = makeStatus(
      withInit,
      [running('app'), exited('init'), exited('init', 1, { id: 'older' })],
      [makeSandbox({ ready: false })],
    );
    const { did, events, removed } = await sync(withInit, status);
    expect(did).toEqual([
      'StopContainer id-app',
      'StopPodSandbox sandbox-0',
      'RunPodSandbox uid-1',
      'CreateContainer init',
      'StartContainer new-init',
    ]);
    expect(events()[0]).toBe('Normal SandboxChanged Pod sandbox changed, it will be killed and re-created.');
    expect(removed).toEqual(['id-init', 'older']);
  });

  it('18: both of two ready sandboxes are stopped', async () => {
    const status = makeStatus(onePod, [], [makeSandbox({ id: 'b', attempt: 1 }), makeSandbox({ id: 'a' })]);
    const { did } = await sync(onePod, status);
    expect(did.slice(0, 3)).toEqual(['StopPodSandbox b', 'StopPodSandbox a', 'RunPodSandbox uid-1']);
  });

  it('a pod that could not be killed gets nothing new', async () => {
    const stopPodSandbox = () => Promise.reject(new CriError('Unknown', 'cni'));
    const status = makeStatus(onePod, [], [makeSandbox({ ready: false })]);
    const { did, result } = await sync(onePod, status, { overrides: { stopPodSandbox } });
    expect(did).toEqual([]);
    expect(syncError(result)?.message).toContain('KillPodSandboxError');
  });

  it('older dead init containers are pruned, the newest is kept', async () => {
    const status = makeStatus(withInit, [exited('init', 0, { id: 'n' }), exited('init', 1, { id: 'o' })]);
    expect((await sync(withInit, status)).removed).toEqual(['o']);
  });

  it('a host-network pod keeps its known addresses', async () => {
    const pod = makePod({ hostNetwork: true, containers: [container('app')] });
    const { result } = await sync(pod, { ...makeStatus(pod, [], []), ips: ['192.168.0.4'] });
    expect(result.podIps).toEqual(['192.168.0.4']);
  });

  const failingSandbox: Partial<CriRuntime> = {
    runPodSandbox: () => Promise.reject(new CriError('Unknown', 'no cni')),
  };
  it('a failed sandbox is reported', async () => {
    const { events, result } = await sync(onePod, makeStatus(onePod, [], []), { overrides: failingSandbox });
    expect(events()).toEqual([
      'Warning FailedCreatePodSandBox Failed to create pod sandbox: rpc error: code = Unknown desc = no cni',
    ]);
    expect(syncError(result)?.message).toBe(
      'failed to "CreatePodSandbox" for "web_shop(uid-1)" with CreatePodSandboxError: "Failed to create sandbox for pod \\"web_shop(uid-1)\\": rpc error: code = Unknown desc = no cni"',
    );
  });

  it('76: … but not while the pod is being deleted', async () => {
    const podStates = { ...bench().options.podStates, isTerminationRequested: () => true };
    const { events, result } = await sync(onePod, makeStatus(onePod, [], []), {
      overrides: failingSandbox,
      options: { podStates },
    });
    expect(events()).toEqual([]);
    expect(syncError(result)).toBeUndefined();
  });

  it.each([
    [
      'error',
      () => Promise.reject(new CriError('Unavailable', 'away')),
      'rpc error: code = Unavailable desc = away',
    ],
    ['nil', async () => PodSandboxStatusResponse.create(), 'pod sandbox status is nil'],
  ])('an unreadable sandbox status ends the sync: %s', async (_, podSandboxStatus, message) => {
    const { did, events, result } = await sync(onePod, makeStatus(onePod, [], []), {
      overrides: { podSandboxStatus },
    });
    expect(did).toEqual(['RunPodSandbox uid-1']);
    expect(events()).toEqual([`Warning FailedPodSandBoxStatus Unable to get pod sandbox status: ${message}`]);
    expect(syncError(result)?.message).toBe(`failed to SyncPod: ${message}`);
  });

  it('a failing onSandboxReady does not stop the sync', async () => {
    const table = bench();
    const result = await new RuntimeManager(table.options).syncPod(onePod, makeStatus(onePod, [], []), {
      restartingAllContainers: false,
      onSandboxReady: () => Promise.reject(new Error('busy')),
    });
    expect(syncError(result)).toBeUndefined();
    expect(table.timeline.ofPod('uid-1').some(({ what }) => what === 'sandbox.ready')).toBe(true);
  });

  it('a config that cannot be built for a kept sandbox is reported', async () => {
    const configs = { ...bench().options.configs, sandbox: () => Promise.reject(new Error('no dns')) };
    const { result } = await sync(onePod, makeStatus(onePod, []), { options: { configs } });
    expect(syncError(result)?.message).toBe(
      'failed to "ConfigPodSandbox" for "sandbox-0" with ConfigPodSandboxError: "GeneratePodSandboxConfig for pod \\"web_shop(uid-1)\\" failed: no dns"',
    );
  });

  it('10: a changed container is killed with its message and started', async () => {
    const status = makeStatus(onePod, [running('app', { hash: 'x' })]);
    const { did, events } = await sync(onePod, status);
    expect(did).toEqual(['StopContainer id-app', 'CreateContainer app', 'StartContainer new-app']);
    expect(events()[0]).toBe('Normal Killing Container app definition changed, will be restarted');
  });

  it('a container that cannot be killed ends the sync', async () => {
    const stopContainer = () => Promise.reject(new CriError('Unknown', 'stuck'));
    const status = makeStatus(onePod, [running('app', { hash: 'x' })]);
    const { did, result } = await sync(onePod, status, { overrides: { stopContainer } });
    expect(did).toEqual([]);
    expect(syncError(result)?.message).toContain('KillContainerError');
  });

  it('42: a reset kills without grace, removes with logs kept, and requests another sync', async () => {
    const pod = makePod({
      containers: [
        container('a', { lifecycle: { preStop: { exec: { command: ['x'] } } } }),
        container('b', {
          restartPolicy: 'Never',
          restartPolicyRules: [
            { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } },
          ],
        }),
      ],
    });
    const { calls, removed, result, events } = await sync(
      pod,
      makeStatus(pod, [exited('b', 1), running('a')]),
      {},
      true,
    );
    expect(calls).toEqual([{ method: 'StopContainer', target: 'id-a', atMs: 0, timeout: 2 }]);
    expect(events()).toEqual(['Normal Killing killing']);
    expect(removed).toEqual(['id-a (logs kept)', 'id-b (logs kept)']);
    expect(result.resyncAtOnce).toBe(true);
  });

  it('a reset that cannot remove a container stops there', async () => {
    const remover = { remove: () => Promise.reject(new Error('busy')) };
    const { result } = await sync(
      onePod,
      makeStatus(onePod, [exited('app')]),
      { options: { remover } },
      true,
    );
    expect(result.resyncAtOnce).toBe(false);
    expect(syncError(result)?.message).toBe(
      'failed to "RemoveContainer" for "app" with RemoveContainerError: "busy"',
    );
  });

  const failingImages = (...names: string[]) => ({
    images: {
      ensure: async ({
        container: { name, image = '' },
      }: {
        container: { name: string; image?: string };
      }) => {
        if (names.includes(name)) throw new SyncFailure('ErrImagePull', 'no');
        return { ref: image };
      },
    },
  });
  it('a failing plain init container stops the ones after it', async () => {
    const { did } = await sync(withInit, makeStatus(withInit, []), { options: failingImages('init') });
    expect(did).toEqual([]);
  });
  it('a failing sidecar is skipped over, and one failing container does not stop the others', async () => {
    const pod = makePod({
      initContainers: [
        container('s0', { restartPolicy: 'Always' }),
        container('s1', { restartPolicy: 'Always' }),
      ],
      containers: [container('a'), container('b')],
    });
    const { did } = await sync(pod, makeStatus(pod, [exited('s0'), running('s1')]), {
      options: failingImages('s0', 'a'),
    });
    expect(did).toEqual(['CreateContainer b', 'StartContainer new-b']);
  });

  it('only containers that mount a failed image volume fail', async () => {
    const pod = makePod({
      volumes: [{ name: 'data', image: { reference: 'example/data:1', pullPolicy: 'Always' } }],
      containers: [container('a', { volumeMounts: [{ name: 'data', mountPath: '/data' }] }), container('b')],
    });
    const { did, result, events } = await sync(pod, makeStatus(pod, []), { options: failingImages('data') });
    expect(did).toEqual(['CreateContainer b', 'StartContainer new-b']);
    expect(events()[0]).toBe('Warning Failed Error: ErrImagePull');
    expect(syncError(result)?.message).toBe('failed to "StartContainer" for "a" with ErrImagePull: "no"');
  });

  it('a container in back-off waits, and the error says until when', async () => {
    const table = bench();
    const manager = new RuntimeManager(table.options);
    const exitMs = table.clock.now();
    const status = makeStatus(onePod, [exited('app', 1, { finishedAtNs: BigInt(exitMs) * 1_000_000n })]);
    const options = { restartingAllContainers: false };
    expect(syncError(await manager.syncPod(onePod, status, options))).toBeUndefined();
    const error = syncError(await manager.syncPod(onePod, status, options));
    expect(error?.message).toBe(
      'failed to "StartContainer" for "app" with CrashLoopBackOff: "back-off 10s restarting failed container=app pod=web_shop(uid-1)"',
    );
    expect(error?.retry).toEqual({ reason: 'backOff', atMs: exitMs + 10_000 });
    expect(table.events().at(-1)).toBe(
      'Warning BackOff Back-off restarting failed container app in pod web_shop(uid-1)',
    );
    const plans = table.timeline.ofPod('uid-1').filter(({ what }) => what === 'pod.plan');
    expect(plans.map(({ message }) => message)).toEqual(['start container app', 'container app waits']);
    expect(plans.at(-1)?.because).toBe('back-off 10s restarting failed container=app pod=web_shop(uid-1)');
    await table.clock.advance(600_001);
    manager.collectBackoff();
    expect(table.options.crashLoop.size).toBe(0);
  });

  it('failures are told in the order of the spec, whether a container waits or could not start', async () => {
    const pod = makePod({ containers: [container('a'), container('b'), container('c')] });
    const table = bench({ options: failingImages('a', 'c') });
    const finishedAtNs = BigInt(table.clock.now()) * 1_000_000n;
    const status = makeStatus(pod, [exited('b', 1, { finishedAtNs })]);
    const manager = new RuntimeManager(table.options);
    await manager.syncPod(pod, status, { restartingAllContainers: false });
    const { steps } = await manager.syncPod(pod, status, { restartingAllContainers: false });
    expect(steps.flatMap(({ target, failure }) => (failure ? [`${target} ${failure.reason}`] : []))).toEqual([
      'a ErrImagePull',
      'b CrashLoopBackOff',
      'c ErrImagePull',
    ]);
  });

  it('a wait that is over once the container was killed is a start, and counts as one', async () => {
    const probes: ProbeVerdicts = { liveness: () => 'failure', startup: () => 'success' };
    const table = bench({ stopMs: { 'id-app': 12_000 }, options: { probes } });
    const { crashLoop, clock } = table.options;
    const exitMs = clock.now();
    const key = crashLoopKey(onePod, onePod.spec.containers[0]!);
    crashLoop.advance(key, exitMs, exitMs);
    const finishedAtNs = BigInt(exitMs) * 1_000_000n;
    const status = makeStatus(onePod, [running('app'), exited('app', 1, { id: 'before', finishedAtNs })]);
    const synced = new RuntimeManager(table.options).syncPod(onePod, status, {
      restartingAllContainers: false,
    });
    await table.clock.advance(12_000);
    expect(syncError(await synced)).toBeUndefined();
    expect(table.calls.map(({ method }) => method)).toEqual([
      'StopContainer',
      'CreateContainer',
      'StartContainer',
    ]);
    expect(crashLoop.delayMs(key)).toBe(20_000);
  });

  it('an aborted sync says so and starts nothing more', async () => {
    const table = bench();
    const stop = new AbortController();
    stop.abort();
    const result = await new RuntimeManager(table.options).syncPod(onePod, makeStatus(onePod, []), {
      restartingAllContainers: false,
      signal: stop.signal,
    });
    expect(table.calls).toEqual([]);
    expect(syncError(result)?.message).toBe('failed to SyncPod: context canceled');
  });

  it('stopped containers release their resources', async () => {
    const freed: string[] = [];
    const internals = {
      preCreate: async (_pod: unknown, _container: unknown, config: object) => config,
      preStart: async () => {},
      postStop: async (id: string) => void freed.push(id),
    };
    await sync(onePod, makeStatus(onePod, [exited('app', 1)]), { options: { internals } });
    expect(freed).toEqual(['id-app']);
  });
});

describe('the start limiter', () => {
  it('earlier pods finish before later ones begin', async () => {
    // Without log directories nothing is read from disk, which would take time that the virtual clock does
    // not know.
    const table = bench({ podLogsDir: '', options: { startsAtOnce: 1 } });
    const order: string[] = [];
    const cri: CriRuntime = {
      ...table.options.cri,
      runPodSandbox: async (request, options) => {
        order.push(`sandbox ${request.config?.metadata?.uid}`);
        await sleep(table.clock, 100);
        return table.options.cri.runPodSandbox(request, options);
      },
      createContainer: async (request, options) => {
        order.push(`container ${request.sandboxConfig?.metadata?.uid}`);
        await sleep(table.clock, 100);
        return table.options.cri.createContainer(request, options);
      },
    };
    const manager = new RuntimeManager({ ...table.options, cri });
    const pods = ['a', 'b', 'c'].map((uid) => makePod({ containers: [container('app')] }, { uid }));
    const syncs = pods.map((pod) =>
      manager.syncPod(pod, makeStatus(pod, [], []), { restartingAllContainers: false }),
    );
    await table.clock.advance(600);
    await Promise.all(syncs);
    // A pod gives up its slot while it reads its new sandbox, so another may start; the queue is in pod
    // order.
    const at = (step: string): number => order.indexOf(step);
    expect(order).toHaveLength(6);
    expect(at('sandbox a')).toBe(0);
    expect(at('container a')).toBeLessThan(at('sandbox c'));
    expect(at('container a')).toBeLessThan(at('container b'));
    expect(at('container b')).toBeLessThan(at('container c'));
  });
});

describe('version', () => {
  const answer = { version: '0.1.0', runtimeName: 'sim', runtimeVersion: '1', runtimeApiVersion: 'v1' };
  it.each([
    ['complete', answer, 'sim'],
    ['another version', { ...answer, version: '0.2.0' }, /^Error: runtime api version is not supported$/],
  ])('%s', async (_, response, expected) => {
    let asked = 0;
    const version: CriRuntime['version'] = async () => {
      asked++;
      return VersionResponse.create(response);
    };
    const table = bench({ overrides: { version } });
    const manager = new RuntimeManager(table.options);
    if (typeof expected !== 'string') {
      await expect(manager.version().catch((error: unknown) => String(error))).resolves.toMatch(expected);
      return;
    }
    expect((await manager.version()).runtimeName).toBe(expected);
    await table.clock.advance(59_000);
    await manager.version();
    expect(asked).toBe(1);
    await table.clock.advance(1_000);
    await manager.version();
    expect(asked).toBe(2);
  });
});

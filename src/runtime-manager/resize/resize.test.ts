import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import {
  ContainerStatsResponse,
  CriError,
  type CriRuntime,
  LinuxContainerResources,
} from '../../cri/index.js';
import type { Container, Pod, ResourceRequirements } from '../../kube/index.js';
import type { ProbeVerdicts } from '../contracts.js';
import { RuntimeManager } from '../manager.js';
import { planPod } from '../plan/plan.js';
import { syncError } from '../sync-result.js';
import { testDurableFiles } from '../test-durable-files.js';
import { bench, container, exited, makePod, makeStatus, running } from '../test-fixtures.js';
import { ActuatedResources } from './actuated-resources.js';
import { amountsOf, decideResize, isDecrease, wantedResources } from './decide-resize.js';

const resources = (
  cpu: string,
  memory: string,
  limitCpu = cpu,
  limitMemory = memory,
): ResourceRequirements => ({
  requests: { cpu, memory },
  limits: { cpu: limitCpu, memory: limitMemory },
});
const strict = (...names: string[]): Partial<Container> => ({
  resizePolicy: names.map((resourceName) => ({ resourceName, restartPolicy: 'RestartContainer' })),
});

describe('what new resources mean for a running container', () => {
  const before = amountsOf(resources('1', '100Mi'));
  it.each<[string, Partial<Container>, ResourceRequirements, object]>([
    ['the same', {}, resources('1000m', '104857600'), { kind: 'keep' }],
    ['44: more memory', {}, resources('1', '200Mi'), { kind: 'update', resources: ['memory'] }],
    ['less cpu', {}, resources('500m', '100Mi'), { kind: 'update', resources: ['cpu'] }],
    ['both, memory first', {}, resources('2', '200Mi'), { kind: 'update', resources: ['memory', 'cpu'] }],
    ['a request alone', {}, resources('1', '50Mi', '1', '100Mi'), { kind: 'update', resources: ['memory'] }],
    [
      '44: memory that must not change',
      strict('memory'),
      resources('1', '200Mi'),
      { kind: 'restart', resource: 'memory' },
    ],
    [
      'memory that must not change, while cpu does',
      strict('memory'),
      resources('2', '100Mi'),
      { kind: 'update', resources: ['cpu'] },
    ],
    [
      'one of two that must not change',
      strict('cpu'),
      resources('2', '200Mi'),
      { kind: 'restart', resource: 'cpu' },
    ],
  ])('%s', (_, more, wanted, verdict) => {
    expect(decideResize(container('app', more), amountsOf(wanted), before)).toEqual(verdict);
  });

  it('a container without a limit gets its pod’s', () => {
    const pod = makePod({
      containers: [container('app', { resources: { limits: { cpu: '1' } } })],
      resources: { limits: { cpu: '4', memory: '1Gi' } },
    });
    expect(wantedResources(pod, pod.spec.containers[0]!)).toEqual({
      requests: {},
      limits: { cpu: '1', memory: '1Gi' },
    });
  });

  it.each<[string, ResourceRequirements, ResourceRequirements, boolean]>([
    ['a lower limit', resources('1', '1Mi'), resources('2', '2Mi'), true],
    ['a higher limit', resources('1', '3Mi'), resources('2', '2Mi'), false],
    [
      'a lower request under the same limit',
      resources('1', '1Mi', '1', '4Mi'),
      resources('1', '2Mi', '1', '4Mi'),
      true,
    ],
    ['a first limit', resources('1', '1Mi'), {}, false],
  ])('%s is a decrease: %s', (_, wanted, actuated, expected) => {
    expect(isDecrease('memory', amountsOf(wanted), amountsOf(actuated))).toBe(expected);
  });
});

/** A pod whose containers have other resources than those last applied. */
function changed(wanted: Record<string, Partial<Container>>, told: Record<string, ResourceRequirements>) {
  const pod = makePod({ containers: Object.entries(wanted).map(([name, more]) => container(name, more)) });
  const actuated = new ActuatedResources({});
  for (const [name, given] of Object.entries(told)) actuated.setContainer('uid-1', name, given);
  return { pod, actuated };
}

const probes: ProbeVerdicts = { liveness: () => 'success', startup: () => 'success' };

describe('plans', () => {
  const planOf = (pod: Pod, actuated: ActuatedResources, states: Parameters<typeof makeStatus>[1]) =>
    planPod({
      pod,
      status: makeStatus(pod, states),
      nowMs: 0,
      backOff: { waiting: () => undefined },
      probes,
      restartingAllContainers: false,
      actuated,
    });

  it('1: nothing changed, nothing is planned', () => {
    const { pod, actuated } = changed(
      { app: { resources: resources('1', '1Mi') } },
      { app: resources('1', '1Mi') },
    );
    expect(planOf(pod, actuated, [running('app')]).resize).toBeUndefined();
  });

  it('44: an update of running containers; decreases come before increases', () => {
    const { pod, actuated } = changed(
      { more: { resources: resources('1', '200Mi') }, less: { resources: resources('1', '50Mi') } },
      { more: resources('1', '100Mi'), less: resources('1', '100Mi') },
    );
    const { resize, containersToKill } = planOf(pod, actuated, [running('more'), running('less')]);
    expect(resize?.memory.map(({ name, decreases }) => [name, decreases])).toEqual([
      ['less', true],
      ['more', false],
    ]);
    expect(resize).toMatchObject({ cpu: [], podResources: false, podLevel: false });
    expect(containersToKill.size).toBe(0);
  });

  it('44: a restart where the policy requires it', () => {
    const { pod, actuated } = changed(
      { app: { resources: resources('1', '200Mi'), ...strict('memory') }, other: {} },
      { app: resources('1', '100Mi') },
    );
    const plan = planOf(pod, actuated, [running('app'), running('other')]);
    expect([...plan.containersToKill.values()]).toMatchObject([
      { name: 'app', message: 'Container app resize requires restart', reason: '' },
    ]);
    expect(plan.containersToStart.map(({ name }) => name)).toEqual(['app']);
    expect(plan.resize).toEqual({ memory: [], cpu: [], podResources: true, podLevel: false });
  });

  it('45: a container killed for its memory starts with the new limit', () => {
    const { pod, actuated } = changed(
      { app: { resources: resources('1', '200Mi') } },
      { app: resources('1', '100Mi') },
    );
    const plan = planOf(pod, actuated, [exited('app', 137, { reason: 'OOMKilled' })]);
    expect(plan.containersToStart.map(({ name }) => name)).toEqual(['app']);
    expect(plan.resize).toEqual({ memory: [], cpu: [], podResources: true, podLevel: false });
  });

  it('the pod-level resources', () => {
    const { pod, actuated } = changed({ app: {} }, {});
    const bigger: Pod = { ...pod, spec: { ...pod.spec, resources: { requests: { cpu: '2' } } } };
    expect(planOf(bigger, actuated, [running('app')]).resize).toMatchObject({ podLevel: true });
    actuated.setPod('uid-1', { requests: { cpu: '2' } });
    expect(planOf(bigger, actuated, [running('app')]).resize).toBeUndefined();
  });
});

describe('applying it', () => {
  async function resize(
    wanted: ResourceRequirements,
    overrides: Partial<CriRuntime> = {},
    usedBytes: number | 'unknown' = 60 * 1024 * 1024,
  ) {
    const { pod, actuated } = changed({ app: { resources: wanted } }, { app: resources('1', '100Mi') });
    const calls: unknown[] = [];
    const table = bench({
      options: {
        actuated,
      },
      overrides: {
        updateContainerResources: async ({ linux }) => {
          calls.push(['container', linux?.cpuShares, linux?.memoryLimitInBytes]);
          return {};
        },
        updatePodSandboxResources: async ({ resources: given }) => {
          calls.push(['sandbox', given?.cpuShares, given?.memoryLimitInBytes]);
          return {};
        },
        containerStats: async () =>
          ContainerStatsResponse.create(
            usedBytes === 'unknown' ? {} : { stats: { memory: { workingSetBytes: { value: usedBytes } } } },
          ),
        ...overrides,
      },
    });
    const manager = new RuntimeManager(table.options);
    const status = makeStatus(pod, [running('app')]);
    const result = await manager.syncPod(pod, status, { restartingAllContainers: false });
    return {
      calls,
      error: syncError(result)?.message,
      steps: result.steps,
      actuated: actuated.container('uid-1', 'app'),
    };
  }
  const mebi = 1024 * 1024;

  it('memory first, then cpu, each with the other unchanged; the sandbox before increases', async () => {
    const wanted = resources('2', '200Mi');
    const { calls, error, actuated, steps } = await resize(wanted);
    expect(error).toBeUndefined();
    expect(calls).toEqual([
      ['sandbox', 2048, 200 * mebi],
      ['container', 1024, 200 * mebi],
      ['sandbox', 2048, 200 * mebi],
      ['container', 2048, 200 * mebi],
    ]);
    expect(actuated).toEqual(amountsOf(wanted));
    expect(steps.map(({ action }) => action)).toEqual(['ResizePodInPlace']);
  });

  it('the sandbox after decreases', async () => {
    const { calls } = await resize(resources('1', '80Mi'));
    expect(calls).toEqual([
      ['container', 1024, 80 * mebi],
      ['sandbox', 1024, 80 * mebi],
    ]);
  });

  it.each<[string, number | 'unknown', string]>([
    [
      '46: a limit below the usage',
      90 * mebi,
      `attempting to set container \\"app\\" memory limit (${80 * mebi}) below current usage (${90 * mebi})`,
    ],
    ['a limit at the usage', 80 * mebi, 'below current usage'],
    ['a runtime that does not report the usage', 'unknown', 'missing container \\"app\\" memory usage'],
  ])('%s is rejected, and nothing is called', async (_, used, message) => {
    const { calls, error, actuated } = await resize(resources('1', '80Mi'), {}, used);
    expect(calls).toEqual([]);
    expect(error).toContain('failed to "ResizePodInPlace" for "web_shop(uid-1)" with ResizePodInPlaceError');
    expect(error).toContain('cannot decrease memory limits: ');
    expect(error).toContain(message);
    expect(actuated).toEqual(amountsOf(resources('1', '100Mi')));
  });

  it('47: a sandbox that fails ends it before anything changed', async () => {
    const refuses = () => Promise.reject(new CriError('Internal', 'no'));
    const { calls, error, actuated } = await resize(resources('2', '100Mi'), {
      updatePodSandboxResources: refuses,
    });
    expect(calls).toEqual([]);
    expect(error).toContain('desc = no');
    expect(actuated).toEqual(amountsOf(resources('1', '100Mi')));
  });

  it('a container that fails keeps its recorded resources', async () => {
    const refuses = () => Promise.reject(new CriError('Internal', 'no'));
    const { error, actuated } = await resize(resources('2', '200Mi'), { updateContainerResources: refuses });
    expect(error).toContain('ResizePodInPlaceError');
    expect(actuated).toEqual(amountsOf(resources('1', '100Mi')));
  });
});

describe('what is remembered', () => {
  let rootDir: string;
  beforeEach(async () => {
    rootDir = await mkdtemp(join(tmpdir(), 'nodelet-actuated-'));
  });
  afterEach(() => rm(rootDir, { recursive: true }));
  const open = async () => {
    const store = testDurableFiles(systemClock);
    const actuated = new ActuatedResources({ checkpoint: { rootDir, store } });
    await actuated.start();
    return actuated;
  };
  const path = () => join(rootDir, 'actuated_pods_state');

  it('survives a restart', async () => {
    const before = await open();
    before.podBegins(makePod({ containers: [container('app', { resources: resources('1', '1Mi') })] }));
    before.setPod('uid-1', resources('3', '3Mi'));
    await before.stop();
    const after = await open();
    expect(after.container('uid-1', 'app')).toEqual(amountsOf(resources('1', '1Mi')));
    expect(after.pod('uid-1')).toEqual(amountsOf(resources('3', '3Mi')));
  });

  it('is not written for pods without resources, nor for removals', async () => {
    const actuated = await open();
    actuated.podBegins(makePod({ containers: [container('app')] }));
    actuated.keepOnly(() => false);
    await actuated.stop();
    await expect(readFile(path())).rejects.toThrow('ENOENT');
  });

  it('is on disk before a container is created; if it cannot be, none is created', async () => {
    const actuated = await open();
    const pod = makePod({ containers: [container('app', { resources: resources('1', '1Mi') })] });
    const seen: string[] = [];
    const { options } = bench({
      options: { actuated },
      overrides: {
        createContainer: async () => {
          seen.push(await readFile(path(), 'utf8'));
          return { containerId: 'c1' };
        },
      },
    });
    const manager = new RuntimeManager(options);
    // A directory in the way of the file.
    await mkdir(`${path()}.tmp/full`, { recursive: true });
    const refused = await manager.syncPod(pod, makeStatus(pod, []), { restartingAllContainers: false });
    expect(syncError(refused)?.message).toContain(
      'CreateContainerConfigError: "could not record allocated resources: ',
    );
    expect(seen).toEqual([]);
    await rm(`${path()}.tmp`, { recursive: true });
    const started = await manager.syncPod(pod, makeStatus(pod, []), { restartingAllContainers: false });
    expect(syncError(started)).toBeUndefined();
    expect(seen).toEqual([expect.stringContaining('uid-1')]);
    await actuated.stop();
  });

  const wanted = resources('2', '200Mi');
  it.each<[rule: string, observed: Partial<LinuxContainerResources> | undefined, expected: object]>([
    ['the runtime has the desired resources', { cpuShares: 2048, memoryLimitInBytes: 209_715_200 }, wanted],
    ['the runtime reports nothing', undefined, wanted],
    [
      'a resize was under way',
      { cpuShares: 512, cpuPeriod: 100_000, cpuQuota: 50_000, memoryLimitInBytes: 104_857_600 },
      { requests: { cpu: '500m', memory: '200Mi' }, limits: { cpu: '500m', memory: '104857600' } },
    ],
  ])('is read from the runtime if the file is lost: %s', async (_, observed, expected) => {
    await writeFile(path(), JSON.stringify({ data: '{}', checksum: 1 }));
    const actuated = await open();
    const pod = makePod({ containers: [container('app', { resources: wanted })] });
    const linux = observed === undefined ? undefined : LinuxContainerResources.create(observed);
    const app = running('app', { resources: { linux } });
    actuated.podGoesOn(pod, makeStatus(pod, [app]));
    expect(actuated.requirements('uid-1', 'app')).toEqual(expected);
    await actuated.stop();
  });

  it('a pod that has begun keeps what was applied', async () => {
    const actuated = await open();
    const pod = makePod({ containers: [container('app', { resources: resources('1', '1Mi') })] });
    actuated.setContainer('uid-1', 'app', resources('2', '2Mi'));
    actuated.podBegins(pod);
    expect(actuated.container('uid-1', 'app')).toEqual(amountsOf(resources('2', '2Mi')));
    await actuated.stop();
  });
});

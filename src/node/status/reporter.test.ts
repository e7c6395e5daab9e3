import { afterEach, describe, expect, it } from 'vitest';
import { TaskGroup, VirtualClock } from '../../async/index.js';
import type { Node } from '../../kube/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { ApiError, resources } from '../../kube-client/index.js';
import { Timeline } from '../../timeline/index.js';
import { initialNode } from '../registration/initial-node.js';
import { registerNode } from '../registration/register.js';
import { conditionOf } from './conditions.js';
import type { StatusFacts } from './facts.js';
import { NodeStatusReporter, type NodeStatusReporterOptions } from './reporter.js';
import { testFacts, testSettings } from './test-facts.js';

const started: TaskGroup[] = [];
afterEach(async () => {
  for (const tasks of started.splice(0)) await tasks.stop();
});

const settings = {
  nodeName: 'n1',
  architecture: 'amd64',
  nodeLabels: { a: 'b' },
  taints: [{ key: 'k', effect: 'NoSchedule' }],
  externalCloud: false,
  controllerAttachDetach: true,
  providerId: '',
};
const notReady = { ...testFacts().readiness, networkError: 'container runtime network not ready: <nil>' };

function nodeUnderTest(more: Partial<NodeStatusReporterOptions> = {}) {
  const clock = new VirtualClock();
  const api = new SimulatedKubeApi({ clock });
  const timeline = new Timeline({ clock });
  const seen = { facts: {} as Partial<StatusFacts>, cached: undefined as Node | undefined, looks: 0 };
  const tasks = new TaskGroup({ onError: (_task, error) => expect.fail(String(error)) });
  started.push(tasks);
  const reporter = new NodeStatusReporter({
    api,
    clock,
    timeline,
    random: () => 0.5,
    nodeName: 'n1',
    settings: testSettings,
    updateFrequencyMs: 10_000,
    reportFrequencyMs: 300_000,
    cachedNode: () => seen.cached,
    observe: async () => {
      seen.looks++;
      return testFacts({ nowMs: clock.now(), ...seen.facts });
    },
    checkRuntime: async () => undefined,
    podCidr: { follow: async () => false },
    register: (fill, signal) =>
      registerNode(
        {
          api,
          clock,
          timeline,
          nodeName: 'n1',
          build: () => fill(initialNode(settings)),
          resetExtendedResources: () => true,
          getOnExistsOnly: false,
        },
        signal,
      ),
    ...more,
  });
  const node = () => api.get(resources.nodes, { name: 'n1' });
  const calls = (verb: string) =>
    api.calls.filter((call) => call.verb === verb && call.resource === 'nodes').length;
  const events = () => timeline.ofNode().flatMap(({ event }) => (event === undefined ? [] : [event.reason]));
  return {
    clock,
    api,
    timeline,
    seen,
    reporter,
    node,
    calls,
    events,
    tasks,
    run: () => tasks.start('status', (signal) => reporter.run(signal)),
    runFast: () => tasks.start('fast', (signal) => reporter.runFast(signal)),
  };
}
const refuse = (code: number) => ({ kind: 'refuse', error: new ApiError({ code, message: 'no' }) }) as const;

describe('registration', () => {
  it('creates the node with its whole status after 100 ms', async () => {
    const test = nodeUnderTest();
    test.run();
    await test.clock.advance(99);
    expect(test.calls('create')).toBe(0);
    await test.clock.advance(1);
    const node = await test.node();
    expect(node.metadata.labels).toMatchObject({ a: 'b', 'kubernetes.io/hostname': 'n1' });
    expect(node.spec?.taints).toEqual(settings.taints);
    expect(conditionOf(node.status?.conditions, 'Ready')?.status).toBe('True');
    expect(test.events()).toEqual([
      'NodeHasSufficientMemory',
      'NodeHasNoDiskPressure',
      'NodeHasSufficientPID',
    ]);
  });
  it('retries after errors, with growing delays', async () => {
    const test = nodeUnderTest();
    test.api.faults.add({ verb: 'create', resource: resources.nodes, fault: refuse(500), times: 3 });
    test.run();
    const counts: number[] = [];
    for (const stepMs of [100, 200, 400, 800]) {
      await test.clock.advance(stepMs);
      counts.push(test.calls('create'));
    }
    expect(counts).toEqual([1, 2, 3, 4]);
    expect((await test.node()).metadata.name).toBe('n1');
  });
  it.each([
    ['that exists', undefined],
    ['that it may not create', refuse(403)],
  ])('adopts a node %s, without its own labels and taints', async (_rule, fault) => {
    const test = nodeUnderTest();
    await test.api.create(resources.nodes, {
      metadata: { name: 'n1' },
      status: { capacity: { 'a.com/gpu': '2' }, allocatable: { 'a.com/gpu': '2' } },
    });
    if (fault !== undefined) test.api.faults.add({ verb: 'create', resource: resources.nodes, fault });
    test.run();
    await test.clock.advance(100);
    const node = await test.node();
    expect(node.metadata.annotations).toEqual({
      'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
    });
    expect(node.metadata.labels?.a).toBeUndefined();
    expect(node.spec?.taints).toBeUndefined();
    expect(node.status?.capacity?.['a.com/gpu']).toBe('0');
  });
  it('is left to others when told so', async () => {
    const test = nodeUnderTest({ register: undefined! });
    test.run();
    await test.clock.advance(1000);
    expect(test.calls('create')).toBe(0);
  });
});

describe('status', () => {
  it('is reported when it changes or the last report is old', async () => {
    const test = nodeUnderTest();
    test.run();
    await test.clock.advance(1000);
    const first = test.calls('patch');
    expect(first).toBe(1);
    await test.clock.advance(60_000);
    expect(test.calls('patch')).toBe(first);
    test.seen.facts = { pressure: { memory: true, disk: false, pid: false } };
    await test.clock.advance(11_000);
    expect(test.calls('patch')).toBe(first + 1);
    expect(test.events().at(-1)).toBe('NodeHasInsufficientMemory');
    expect(conditionOf((await test.node()).status?.conditions, 'MemoryPressure')?.status).toBe('True');
    await test.clock.advance(280_000);
    expect(test.calls('patch')).toBe(first + 1);
    await test.clock.advance(30_000);
    expect(test.calls('patch')).toBe(first + 2);
  });
  it('restores the architecture label within a period', async () => {
    const test = nodeUnderTest();
    test.run();
    await test.clock.advance(1000);
    const patch = { type: 'merge', body: { metadata: { labels: { 'kubernetes.io/arch': null } } } } as const;
    test.seen.cached = await test.api.patch(resources.nodes, { name: 'n1' }, patch);
    await test.clock.advance(11_000);
    expect((await test.node()).metadata.labels?.['kubernetes.io/arch']).toBe('amd64');
  });
  it('is tried five times, rereading the node, and then waits for the next period', async () => {
    let repeated = 0;
    const test = nodeUnderTest({ onRepeatedFailure: () => void repeated++ });
    test.run();
    await test.clock.advance(1000);
    const patches = test.calls('patch');
    test.seen.facts = { readiness: notReady };
    test.api.setReachable(false);
    await test.clock.advance(10_300);
    expect(test.calls('patch')).toBe(patches + 1);
    expect(test.calls('get')).toBe(4);
    expect(repeated).toBe(4);
    expect(test.timeline.ofNode().map(({ message }) => message)).toContain(
      'update node status exceeds retry count',
    );
    expect(test.events()).not.toContain('NodeNotReady');
    test.api.setReachable(true);
    await test.clock.advance(11_000);
    expect(conditionOf((await test.node()).status?.conditions, 'Ready')?.status).toBe('False');
    expect(test.events()).toContain('NodeNotReady');
  });
  it('does not recreate a deleted node', async () => {
    const test = nodeUnderTest();
    test.run();
    await test.clock.advance(1000);
    await test.api.delete(resources.nodes, { name: 'n1' });
    await test.clock.advance(60_000);
    expect(test.calls('create')).toBe(1);
  });
  it('passes volumes in use to the volume manager, and addresses to others', async () => {
    const volumes: (readonly string[])[] = [];
    const addresses: number[] = [];
    const test = nodeUnderTest({
      onVolumesReported: (names) => volumes.push(names),
      onAddresses: (list) => addresses.push(list.length),
    });
    test.seen.facts = { volumesInUse: ['v1'] };
    test.run();
    await test.clock.advance(1000);
    expect(volumes.at(-1)).toEqual(['v1']);
    expect(addresses.at(-1)).toBe(2);
  });
});

describe('the first Ready', () => {
  it('is reported within 0.2 s of the runtime being ready', async () => {
    const test = nodeUnderTest();
    test.seen.facts = { readiness: notReady };
    test.run();
    test.runFast();
    await test.clock.advance(3000);
    expect(conditionOf((await test.node()).status?.conditions, 'Ready')?.status).toBe('False');
    const patches = test.calls('patch');
    test.seen.facts = {};
    await test.clock.advance(200);
    expect(conditionOf((await test.node()).status?.conditions, 'Ready')?.status).toBe('True');
    expect(test.calls('patch')).toBe(patches + 1);
    expect(test.events()).toContain('NodeReady');
  });
  it('asks the runtime less often the longer the node has waited', async () => {
    const atMs: number[] = [];
    const test = nodeUnderTest({ checkRuntime: async () => void atMs.push(test.clock.monotonic()) });
    test.seen.facts = { readiness: notReady };
    test.run();
    test.runFast();
    await test.clock.advance(120_000);
    const inFirst = atMs.filter((ms) => ms < 5_000).length;
    const inLast = atMs.filter((ms) => ms >= 115_000).length;
    expect(inFirst).toBeGreaterThan(40);
    expect(inLast).toBeLessThanOrEqual(3);
    expect(atMs.length).toBeLessThan(250);
  });
  it('nothing is observed while it is known what keeps it from being ready', async () => {
    const known: { readiness: StatusFacts['readiness'] } = { readiness: notReady };
    const test = nodeUnderTest({ readiness: () => known.readiness });
    test.seen.facts = { readiness: notReady };
    test.run();
    await test.clock.advance(1000);
    const { looks } = test.seen;
    test.runFast();
    await test.clock.advance(5000);
    expect(test.seen.looks).toBe(looks);
    known.readiness = { ...notReady, networkError: undefined, runtimeErrors: [] };
    test.seen.facts = {};
    await test.clock.advance(200);
    expect(conditionOf((await test.node()).status?.conditions, 'Ready')?.status).toBe('True');
  });
  it('falls back to a whole round when its patch fails', async () => {
    const test = nodeUnderTest();
    test.seen.facts = { readiness: notReady };
    test.run();
    test.runFast();
    await test.clock.advance(1000);
    test.api.faults.add({ verb: 'patch', fault: { kind: 'unreachable' } });
    test.seen.facts = {};
    await test.clock.advance(200);
    expect(conditionOf((await test.node()).status?.conditions, 'Ready')?.status).toBe('True');
  });
  it('is reported once, even if the API lags', async () => {
    const test = nodeUnderTest();
    test.seen.facts = { readiness: notReady };
    test.run();
    await test.clock.advance(1000);
    test.seen.cached = await test.node();
    test.seen.facts = {};
    await test.clock.advance(11_000);
    test.runFast();
    await test.clock.advance(1000);
    expect(test.events().filter((reason) => reason === 'NodeReady')).toHaveLength(1);
  });
  it('is given up after two minutes', async () => {
    let checks = 0;
    const test = nodeUnderTest({ checkRuntime: async () => void checks++ });
    test.seen.facts = { readiness: notReady };
    test.run();
    test.runFast();
    await test.clock.advance(125_000);
    const before = checks;
    await test.clock.advance(5000);
    expect(checks).toBe(before);
  });
});

it('stopping leaves nothing behind', async () => {
  const test = nodeUnderTest();
  test.run();
  test.runFast();
  await test.clock.advance(50);
  await test.tasks.stop();
  expect(test.clock.pendingTimers).toBe(0);
});

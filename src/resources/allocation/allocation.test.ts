import { describe, expect, it } from 'vitest';
import type { Container, Pod, PodCondition, PodSpec, ResourceRequirements } from '../../kube/index.js';
import { changesMemoryVolumes, differs, entryOf, withEntry } from './allocated-pod.js';
import { AllocatedResources } from './allocated-resources.js';
import { effectiveRequests } from './effective-requests.js';
import { type ResizeRules, resizeInfeasibility } from './feasibility.js';
import { failedCondition, inProgressCondition, isNewPending, pendingCondition } from './resize-conditions.js';
import { neededFeatures, requestedChanges, requestsText, resizeText } from './resize-events.js';
import { ResizeQueue, type ResizeRank, resizeRank } from './resize-queue.js';

const container = (name: string, resources?: ResourceRequirements, more: Partial<Container> = {}) => ({
  name,
  image: 'i',
  ...(resources === undefined ? {} : { resources }),
  ...more,
});
const pod = (containers: Container[], spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { uid: 'u', name: 'p', namespace: 'default', generation: 3 },
  spec: { containers, ...spec },
});
const requests = (cpu: string): ResourceRequirements => ({ requests: { cpu } });
const both = (cpu: string, memory: string): ResourceRequirements => ({
  requests: { cpu, memory },
  limits: { cpu, memory },
});

describe('what a pod was given', () => {
  it.each<[string, Pod, Pod, boolean]>([
    ['the same', pod([container('a', requests('1'))]), pod([container('a', requests('1'))]), false],
    [
      'the same in other words',
      pod([container('a', requests('1000m'))]),
      pod([container('a', requests('1'))]),
      false,
    ],
    ['no resources and empty ones', pod([container('a', {})]), pod([container('a')]), false],
    ['more cpu', pod([container('a', requests('2'))]), pod([container('a', requests('1'))]), true],
    ['zero is not nothing', pod([container('a', requests('0'))]), pod([container('a')]), true],
    [
      'other huge pages',
      pod([container('a', { limits: { 'hugepages-2Mi': '2Mi' } })]),
      pod([container('a', { limits: { 'hugepages-2Mi': '4Mi' } })]),
      true,
    ],
    [
      'an init container',
      pod([container('a')], { initContainers: [container('i', requests('2'))] }),
      pod([container('a')], { initContainers: [container('i', requests('1'))] }),
      true,
    ],
    ['the pod itself', pod([container('a')], { resources: requests('2') }), pod([container('a')]), true],
    ['other than resources', pod([container('a', {}, { image: 'j' })]), pod([container('a')]), false],
  ])('%s', (_rule, desired, given, expected) => {
    const entry = entryOf(given);
    expect(differs(desired, entry)).toBe(expected);
    const seen = withEntry(desired, entry);
    expect(differs(seen, entry)).toBe(false);
    if (!expected) expect(seen).toBe(desired);
  });

  it('replaces pod-level resources even by nothing, and leaves unknown containers alone', () => {
    const desired = pod([container('a', requests('2')), container('new', requests('3'))], {
      resources: requests('9'),
    });
    const seen = withEntry(desired, { ContainerResources: { a: requests('1') } });
    expect(seen.spec).toEqual({
      containers: [container('a', requests('1')), container('new', requests('3'))],
    });
  });

  it('counts for what is still in force while it shrinks', () => {
    const shrunk = pod([container('a', requests('1')), container('b', requests('1'))], {
      initContainers: [container('done', requests('1'))],
    });
    const inForce: Record<string, ResourceRequirements> = { a: requests('2'), b: requests('500m') };
    const counted = effectiveRequests(shrunk, { container: (name) => inForce[name], pod: undefined });
    expect(counted.get('cpu')?.nanos).toBe(2_500_000_000n);
    const grown = effectiveRequests(shrunk, { container: () => requests('500m'), pod: undefined });
    expect(grown.get('cpu')?.nanos).toBe(2_000_000_000n);
    const swapped: Record<string, ResourceRequirements> = { a: requests('200m'), b: requests('100m') };
    const opposite = effectiveRequests(
      pod([container('a', requests('100m')), container('b', requests('200m'))]),
      { container: (name) => swapped[name], pod: undefined },
    );
    expect(opposite.get('cpu')?.nanos, 'totals, not containers, are compared').toBe(300_000_000n);
    const whole = pod([container('a')], { resources: requests('1') });
    const before = effectiveRequests(whole, { container: () => undefined, pod: requests('3') });
    expect(before.get('cpu')?.nanos).toBe(3_000_000_000n);
  });
});

describe('volumes in memory', () => {
  const withLimit = (sizeLimit?: string, medium = 'Memory'): Pod =>
    pod([container('a')], {
      volumes: [{ name: 'v', emptyDir: { medium, ...(sizeLimit === undefined ? {} : { sizeLimit }) } }],
    });
  it.each<[string, Pod, Pod, boolean]>([
    ['more', withLimit('64Mi'), withLimit('32Mi'), true],
    ['the same in other words', withLimit('32768Ki'), withLimit('32Mi'), false],
    ['a first limit', withLimit('64Mi'), withLimit(), false],
    ['no limit any more', withLimit(), withLimit('32Mi'), false],
    ['a limit of zero', withLimit('0'), withLimit('32Mi'), false],
    ['on disk', withLimit('64Mi', ''), withLimit('32Mi', ''), false],
  ])('%s', (_rule, desired, given, expected) => {
    const entry = entryOf(given, { hasVolumes: true });
    expect(differs(desired, entry)).toBe(expected);
    expect(changesMemoryVolumes(given, desired)).toBe(expected);
    expect(differs(withEntry(desired, entry), entry)).toBe(false);
    if (expected) expect(withEntry(desired, entry).spec.volumes).toEqual(given.spec.volumes);
    expect(differs(desired, entryOf(given)), 'nobody follows their sizes').toBe(false);
  });

  it('a node must declare that it resizes them', () => {
    expect(neededFeatures(withLimit('1Mi'), withLimit('2Mi'))).toEqual([
      'InPlacePodVerticalScalingMemoryBackedVolumes',
    ]);
    expect(neededFeatures(withLimit('1Mi'), withLimit('1Mi'))).toEqual([]);
  });

  it.each<[ResizeRules['resizesVolumes'], string | undefined, string | undefined]>([
    ['yes', undefined, undefined],
    ['gate off', 'memory_volume_resize_gate_off', 'Memory-backed emptyDir volume resize is disabled'],
    [
      'cgroup v1',
      'cgroups_v1_unsupported',
      'Memory-backed emptyDir volume resize is not supported on cgroups v1',
    ],
  ])('can be resized: %s', (resizesVolumes, detail, message) => {
    const rules: ResizeRules = {
      resizes: true,
      resizesPodLevel: true,
      resizesVolumes,
      swaps: false,
      pinsCpus: false,
      pinsMemory: false,
    };
    const answer = resizeInfeasibility(withLimit('64Mi'), withLimit('32Mi'), rules);
    expect([answer?.detail, answer?.message]).toEqual([detail, message]);
    expect(resizeInfeasibility(withLimit('64Mi'), withLimit('64Mi'), rules)).toBeUndefined();
  });

  it('are part of the record where they are followed, and completed where they were not', async () => {
    const allocated = new AllocatedResources({ hasVolumes: true });
    allocated.set(pod([container('a')], { volumes: [] }));
    allocated.set(withLimit('32Mi'));
    expect(allocated.differs(withLimit('64Mi'))).toBe(true);
    expect(allocated.isChanged(withLimit('32Mi'), withLimit('64Mi'))).toBe(true);
    expect(allocated.allocatedPod(withLimit('64Mi')).spec.volumes).toEqual(withLimit('32Mi').spec.volumes);
    await allocated.grant(withLimit('64Mi'));
    expect(allocated.differs(withLimit('64Mi'))).toBe(false);
  });
});

describe('what can never be done', () => {
  const all: ResizeRules = {
    resizes: true,
    resizesPodLevel: true,
    resizesVolumes: 'yes',
    swaps: false,
    pinsCpus: false,
    pinsMemory: false,
  };
  const guaranteed = (cpu: string, memory: string): Pod => pod([container('a', both(cpu, memory))]);
  const memory = (request: string, more: Partial<Container> = {}): Pod =>
    pod([container('a', { requests: { memory: request }, limits: { memory: '1Gi' } }, more)]);
  const restarts = { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] };
  it.each<[string, Partial<ResizeRules>, Pod, Pod, string | undefined]>([
    ['nothing in the way', {}, guaranteed('1', '1Gi'), guaranteed('2', '2Gi'), undefined],
    ['no resizes at all', { resizes: false }, memory('1Mi'), memory('2Mi'), 'feature_gate_off'],
    ['swap', { swaps: true }, memory('1Mi'), memory('2Mi'), 'swap_limitation'],
    ['swap, and it restarts', { swaps: true }, memory('1Mi', restarts), memory('2Mi', restarts), undefined],
    [
      'swap, and only cpu changes',
      { swaps: true },
      pod([container('a', { requests: { cpu: '1', memory: '1Mi' } })]),
      pod([container('a', { requests: { cpu: '2', memory: '1Mi' } })]),
      undefined,
    ],
    [
      'swap, and a Guaranteed pod',
      { swaps: true },
      guaranteed('1', '1Gi'),
      guaranteed('1', '2Gi'),
      undefined,
    ],
    [
      'swap before, none after',
      { swaps: true },
      pod([
        container('a', { requests: { memory: '1Gi' }, limits: { memory: '2Gi' } }),
        container('b', requests('1')),
      ]),
      pod([
        container('a', { requests: { memory: '2Gi' }, limits: { memory: '2Gi' } }),
        container('b', requests('1')),
      ]),
      'swap_limitation',
    ],
    [
      'pod-level resources',
      { resizesPodLevel: false },
      pod([container('a')], { resources: requests('1') }),
      pod([container('a')], { resources: requests('2') }),
      'plr_feature_gate_off',
    ],
    [
      'pinned CPUs',
      { pinsCpus: true },
      guaranteed('1', '1Gi'),
      guaranteed('1500m', '1Gi'),
      'guaranteed_pod_cpu_manager_static_policy',
    ],
    [
      'pinned CPUs, and memory changes',
      { pinsCpus: true },
      guaranteed('1', '1Gi'),
      guaranteed('1', '2Gi'),
      undefined,
    ],
    [
      'pinned CPUs, and a Burstable pod',
      { pinsCpus: true },
      pod([container('a', requests('1'))]),
      pod([container('a', requests('2'))]),
      undefined,
    ],
    [
      'pinned memory',
      { pinsMemory: true },
      guaranteed('1', '1Gi'),
      guaranteed('1', '2Gi'),
      'guaranteed_pod_memory_manager_static_policy',
    ],
    [
      'pinned CPUs, and only the pod changes',
      { pinsCpus: true },
      pod([container('a')], { resources: both('1', '1Gi') }),
      pod([container('a')], { resources: both('2', '1Gi') }),
      undefined,
    ],
  ])('%s', (_rule, rules, before, after, detail) => {
    expect(resizeInfeasibility(after, before, { ...all, ...rules })?.detail).toBe(detail);
  });

  const podLevel = (cpu: string): Pod => pod([container('a', requests(cpu))], { resources: requests(cpu) });
  it.each<[Partial<ResizeRules>, Pod, Pod, string]>([
    [{ resizes: false }, memory('1Mi'), memory('2Mi'), 'InPlacePodVerticalScaling is disabled'],
    [
      { swaps: true },
      memory('1Mi'),
      memory('2Mi'),
      'In-place resize of containers with swap is not supported.',
    ],
    [
      { resizesPodLevel: false },
      podLevel('1'),
      podLevel('2'),
      'InPlacePodLevelResourcesVerticalScaling is disabled',
    ],
    [
      { pinsCpus: true },
      guaranteed('1', '1Gi'),
      guaranteed('2', '1Gi'),
      'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
    ],
    [
      { pinsMemory: true },
      guaranteed('1', '1Gi'),
      guaranteed('1', '2Gi'),
      'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
    ],
  ])('%j is told', (rules, before, after, message) => {
    expect(resizeInfeasibility(after, before, { ...all, ...rules })?.message).toBe(message);
  });
});

describe('the queue', () => {
  const rank = (change: Partial<ResizeRank>): ResizeRank => ({
    frees: false,
    priority: 0,
    isGuaranteed: false,
    pendingSinceMs: undefined,
    ...change,
  });
  it('tries what makes room, then by priority, class and age', () => {
    const ranks: Record<string, ResizeRank> = {
      young: rank({ pendingSinceMs: 2 }),
      plain: rank({}),
      important: rank({ priority: 10 }),
      less: rank({ frees: true, priority: -5 }),
      whole: rank({ isGuaranteed: true }),
      old: rank({ pendingSinceMs: 1 }),
    };
    const queue = new ResizeQueue();
    for (const uid of Object.keys(ranks)) queue.add(uid);
    expect(queue.inOrder((one) => ranks[one]!)).toEqual([
      'less',
      'important',
      'whole',
      'old',
      'young',
      'plain',
    ]);
  });
  it('is sorted anew only when a pod comes', () => {
    const ranks: Record<string, ResizeRank> = { a: rank({ priority: 2 }), b: rank({ priority: 1 }) };
    const rankOf = (uid: string): ResizeRank => ranks[uid]!;
    const queue = new ResizeQueue();
    queue.add('a');
    queue.add('b');
    expect(queue.inOrder(rankOf)).toEqual(['a', 'b']);
    ranks.b = rank({ frees: true });
    queue.add('b');
    expect(queue.inOrder(rankOf)).toEqual(['a', 'b']);
    ranks.c = rank({});
    queue.add('c');
    expect(queue.inOrder(rankOf)).toEqual(['b', 'a', 'c']);
    queue.remove('b');
    expect(queue.inOrder(rankOf)).toEqual(['a', 'c']);
  });
  it('ranks each pod once, however many come together', () => {
    let ranked = 0;
    const queue = new ResizeQueue();
    for (let turn = 0; turn < 100; turn++) queue.add(`p${turn}`);
    const counted = (): ResizeRank => {
      ranked++;
      return rank({});
    };
    expect(queue.inOrder(counted)).toHaveLength(100);
    expect(ranked).toBe(100);
    expect(queue.inOrder(counted)).toHaveLength(100);
    expect(ranked).toBe(100);
  });
  it.each<[string, ResourceRequirements, ResourceRequirements, boolean]>([
    ['less of both', both('1', '1Gi'), both('2', '2Gi'), true],
    ['the same', both('1', '1Gi'), both('1', '1Gi'), true],
    ['less cpu, more memory', both('1', '2Gi'), both('2', '1Gi'), false],
  ])('%s makes room', (_rule, wanted, given, frees) => {
    const ranked = resizeRank(pod([container('a', wanted)]), pod([container('a', given)]), undefined);
    expect(ranked.frees).toBe(frees);
  });
});

describe('conditions', () => {
  const at = (seconds: number): string => `2026-01-01T00:00:0${seconds}Z`;
  const ms = (seconds: number): number => Date.UTC(2026, 0, 1, 0, 0, seconds);
  const deferred = { reason: 'Deferred', message: 'm', generation: 2 } as const;
  const first: PodCondition = {
    type: 'PodResizePending',
    status: 'True',
    observedGeneration: 2,
    lastProbeTime: at(1),
    lastTransitionTime: at(1),
    reason: 'Deferred',
    message: 'm',
  };
  it.each<[string, Parameters<typeof pendingCondition>[1], Partial<PodCondition>, boolean]>([
    ['looked at again', deferred, { lastProbeTime: at(5) }, false],
    [
      'for another spec',
      { ...deferred, generation: 3 },
      { lastProbeTime: at(5), observedGeneration: 3 },
      true,
    ],
    ['with another message', { ...deferred, message: 'n' }, { lastProbeTime: at(5), message: 'n' }, false],
    [
      'for another reason',
      { ...deferred, reason: 'Infeasible' },
      { lastProbeTime: at(5), lastTransitionTime: at(5), reason: 'Infeasible' },
      true,
    ],
  ])('pending, %s', (_rule, next, change, isNew) => {
    expect(pendingCondition(undefined, deferred, ms(1))).toEqual(first);
    const after = pendingCondition(first, next, ms(5));
    expect(after).toEqual({ ...first, ...change });
    expect(isNewPending(first, after)).toBe(isNew);
  });
  it('in progress keeps its generation when it fails', () => {
    const begun = inProgressCondition(2, ms(1));
    expect(begun).toEqual({
      type: 'PodResizeInProgress',
      status: 'True',
      observedGeneration: 2,
      lastProbeTime: at(1),
      lastTransitionTime: at(1),
    });
    const failed = failedCondition(begun, 'no', ms(3));
    expect(failed).toEqual({
      ...begun,
      lastProbeTime: at(3),
      lastTransitionTime: at(3),
      reason: 'Error',
      message: 'no',
    });
    expect(failedCondition(failed, 'still no', ms(5))).toMatchObject({
      lastTransitionTime: at(3),
      lastProbeTime: at(5),
      observedGeneration: 2,
    });
  });
});

describe('what is told', () => {
  it('in events', () => {
    const both = pod([container('a', { requests: { cpu: '1' }, limits: { cpu: '2' } }), container('b')], {
      initContainers: [container('i', {})],
    });
    expect(resizeText(both, 3, 'no room')).toBe(
      '{"initContainers":[{"name":"i","resources":{}}],"containers":[{"name":"a","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"1"}}},{"name":"b","resources":{}}],"generation":3,"error":"no room"}',
    );
  });
  it('of a resize with what has a meaning in web pages', () => {
    const text = resizeText(pod([container('a')]), 1, '<b> & "c"\u2028');
    expect(text).toBe(
      String.raw`{"containers":[{"name":"a","resources":{}}],"generation":1,"error":"\u003cb\u003e \u0026 \"c\"\u2028"}`,
    );
    expect(JSON.parse(text)).toMatchObject({ error: '<b> & "c"\u2028' });
  });
  it.each<[string, ResourceRequirements, ResourceRequirements, string[]]>([
    ['nothing', requests('1'), requests('1000m'), []],
    ['more', requests('1'), requests('2'), ['cpu requests increase']],
    ['less', requests('2'), requests('1'), ['cpu requests decrease']],
    ['a first limit', requests('1'), { ...requests('1'), limits: { memory: '1Gi' } }, ['memory limits add']],
    ['a limit less', { limits: { cpu: '1' } }, {}, ['cpu limits remove']],
  ])('of changes: %s', (_rule, before, after, expected) => {
    const changes = requestedChanges(pod([container('a', before)]), pod([container('a', after)]));
    expect(changes.map((one) => `${one.resource} ${one.requirement} ${one.operation}`)).toEqual(expected);
  });
  it('to people', () => {
    expect(requestsText(pod([container('a', { requests: { memory: '1Gi', cpu: '1500m' } })]))).toBe(
      'cpu 1500m, memory 1Gi',
    );
    expect(requestsText(pod([container('a')]))).toBe('nothing');
  });
});

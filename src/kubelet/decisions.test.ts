import { describe, expect, it } from 'vitest';
import type { Pod } from '../kube/index.js';
import { isActive } from './admission/active-pods.js';
import { type Admission, admit, operatingSystem, podLimit, rejectionLabel } from './admission/admission.js';
import { freeHostPorts } from './admission/host-ports.js';
import { joinErrors, judgeConditions, runtimeErrors, syncLoopHealth } from './start-up/runtime-state.js';
import { passesToWait } from './sync/housekeeping.js';

describe('isActive', () => {
  const base = {
    knownTerminated: false,
    apiPhase: 'Running',
    cachedPhase: undefined,
    terminationRequested: false,
  };
  it.each([
    ['failed', { apiPhase: 'Failed' }, false],
    ['succeeded', { apiPhase: 'Succeeded' }, false],
    ['running and being deleted', { terminationRequested: true }, true],
    ['pending', { apiPhase: 'Pending' }, true],
    ['running', {}, true],
    ['running, but known here as failed', { cachedPhase: 'Failed' }, false],
    ['running, but terminated by its worker', { knownTerminated: true }, false],
    ['failed, but still being stopped', { apiPhase: 'Failed', terminationRequested: true }, true],
  ])('%s', (_rule, change, active) => {
    expect(isActive({ ...base, ...change })).toBe(active);
  });
});

describe('runtimeErrors', () => {
  const unseen = 'container runtime status check may not have completed yet';
  it.each([
    [
      'nothing was checked yet',
      { lastGoodMs: undefined, healthErrors: [{ name: 'PLEG', error: 'pleg has yet to be successful' }] },
      [unseen, 'PLEG is not healthy: pleg has yet to be successful'],
    ],
    ['a good status 29.9 s ago', { lastGoodMs: 70_100 }, []],
    ['a good status 30 s ago', { lastGoodMs: 70_000 }, ['container runtime is down']],
    ['the runtime says it is not ready', { lastGoodMs: 99_000, runtimeError: 'x' }, ['x']],
  ])('%s', (_rule, change, errors) => {
    expect(runtimeErrors({ nowMs: 100_000, runtimeError: undefined, healthErrors: [], ...change })).toEqual(
      errors,
    );
  });
  it('joins several as a list', () => {
    expect(joinErrors(['a'])).toBe('a');
    expect(joinErrors(['a', 'b'])).toBe('[a, b]');
  });
});

describe('judgeConditions', () => {
  const ready = { type: 'RuntimeReady', status: true, reason: '', message: '' };
  const network = { type: 'NetworkReady', status: true, reason: '', message: '' };
  it.each([
    ['both ready', [ready, network], undefined, undefined],
    [
      'no network',
      [ready, { ...network, status: false, reason: 'NetworkPluginNotReady', message: 'no cni' }],
      'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:no cni',
      undefined,
    ],
    ['network not told', [ready], 'container runtime network not ready: <nil>', undefined],
    [
      'runtime not ready',
      [{ ...ready, status: false, reason: 'r', message: 'm' }, network],
      undefined,
      'container runtime not ready: RuntimeReady=false reason:r message:m',
    ],
  ])('%s', (_rule, conditions, networkError, runtimeError) => {
    expect(judgeConditions(conditions)).toEqual({ networkError, runtimeError });
  });
});

describe('syncLoopHealth', () => {
  it.each([
    ['never entered', undefined, 60_000, undefined],
    ['moved 5 min ago', 0, 60_000, undefined],
    ['stands for 6 min', -60_000, 60_000, 'sync Loop took longer than expected'],
    ['a long resync stretches the limit', -60_000, 600_000, undefined],
  ])('%s', (_rule, lastMs, resyncMs, health) => {
    expect(syncLoopHealth(lastMs, 300_000, resyncMs)).toBe(health);
  });
});

describe('admission', () => {
  const pod = (uid: string, spec: Partial<Pod['spec']> = {}): Pod => ({
    metadata: { uid, name: uid, namespace: 'default' },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  });
  const port = (
    hostPort: number,
    more: { protocol?: 'TCP' | 'UDP'; hostIP?: string } = {},
  ): Partial<Pod['spec']> => ({
    containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80, hostPort, ...more }] }],
  });
  const initPort = (hostPort: number, restartPolicy?: 'Always'): Partial<Pod['spec']> => ({
    initContainers: [
      {
        name: 'i',
        image: 'i',
        ports: [{ containerPort: 80, hostPort }],
        ...(restartPolicy === undefined ? {} : { restartPolicy }),
      },
    ],
  });
  const sidecarPort = (hostPort: number): Partial<Pod['spec']> => initPort(hostPort, 'Always');
  const others = (count: number): Pod[] => Array.from({ length: count }, (_, n) => pod(`o${n}`));
  it.each<[string, Admission, string | undefined]>([
    ['room left', admit([podLimit(3)], pod('a'), others(2)), undefined],
    ['a pod is not counted against itself', admit([podLimit(3)], pod('o0'), others(3)), undefined],
    ['the node is full', admit([podLimit(110)], pod('a'), others(110)), 'OutOfpods'],
    [
      'another operating system',
      admit([operatingSystem], pod('a', { os: { name: 'windows' } }), []),
      'PodOSNotSupported',
    ],
    ['a host port is taken', admit([freeHostPorts], pod('a', port(80)), [pod('b', port(80))]), 'NodePorts'],
    [
      'a sidecar has taken the host port',
      admit([freeHostPorts], pod('a', port(80)), [pod('b', sidecarPort(80))]),
      'NodePorts',
    ],
    [
      'a sidecar wants a host port that is taken',
      admit([freeHostPorts], pod('a', sidecarPort(80)), [pod('b', port(80))]),
      'NodePorts',
    ],
    [
      'an init container that ends holds no port',
      admit([freeHostPorts], pod('a', port(80)), [pod('b', initPort(80))]),
      undefined,
    ],
    [
      'by another protocol it is free',
      admit([freeHostPorts], pod('a', port(80)), [pod('b', port(80, { protocol: 'UDP' }))]),
      undefined,
    ],
    [
      'on another address it is free',
      admit([freeHostPorts], pod('a', port(80, { hostIP: '10.0.0.1' })), [
        pod('b', port(80, { hostIP: '10.0.0.2' })),
      ]),
      undefined,
    ],
  ])('%s', (_rule, answer, reason) => {
    expect(answer.admit ? undefined : answer.reason).toBe(reason);
  });
  it('says how much was asked for and used', () => {
    expect(admit([podLimit(110)], pod('a'), others(110))).toMatchObject({
      message: "Node didn't have enough resource: pods, requested: 1, used: 110, capacity: 110",
    });
  });
  it.each([
    ['OutOfcpu', 'OutOfcpu'],
    ['OutOfexample.com/gpu', 'OutOfExtendedResources'],
    ['NodeAffinity', 'Other'],
    ['Evicted', 'Evicted'],
  ])('%s is counted as %s', (reason, label) => {
    expect(rejectionLabel(reason)).toBe(label);
  });
});

describe('what can wait while pods wait', () => {
  it('waits for ten passes at most and is done once before it waits again', () => {
    const canWait = passesToWait(() => true);
    const asked = Array.from({ length: 12 }, canWait);
    expect(asked).toEqual([...Array<boolean>(10).fill(true), false, true]);
  });
  it('does not wait when nobody else does', () => {
    let podsWait = true;
    const canWait = passesToWait(() => podsWait);
    expect(canWait()).toBe(true);
    podsWait = false;
    expect(canWait()).toBe(false);
  });
});

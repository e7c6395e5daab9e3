import { describe, expect, it } from 'vitest';
import { joinErrors, judgeConditions, runtimeErrors, syncLoopHealth } from './runtime-state.js';

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

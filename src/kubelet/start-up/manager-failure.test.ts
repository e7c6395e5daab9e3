/** A manager that cannot start: what is worth another try, and what ends the kubelet. */
import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { Timeline } from '../../timeline/index.js';
import { ManagerStartFailure } from './managers.js';
import { RuntimeCheck } from './runtime-check.js';

const checkThat = (failure: Error): RuntimeCheck => {
  const clock = new VirtualClock();
  const conditions = ['RuntimeReady', 'NetworkReady'].map((type) => ({
    type,
    status: true,
    reason: '',
    message: '',
  }));
  return new RuntimeCheck({
    runtime: {
      status: async () => ({ status: { conditions }, info: {}, runtimeHandlers: [], features: undefined }),
    },
    clock,
    timeline: new Timeline({ clock }),
    healthChecks: [],
    onFirstReady: () => Promise.reject(failure),
    stopping: new AbortController().signal,
  });
};

it('an error is tried again at the next check', async () => {
  await expect(checkThat(new Error('not yet')).checkOnce()).resolves.toBeUndefined();
});

it('a failure for good ends the check, and with it the kubelet', async () => {
  const failure = new ManagerStartFailure('no such cgroup');
  await expect(checkThat(failure).checkOnce()).rejects.toBe(failure);
});

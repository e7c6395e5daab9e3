import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { type StatusResponse, unimplementedCriRuntime } from '../../cri/index.js';
import { Timeline } from '../../timeline/index.js';
import { RuntimeCheck } from './runtime-check.js';

function checkOf(
  answer: Partial<StatusResponse>,
  onFirstReady: () => Promise<void> = async () => {},
  { stopping = new AbortController().signal, timeline = new Timeline({ clock: new VirtualClock() }) } = {},
) {
  const clock = new VirtualClock();
  const ready = ['RuntimeReady', 'NetworkReady'].map((type) => ({
    type,
    status: true,
    reason: '',
    message: '',
  }));
  return new RuntimeCheck({
    runtime: {
      ...unimplementedCriRuntime(),
      status: async () => ({ status: { conditions: ready }, info: {}, runtimeHandlers: [], ...answer }),
    },
    clock,
    timeline,
    healthChecks: [],
    onFirstReady,
    stopping,
  });
}

it('a handler has the features that the runtime tells of it, others have none', async () => {
  const check = checkOf({
    runtimeHandlers: [
      { name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
      { name: 'kata' },
    ],
  });
  expect(check.supports('', 'recursiveReadOnlyMounts')).toBe(false);
  await check.checkOnce();
  expect(check.supports('', 'recursiveReadOnlyMounts')).toBe(true);
  expect(check.supports('', 'userNamespaces')).toBe(false);
  expect(check.supports('kata', 'recursiveReadOnlyMounts')).toBe(false);
  expect(check.supports('unheard', 'recursiveReadOnlyMounts')).toBe(false);
});

it('the runtime does not count as ready before what needs it has started', async () => {
  let failures = 1;
  const check = checkOf({}, async () => {
    if (failures-- > 0) throw new Error('not yet');
  });
  await check.checkOnce();
  expect(check.errors()).toEqual(['container runtime status check may not have completed yet']);
  await check.checkOnce();
  expect(check.errors()).toEqual([]);
});

it.each([
  ['fails while the kubelet stops: nothing is told', true, []],
  ['fails at any other time: a problem is told', false, ['the runtime cannot be used yet: cut off']],
])('a start that %s', async (_, stops, told) => {
  const stop = new AbortController();
  const timeline = new Timeline({ clock: new VirtualClock() });
  const problems: string[] = [];
  timeline.subscribe(({ kind, message }) => {
    if (kind === 'problem') problems.push(message);
  });
  const cutOff = async (): Promise<void> => {
    if (stops) stop.abort();
    throw new Error('cut off');
  };
  await checkOf({}, cutOff, { stopping: stop.signal, timeline }).checkOnce();
  expect(problems).toEqual(told);
});

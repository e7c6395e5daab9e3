import { expect, it } from 'vitest';
import type { ObservedPod } from '../../cri/index.js';
import { isRuntimeGone } from './runtime-gone.js';

const running = { uid: 'p', sandboxes: [{ state: 'running' }], containers: [] } as unknown as ObservedPod;
const exited = { uid: 'p', sandboxes: [{ state: 'exited' }], containers: [] } as unknown as ObservedPod;

it.each([
  ['the worker still needs the runtime', { shouldBeRemoved: false, hasWorker: true, observed: [] }, false],
  [
    'the worker is done, whatever the last observation shows',
    { shouldBeRemoved: true, hasWorker: true, observed: [running] },
    true,
  ],
  ['no worker, and it runs', { shouldBeRemoved: true, hasWorker: false, observed: [running] }, false],
  ['no worker, and it has ended', { shouldBeRemoved: true, hasWorker: false, observed: [exited] }, true],
  [
    'no worker, and another pod runs',
    { shouldBeRemoved: true, hasWorker: false, observed: [{ ...running, uid: 'q' }] },
    true,
  ],
])('%s', (_rule, { shouldBeRemoved, hasWorker, observed }, gone) => {
  const states = { shouldRuntimeBeRemoved: () => shouldBeRemoved, hasWorker: () => hasWorker };
  expect(isRuntimeGone('p', { states, observedPods: () => observed })).toBe(gone);
});

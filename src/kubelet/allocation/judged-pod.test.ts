import { expect, it } from 'vitest';
import type { Pod } from '../../kube/index.js';
import { type Judgement, withJudgedGeneration } from './judged-pod.js';

const pod: Pod = {
  metadata: { uid: 'u', name: 'p', namespace: 'd', generation: 3 },
  spec: { containers: [{ name: 'c' }] },
};

it.each<[rule: string, change: Partial<Judgement>, expected: number]>([
  ['a resize that nobody has judged', {}, 2],
  ['no resize', { isResizeWanted: false }, 3],
  ['a resize that was refused', { isRefusalTold: true }, 3],
  ['a pod without a status', { observedGeneration: undefined }, 3],
])('%s', (_, change, expected) => {
  const judgement = { isResizeWanted: true, isRefusalTold: false, observedGeneration: 2, ...change };
  expect(withJudgedGeneration(pod, judgement).metadata.generation).toBe(expected);
});

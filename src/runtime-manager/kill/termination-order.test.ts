import { describe, expect, it } from 'vitest';
import { container, makePod } from '../test-fixtures.js';
import { terminationOrder } from './termination-order.js';

describe('terminationOrder', () => {
  const pod = makePod({
    initContainers: [
      container('s0', { restartPolicy: 'Always' }),
      container('plain'),
      container('s1', { restartPolicy: 'Always' }),
      container('s2', { restartPolicy: 'Always' }),
    ],
    containers: [container('c0'), container('c1')],
  });
  it.each([
    [
      'a sidecar waits for the regular ones and the next sidecar',
      's0 s1 s2 c0 c1',
      { s0: 'c0 c1 s1', s1: 'c0 c1 s2', s2: 'c0 c1' },
    ],
    ['what does not run is not waited for', 's0 s2 c1', { s0: 'c1', s2: 'c1' }],
    ['plain init containers neither wait nor are waited for', 's0 plain', {}],
  ])('%s', (_, runningNames, expected) => {
    const order = terminationOrder(pod, new Set(runningNames.split(' ')));
    expect(Object.fromEntries([...order].map(([name, others]) => [name, others.join(' ')]))).toEqual(
      expected,
    );
  });
  it('without sidecars no container waits', () => {
    expect(terminationOrder(makePod(), new Set(['c0', 'c1', 'c2'])).size).toBe(0);
  });
});

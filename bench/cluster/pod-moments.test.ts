import { describe, expect, it } from 'vitest';
import type { Pod } from '../../src/kube/index.js';
import { PodMoments } from './pod-moments.js';

function pod(name: string, isReady: boolean): Pod {
  const status = isReady ? 'True' : 'False';
  return {
    metadata: { uid: 'u', namespace: 'default', name },
    spec: { containers: [] },
    status: { conditions: [{ type: 'Ready', status }] },
  };
}

describe('moments of pods', () => {
  it('are the first at which each was seen', () => {
    const moments = new PodMoments();
    moments.see({ type: 'ADDED', object: pod('a', false) }, 1);
    moments.see({ type: 'MODIFIED', object: pod('a', true) }, 2);
    moments.see({ type: 'MODIFIED', object: pod('a', true) }, 3);
    moments.see({ type: 'DELETED', object: pod('a', false) }, 4);
    expect([moments.ready(['a', 'b']), moments.gone(['a', 'b'])]).toEqual([[2], [4]]);
  });

  it('include what happened while there was no watch', () => {
    const moments = new PodMoments();
    moments.see({ type: 'MODIFIED', object: pod('a', true) }, 1);
    moments.see({ type: 'ADDED', object: pod('b', false) }, 1);
    moments.replace([pod('b', true)], 5);
    expect([moments.gone(['a']), moments.ready(['b'])]).toEqual([[5], [5]]);
  });
});

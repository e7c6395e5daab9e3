import { expect, it } from 'vitest';
import type { Pod } from '../../kube/index.js';
import { podsWithStatuses } from './configured-pods.js';

it('the status that the kubelet holds stands for the one that the pod came with', () => {
  const pod = (uid: string): Pod => ({
    metadata: { name: 'p', namespace: 'default', uid },
    spec: { containers: [] },
    status: { phase: 'Pending' },
  });
  const shown = podsWithStatuses([pod('a'), pod('b')], {
    get: (uid) => (uid === 'a' ? { phase: 'Running' } : undefined),
  });
  expect(shown.map(({ status }) => status?.phase)).toEqual(['Running', 'Pending']);
});

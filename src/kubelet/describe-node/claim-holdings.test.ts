/** Which devices of claims the description of a node shows at which container. */
import { expect, it } from 'vitest';
import type { Pod } from '../../kube/index.js';
import type { ClaimRecord } from '../../resources/dra/index.js';
import { claimHoldings } from './claim-holdings.js';

const device = (deviceName: string, requestNames: string[]) => ({
  poolName: 'pool',
  deviceName,
  shareId: undefined,
  requestNames,
  cdiDeviceIds: [],
});
const claim: ClaimRecord = {
  uid: 'u',
  name: 'gpu-claim',
  namespace: 'ns',
  podUids: new Set(['uid']),
  drivers: new Map([
    ['d', { devices: [device('one', ['a']), device('two', ['b'])], skipNodeOperations: [] }],
  ]),
};
const pod: Pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'uid' },
  spec: {
    resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu-claim' }],
    containers: [
      { name: 'all', image: 'i', resources: { claims: [{ name: 'gpu' }] } },
      { name: 'part', image: 'i', resources: { claims: [{ name: 'gpu', request: 'b' }] } },
      { name: 'none', image: 'i' },
    ],
  },
};

it('tells of each container that uses a claim', () => {
  const held = (container: string, ids: string[]) => ({
    podUid: 'uid',
    container,
    devices: [{ resource: 'claim gpu-claim', ids }],
  });
  expect(claimHoldings([pod], () => claim)).toEqual({
    held: [held('all', ['d/pool/one', 'd/pool/two']), held('part', ['d/pool/two'])],
  });
  expect(claimHoldings([pod], () => undefined)).toEqual({ held: [] });
});

import { describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../async/index.js';
import { SimulatedKubeApi } from '../kube-api/index.js';
import { ApiError } from './api-error.js';
import { withAuthorizerLagRetry } from './authorizer-lag.js';
import { resources } from './resources.js';

const forbidden = new ApiError({ code: 403, reason: 'Forbidden', message: 'no relationship found' });
const missing = (kind: string): ApiError =>
  new ApiError({ code: 404, message: `${kind} "a" not found`, details: { kind, name: 'a' } });
const broken = new ApiError({ code: 500, message: 'no' });

async function asked(refusals: number, error = forbidden) {
  const clock = new VirtualClock();
  const api = new SimulatedKubeApi({ clock });
  await api.create(resources.configMaps, { metadata: { name: 'c', namespace: 'n' } });
  api.faults.add({ verb: 'list', fault: { kind: 'refuse', error }, times: refusals });
  const abort = new AbortController();
  const outcome = { response: '' };
  const asking = withAuthorizerLagRetry(api, clock)
    .list(resources.configMaps, { namespace: 'n', signal: abort.signal })
    .then(
      ({ items }) => {
        outcome.response = `${items.length} at ${clock.monotonic()}`;
      },
      (reason: unknown) => {
        outcome.response = `${reason instanceof Error ? reason.message : reason} at ${clock.monotonic()}`;
      },
    );
  await settle();
  return {
    clock,
    abort,
    asking,
    outcome,
    lists: () => api.calls.filter(({ verb }) => verb === 'list').length,
  };
}

describe('withAuthorizerLagRetry', () => {
  it.each([
    ['an allowed read succeeds at once', 0, forbidden, '1 at 0', 1],
    ['a read that is allowed a moment later succeeds then', 2, forbidden, '1 at 150', 3],
    ['a read that stays forbidden fails within a second', 9, forbidden, 'no relationship found at 750', 5],
    ["a pod missing from the server's cache is retried", 2, missing('pod'), '1 at 150', 3],
    ["the API's own 404 is final", 1, missing('pods'), 'pods "a" not found at 0', 1],
    ['any other error is final', 1, broken, 'no at 0', 1],
  ])('%s', async (_rule, refusals, error, response, lists) => {
    const test = await asked(refusals, error);
    const startMs = test.clock.monotonic();
    await test.clock.advance(1000);
    await test.asking;
    expect(startMs).toBe(0);
    expect(test.outcome.response).toBe(response);
    expect(test.lists()).toBe(lists);
  });
  it('a cancelled call does not wait', async () => {
    const test = await asked(9);
    test.abort.abort();
    await test.asking;
    expect(test.outcome.response).toContain('canceled');
    expect(test.clock.pendingTimers).toBe(0);
  });
});

/** Trust bundles are followed from the first request on, in the newest version that the API serves. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, TaskGroup, VirtualClock } from '../../../async/index.js';
import { SimulatedKubeApi } from '../../../kube-api/index.js';
import { ApiError, type KubeApi, resources } from '../../../kube-client/index.js';
import { Timeline } from '../../../timeline/index.js';
import { ApiTrustBundles } from './trust-bundles.js';

let clock: VirtualClock;
let api: SimulatedKubeApi;
let tasks: TaskGroup;
let listed: string[];
let changes: number;
const { signal } = new AbortController();

beforeEach(() => {
  clock = new VirtualClock();
  api = new SimulatedKubeApi({ clock });
  listed = [];
  changes = 0;
  tasks = new TaskGroup({
    onError: (_, error) => {
      throw error;
    },
  });
});
afterEach(async () => {
  await tasks.stop();
  expect(clock.pendingTimers).toBe(0);
});

/** `missing` are the versions that the API does not serve. */
function start(...missing: string[]): ApiTrustBundles {
  const watched = new Proxy(api, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      if (property !== 'list') return value.bind(target);
      return (async (resource, options) => {
        listed.push(resource.version);
        if (missing.includes(resource.version))
          throw new ApiError({ code: 404, reason: 'NotFound', message: 'no such resource' });
        return target.list(resource, options);
      }) satisfies KubeApi['list'];
    },
  });
  const bundles = new ApiTrustBundles({
    clock,
    timeline: new Timeline({ clock }),
    api: watched,
    onChange: () => {
      changes += 1;
    },
  });
  tasks.start('bundles', (stopped) => bundles.run(stopped));
  return bundles;
}

const create = (name: string, signerName?: string) =>
  api.create(resources.clusterTrustBundles, {
    metadata: { name, labels: { tier: name } },
    spec: { trustBundle: `PEM of ${name}`, ...(signerName === undefined ? {} : { signerName }) },
  });

describe('ApiTrustBundles', () => {
  it('makes no request before a pod needs one', async () => {
    start();
    await clock.advance(3_600_000);
    expect(listed).toEqual([]);
  });

  it('returns a bundle by name and all of them, and reports changes', async () => {
    await create('a', 'example.com/signer');
    const bundles = start();
    const asked = bundles.get('a', signal);
    await clock.advance(100);
    expect(await asked).toEqual({
      name: 'a',
      signerName: 'example.com/signer',
      labels: { tier: 'a' },
      trustBundle: 'PEM of a',
    });
    expect(await bundles.get('none', signal)).toBeUndefined();
    const before = changes;
    await create('b');
    await settle();
    expect(changes).toBe(before + 1);
    expect((await bundles.list(signal)).map(({ name }) => name)).toEqual(['a', 'b']);
  });

  it('falls back to an older version', async () => {
    await create('a');
    const bundles = start('v1');
    const asked = bundles.list(signal);
    await clock.advance(100);
    expect(await asked).toHaveLength(1);
    expect(listed.slice(0, 2)).toEqual(['v1', 'v1beta1']);
  });

  it('reports that the API serves none, and asks again later', async () => {
    const bundles = start('v1', 'v1beta1', 'v1alpha1');
    const refused = expect(bundles.list(signal)).rejects.toThrow('not supported by the API server');
    await clock.advance(100);
    await refused;
    await clock.advance(60_000);
    expect(listed).toEqual(['v1', 'v1beta1', 'v1alpha1', 'v1', 'v1beta1', 'v1alpha1']);
  });

  it('reports that the API could not be read yet', async () => {
    api.setReachable(false);
    const bundles = start();
    const refused = expect(bundles.list(signal)).rejects.toThrow('have not been read from the API yet');
    await clock.advance(10_000);
    await refused;
  });
});

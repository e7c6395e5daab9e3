/** Informers that get all objects by a watch instead of a list. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle, TaskGroup, VirtualClock } from '../../async/index.js';
import type { ConfigMap } from '../../kube/types/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { ApiError } from '../api-error.js';
import { withAuthorizerLagRetry } from '../authorizer-lag.js';
import type { KubeApi, WatchEvent, WatchOptions } from '../port.js';
import { resources } from '../resources.js';
import { Informer, type InformerUpdate } from './informer.js';

let clock: VirtualClock;
let api: SimulatedKubeApi;
let tasks: TaskGroup;
let updates: string[];
let problems: string[];
let watches: WatchOptions[];

const map = (name: string, value = '1'): ConfigMap => ({
  metadata: { name, namespace: 'n' },
  data: { value },
});
const create = (name: string): Promise<ConfigMap> => api.create(resources.configMaps, map(name));
const counted = (verb: string): number => api.calls.filter((call) => call.verb === verb).length;
const refuse = (error: ApiError, times = 1): void =>
  void api.faults.add({ verb: 'watch', fault: { kind: 'refuse', error }, times });
const invalid = new ApiError({
  code: 422,
  reason: 'Invalid',
  message: 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch',
});

/** The API, with a look at what watches ask for. */
function seen(served: KubeApi): KubeApi {
  const watch: KubeApi['watch'] = (resource, options = {}) => {
    const { signal, ...asked } = options;
    watches.push(asked);
    return served.watch(resource, options);
  };
  return new Proxy(served, {
    get: (target, key) => {
      if (key === 'watch') return watch;
      // Methods of the simulated API use its private members.
      const member: unknown = Reflect.get(target, key, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

function informerOn(served: KubeApi): Informer<ConfigMap> {
  return new Informer({
    api: seen(served),
    clock,
    resource: resources.configMaps,
    namespace: 'n',
    random: () => 0.5,
    onUpdate: (update: InformerUpdate<ConfigMap>) =>
      void updates.push(
        update.kind === 'listed' ? 'listed' : `${update.change.type} ${update.change.object.metadata.name}`,
      ),
    onProblem: (error, then) => void problems.push(`${String(error)}: ${then}`),
  });
}

async function start(served: KubeApi = api): Promise<Informer<ConfigMap>> {
  const informer = informerOn(served);
  tasks.start('informer', (signal) => informer.run(signal));
  await settle();
  return informer;
}

const shown = (informer: Informer<ConfigMap>): string =>
  informer
    .list()
    .map(({ metadata, data }) => `${metadata.name}=${data?.value}`)
    .sort()
    .join(' ');

beforeEach(() => {
  clock = new VirtualClock();
  api = new SimulatedKubeApi({ clock, streamsLists: true });
  updates = [];
  problems = [];
  watches = [];
  tasks = new TaskGroup({
    onError: (_, error) => {
      throw error;
    },
  });
});
afterEach(async () => {
  await tasks.stop();
  expect(clock.pendingTimers).toBe(0);
  expect(api.openWatches).toBe(0);
});

describe('an informer that streams', () => {
  it('has all objects and their changes by one request', async () => {
    await create('a');
    const informer = await start();
    expect([informer.hasSynced, shown(informer)]).toEqual([true, 'a=1']);
    await create('b');
    await settle();
    expect(updates).toEqual(['listed', 'ADDED b']);
    expect([counted('list'), counted('watch')]).toEqual([0, 1]);
    expect(watches).toEqual([
      { namespace: 'n', allowBookmarks: true, sendInitialEvents: true, timeoutSeconds: 450 },
    ]);
  });
  it('no objects are all objects, too', async () => {
    expect((await start()).hasSynced).toBe(true);
  });
  it('goes on by a plain watch from its last version when the time is up', async () => {
    await start();
    await create('a');
    await clock.advance(3_600_000);
    expect([counted('list'), counted('watch')]).toEqual([0, 9]);
    expect(watches.map(({ sendInitialEvents }) => sendInitialEvents ?? false)).toEqual([
      true,
      ...Array.from({ length: 8 }, () => false),
    ]);
    expect(updates).toEqual(['listed', 'ADDED a']);
  });
  it('streams again, not older than what it has, when the changes were compacted', async () => {
    const informer = await start();
    const a = await create('a');
    await settle();
    refuse(new ApiError({ code: 410, reason: 'Expired', message: 'too old resource version' }));
    api.endWatches();
    await create('b');
    await clock.advance(10_000);
    expect(shown(informer)).toBe('a=1 b=1');
    expect(watches.at(-1)).toMatchObject({
      sendInitialEvents: true,
      resourceVersion: a.metadata.resourceVersion,
    });
    expect(counted('list')).toBe(0);
  });
  it('streams the newest when the server does not have its version', async () => {
    const informer = await start();
    await create('a');
    await settle();
    const details = { causes: [{ reason: 'ResourceVersionTooLarge' }] };
    api.restore(new SimulatedKubeApi({ clock }).snapshot());
    refuse(new ApiError({ code: 504, message: 'Too large resource version', details }));
    await clock.advance(20_000);
    expect(shown(informer)).toBe('');
    expect(watches.at(-1)?.sendInitialEvents === true && watches.at(-1)?.resourceVersion).toBeUndefined();
  });
  it.each([
    ['that does not have the gate', invalid],
    ['that fails', new ApiError({ code: 500, message: 'no' })],
  ])('a server %s is listed instead', async (_, error) => {
    await create('a');
    refuse(error);
    const informer = await start();
    expect(shown(informer)).toBe('a=1');
    expect([counted('list'), counted('watch')]).toEqual([1, 2]);
    expect(watches[1]?.sendInitialEvents).toBeUndefined();
    expect(problems).toEqual([]);
  });
  it('a server that never streams and comes back as it was before is listed anew', async () => {
    const served: KubeApi = new Proxy(seen(api), {
      get: (target, key) => {
        if (key !== 'watch') return Reflect.get(target, key) as unknown;
        return (...[resource, options]: Parameters<KubeApi['watch']>) => {
          // Only so many: asking on and on without a wait would never let the clock go on.
          if (options?.sendInitialEvents === true && counted('watch') < 20) refuse(invalid);
          return target.watch(resource, options);
        };
      },
    });
    await create('older');
    const before = api.snapshot();
    const informer = await start(served);
    await create('younger');
    await settle();
    expect(shown(informer)).toBe('older=1 younger=1');
    api.restore(before);
    await clock.advance(10_000);
    expect(shown(informer)).toBe('older=1');
    // First a refused stream, a list and a watch; then the same, with a check and a list of a version too large before.
    expect([counted('list'), counted('watch')]).toEqual([4, 4]);
    await create('later');
    await settle();
    expect(shown(informer)).toBe('later=1 older=1');
  });
  it('a server that ends the stream without saying that it was all is listed instead', async () => {
    await create('a');
    const silent: KubeApi = new Proxy(seen(api), {
      get: (target, key) => {
        if (key !== 'watch') return Reflect.get(target, key) as unknown;
        return async function* (
          ...[resource, options]: Parameters<KubeApi['watch']>
        ): AsyncGenerator<WatchEvent<never>> {
          if (options?.sendInitialEvents !== true)
            yield* target.watch(resource, options) as AsyncIterable<WatchEvent<never>>;
        };
      },
    });
    const informer = await start(silent);
    expect(shown(informer)).toBe('a=1');
    expect(counted('list')).toBe(1);
  });
  it('a busy server is asked for a stream again later', async () => {
    await create('a');
    refuse(new ApiError({ code: 429, message: 'later' }), 2);
    const informer = await start();
    expect(informer.hasSynced).toBe(false);
    await clock.advance(10_000);
    expect(shown(informer)).toBe('a=1');
    expect([counted('list'), counted('watch')]).toEqual([0, 3]);
  });
  it('a stream that is cut in the middle replaces nothing', async () => {
    await create('a');
    const cut: KubeApi = new Proxy(seen(api), {
      get: (target, key) => {
        if (key !== 'watch') return Reflect.get(target, key) as unknown;
        let calls = 0;
        return async function* (
          ...[resource, options]: Parameters<KubeApi['watch']>
        ): AsyncGenerator<WatchEvent<never>> {
          for await (const event of target.watch(resource, options) as AsyncIterable<WatchEvent<never>>) {
            if (calls === 0 && event.type === 'BOOKMARK') throw new Error('cut');
            yield event;
          }
          calls++;
        };
      },
    });
    const informer = await start(cut);
    expect(updates).toEqual(['listed']);
    expect([shown(informer), counted('list')]).toEqual(['a=1', 1]);
  });
  it('backs off while the server is away, and returns soon after it', async () => {
    api.setReachable(false);
    const informer = await start();
    await clock.advance(600_000);
    expect(api.calls.length).toBeLessThan(40);
    api.setReachable(true);
    await create('a');
    await clock.advance(60_000);
    expect(shown(informer)).toBe('a=1');
  });
  it('an authorizer that lags delays the stream, and no list is asked for', async () => {
    await create('a');
    refuse(new ApiError({ code: 403, reason: 'Forbidden', message: 'no relationship found' }), 2);
    const informer = await start(withAuthorizerLagRetry(api, clock));
    await clock.advance(200);
    expect(shown(informer)).toBe('a=1');
    expect([counted('list'), counted('watch'), problems]).toEqual([0, 3, []]);
  });
});

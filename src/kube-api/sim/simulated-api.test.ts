import { describe, expect, it } from 'vitest';
import { Cancelled, settle, VirtualClock } from '../../async/index.js';
import type { ConfigMap } from '../../kube/types/index.js';
import { ApiError, ApiUnreachable, isNotFound } from '../../kube-client/api-error.js';
import { resources } from '../../kube-client/resources.js';
import { SimulatedKubeApi } from './simulated-api.js';

const maps = resources.configMaps;
const map = (name: string): ConfigMap => ({ metadata: { name, namespace: 'n' } });
const ref = (name: string) => ({ namespace: 'n', name });

function sim(): { clock: VirtualClock; api: SimulatedKubeApi } {
  const clock = new VirtualClock();
  return { clock, api: new SimulatedKubeApi({ clock }) };
}

describe('faults', () => {
  it('fail the calls that a test chose, after those it let pass', async () => {
    const { api } = sim();
    const error = new ApiError({ code: 500, message: 'no' });
    api.faults.add({ verb: 'create', fault: { kind: 'refuse', error }, skip: 1, times: 1 });
    await api.create(maps, map('a'));
    await expect(api.create(maps, map('b'))).rejects.toBe(error);
    await api.create(maps, map('c'));
    await expect(api.get(maps, ref('b'))).rejects.toSatisfy(isNotFound);
  });
  it('lose a response after the work was done', async () => {
    const { api } = sim();
    api.faults.add({ verb: 'create', name: 'a', fault: { kind: 'lose-response' } });
    await expect(api.create(maps, map('a'))).rejects.toMatchObject({ unanswered: 'unknown' });
    expect((await api.get(maps, ref('a'))).metadata.name).toBe('a');
  });
  it('delay by the clock, and let the caller cancel before', async () => {
    const { api, clock } = sim();
    api.faults.add({ resource: maps, fault: { kind: 'delay', delayMs: 500 }, times: 2 });
    let done = false;
    const call = api.list(maps).then(() => {
      done = true;
    });
    await clock.advance(499);
    expect(done).toBe(false);
    await clock.advance(1);
    await call;
    const stop = new AbortController();
    const cancelled = api.list(maps, { signal: stop.signal });
    stop.abort();
    await expect(cancelled).rejects.toBeInstanceOf(Cancelled);
    expect(clock.pendingTimers).toBe(0);
  });
  it('can be removed', async () => {
    const { api } = sim();
    const undo = api.faults.add({ fault: { kind: 'unreachable' }, times: 100 });
    await expect(api.list(maps)).rejects.toMatchObject({ unanswered: 'not-sent' });
    undo();
    await api.list(maps);
  });
  it('make the whole server unreachable, with its watches', async () => {
    const { api } = sim();
    const watching = (async () => {
      for await (const _ of api.watch(maps)) break;
    })();
    const failed = expect(watching).rejects.toBeInstanceOf(ApiUnreachable);
    await settle();
    api.setReachable(false);
    await failed;
    await expect(api.getText('/healthz')).rejects.toBeInstanceOf(ApiUnreachable);
    api.setReachable(true);
    expect(await api.getText('/healthz')).toBe('ok');
    expect(api.openWatches).toBe(0);
  });
});

describe('what clients have', () => {
  it('is their own copy: changing it does not change the server', async () => {
    const { api } = sim();
    const made = await api.create(maps, { ...map('a'), data: { x: '1' } });
    made.data!.x = '2';
    const read = await api.get(maps, ref('a'));
    expect(read.data).toEqual({ x: '1' });
    read.data!.x = '3';
    expect((await api.list(maps)).items[0]?.data).toEqual({ x: '1' });
  });
  it('a watcher that does not read is cut off instead of filling the memory', async () => {
    const { api } = sim();
    const events = api.watch(maps)[Symbol.asyncIterator]();
    const first = events.next();
    await settle();
    await api.create(maps, map('a'));
    await first;
    for (let n = 0; n < 10_050; n++) {
      await api.patch(maps, ref('a'), { type: 'merge', body: { data: { n: String(n) } } });
    }
    expect((await events.next()).value).toMatchObject({ type: 'ERROR', error: { code: 410 } });
    expect((await events.next()).done).toBe(true);
  });
});

import { afterEach, beforeEach, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../async/index.js';
import type { EndpointSlice, Pod } from '../../kube/types/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { ApiError, resources } from '../../kube-client/index.js';
import { Timeline } from '../../timeline/index.js';
import { testPod, testService } from '../test-objects.js';
import { WatchedObjects } from '../watched-objects.js';
import { EndpointsController } from './endpoints-controller.js';

let clock: VirtualClock;
let api: SimulatedKubeApi;
let timeline: Timeline;
let stop: AbortController;
let running: Promise<unknown>;

function start(): void {
  stop = new AbortController();
  const objects = new WatchedObjects({ api, clock, timeline });
  const controller = new EndpointsController({ api, clock, timeline, objects });
  running = Promise.all([objects.run(stop.signal), controller.run(stop.signal)]);
}

async function end(): Promise<void> {
  stop.abort();
  await running;
}

beforeEach(() => {
  clock = new VirtualClock();
  api = new SimulatedKubeApi({ clock });
  timeline = new Timeline({ clock });
  start();
});
afterEach(async () => {
  await end();
  expect(clock.pendingTimers).toBe(0);
});

const slices = async (): Promise<EndpointSlice[]> => (await api.list(resources.endpointSlices)).items;
const shown = async (): Promise<string[]> =>
  (await slices()).flatMap(({ endpoints }) =>
    endpoints.map(
      ({ addresses, conditions }) => `${addresses[0]} ${conditions?.ready ? 'ready' : 'not ready'}`,
    ),
  );

async function addPod(pod: Pod): Promise<void> {
  await api.create(resources.pods, pod);
  await setStatus(pod);
}

async function setStatus({ metadata: { namespace, name }, status }: Pod): Promise<void> {
  const body = { status };
  await api.patch(resources.pods, { namespace, name }, { type: 'merge', body }, { subresource: 'status' });
}

it('follows Services and pods as they come, change and go', async () => {
  await api.create(resources.services, testService('web'));
  await clock.advance(100);
  expect(await shown()).toEqual([]);
  expect(await slices()).toHaveLength(1);
  await addPod(testPod('a', { ip: '10.1.0.1' }));
  await addPod(testPod('b', { ip: '10.1.0.2', ready: false }));
  await clock.advance(100);
  expect(await shown()).toEqual(['10.1.0.1 ready', '10.1.0.2 not ready']);
  await setStatus(testPod('b', { ip: '10.1.0.2' }));
  await clock.advance(100);
  expect(await shown()).toEqual(['10.1.0.1 ready', '10.1.0.2 ready']);
  const endpoints = await api.get(resources.endpoints, { namespace: 'shop', name: 'web' });
  expect(endpoints.subsets?.[0]?.addresses?.map(({ ip }) => ip)).toEqual(['10.1.0.1', '10.1.0.2']);

  const relabelled = { metadata: { labels: { app: 'db' } } };
  await api.patch(resources.pods, { namespace: 'shop', name: 'a' }, { type: 'merge', body: relabelled });
  await clock.advance(100);
  expect(await shown()).toEqual(['10.1.0.2 ready']);
  await api.delete(resources.services, { namespace: 'shop', name: 'web' });
  await clock.advance(100);
  expect(await slices()).toEqual([]);
  expect((await api.list(resources.endpoints)).items).toEqual([]);
});

it('mends slices that somebody changed or deleted', async () => {
  await api.create(resources.services, testService('web'));
  await addPod(testPod('a', { ip: '10.1.0.1' }));
  await clock.advance(100);
  const [slice] = await slices();
  await api.update(resources.endpointSlices, { ...slice!, endpoints: [] });
  await clock.advance(100);
  expect(await shown()).toEqual(['10.1.0.1 ready']);
  await api.delete(resources.endpointSlices, { namespace: 'shop', name: slice!.metadata.name! });
  await clock.advance(100);
  expect(await shown()).toEqual(['10.1.0.1 ready']);
});

it('removes what is left of Services that went while it was away', async () => {
  await api.create(resources.services, testService('web'));
  await clock.advance(100);
  await end();
  await api.delete(resources.services, { namespace: 'shop', name: 'web' });
  start();
  await clock.advance(100);
  expect(await slices()).toEqual([]);
});

it('tries again when the API refuses, and says so once', async () => {
  const refused = new ApiError({ code: 500, message: 'no room' });
  const withdraw = api.faults.add({
    verb: 'create',
    resource: resources.endpointSlices,
    fault: { kind: 'refuse', error: refused },
    times: 1000,
  });
  await api.create(resources.services, testService('web'));
  await addPod(testPod('a', { ip: '10.1.0.1' }));
  await clock.advance(5_000);
  expect(await slices()).toEqual([]);
  withdraw();
  await clock.advance(30_000);
  expect(await shown()).toEqual(['10.1.0.1 ready']);
  const told = timeline.ofNode().filter(({ what }) => what === 'services.endpoints');
  expect(told.map(({ kind, message }) => `${kind}: ${message}`)).toEqual([
    'problem: the endpoints of the Service shop/web cannot be written',
    'notice: the endpoints of the Service shop/web are written again',
  ]);
});

it('100 pods that become ready at once cost few writes', async () => {
  await api.create(resources.services, testService('web'));
  await clock.advance(100);
  const before = api.calls.length;
  for (let index = 0; index < 100; index++) await addPod(testPod(`p${index}`, { ip: `10.1.0.${index}` }));
  await clock.advance(100);
  await settle();
  expect(await shown()).toHaveLength(100);
  const writes = api.calls.slice(before).filter(({ resource }) => resource === 'endpointslices');
  expect(writes.length).toBeLessThan(8);
});

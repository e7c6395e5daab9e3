import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { GrpcError } from '../../grpc/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { type CsiNode, resources } from '../../kube-client/index.js';
import { Registry } from '../../metrics/index.js';
import { Timeline } from '../../timeline/index.js';
import { AllocatableUpdates, updatePeriodMs, updateSteps } from './allocatable-updates.js';
import { ApiCsiNode } from './api/index.js';
import { type CallCsi, createCsiMetrics } from './call.js';
import { type DriverPolicy, policyWithoutObject } from './driver-policy.js';
import { CsiDrivers } from './drivers.js';
import { CsiRegistration } from './registration.js';

describe('how often a driver is asked', () => {
  it.each<[string, number | undefined, number | undefined]>([
    ['never without a period', undefined, undefined],
    ['never with one of zero', 0, undefined],
    ['never with a negative one', -5, undefined],
    ['never with none that is a number', Number.NaN, undefined],
    ['as it says', 60, 60_000],
    ['not more often than the API allows', 1, 10_000],
    ['within what a timer can count', 1e12, 2e9],
  ])('%s', (_, period, expected) => expect(updatePeriodMs(period)).toBe(expected));
});

describe('the steps to the right timers', () => {
  type Periods = Record<string, number>;
  it.each<[string, { running?: Periods; registered?: string[]; periods?: Periods }, string[]]>([
    ['none', {}, []],
    ['start for a registered driver', { registered: ['a'], periods: { a: 20 } }, ['start a 20000']],
    ['not for one that is not registered', { periods: { a: 20 } }, []],
    ['not for one without a period', { registered: ['a'] }, []],
    ['leave what is right', { running: { a: 20_000 }, registered: ['a'], periods: { a: 20 } }, []],
    [
      'begin anew with another period',
      { running: { a: 20_000 }, registered: ['a'], periods: { a: 30 } },
      ['stop a', 'start a 30000'],
    ],
    ['stop when the period goes', { running: { a: 20_000 }, registered: ['a'] }, ['stop a']],
    ['stop when the driver goes', { running: { a: 20_000 }, periods: { a: 20 } }, ['stop a']],
  ])('%s', (_, { running = {}, registered = [], periods = {} }, expected) => {
    const now = new Map(Object.entries(running).map(([name, periodMs]) => [name, { periodMs }]));
    const { stop, start } = updateSteps(now, registered, (driver) => periods[driver]);
    expect([
      ...stop.map((name) => `stop ${name}`),
      ...start.map(({ driver, periodMs }) => `start ${driver} ${periodMs}`),
    ]).toEqual(expected);
  });
});

describe('the number of volumes in the CSINode', () => {
  const { signal } = new AbortController();
  const claim = { name: 'd', endpoint: '/d.sock', versions: ['1.0.0'] };
  let clock: VirtualClock;
  let api: SimulatedKubeApi;
  let registration: CsiRegistration;
  let policy: DriverPolicy;
  let info: { nodeId: string; maxVolumesPerNode: number } | GrpcError;
  let asked: number;
  let timeline: Timeline;
  let changed: () => void;

  const count = async (): Promise<number | undefined> => {
    const { spec }: CsiNode = await api.get(resources.csiNodes, { name: 'n' });
    return spec.drivers.find(({ name }) => name === 'd')?.allocatable?.count;
  };
  const period = (seconds: number | undefined): void => {
    policy = { ...policyWithoutObject, exists: true, nodeAllocatableUpdatePeriodSeconds: seconds };
    changed();
  };
  async function during<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const settled = work.finally(() => {
      isDone = true;
    });
    for (let turn = 0; turn < 100 && !isDone; turn++) await clock.advance(10);
    return settled;
  }

  beforeEach(async () => {
    clock = new VirtualClock();
    api = new SimulatedKubeApi({ clock });
    timeline = new Timeline({ clock });
    info = { nodeId: 'id', maxVolumesPerNode: 5 };
    asked = 0;
    policy = policyWithoutObject;
    changed = () => {};
    const call: CallCsi = async (_, method) => {
      asked++;
      if (info instanceof GrpcError) throw info;
      // Only NodeGetInfo is called here.
      return method.response.create(info as never);
    };
    await api.create(resources.nodes, { metadata: { name: 'n' }, spec: {} });
    const notice = new ApiCsiNode({ api, clock, timeline, nodeName: 'n' });
    const client = { clock, drivers: new CsiDrivers(), call, metrics: createCsiMetrics(new Registry()) };
    registration = new CsiRegistration({ ...client, notice });
    const policies = {
      synced: async () => {},
      get: () => policy,
      onChange: (listener: () => void) => {
        changed = listener;
        return () => {};
      },
    };
    const stop = new AbortController();
    const updates = new AllocatableUpdates({ clock, timeline, client, policies, notice });
    const running = Promise.all([notice.run(stop.signal), updates.run(stop.signal)]);
    await during(registration.register(claim, signal));
    return async () => {
      stop.abort();
      await running;
    };
  });

  it('follows the driver with the period of its object, and no longer', async () => {
    info = { nodeId: 'id', maxVolumesPerNode: 6 };
    await clock.advance(60_000);
    expect(await count()).toBe(5);
    period(10);
    await clock.advance(9_900);
    expect(await count()).toBe(5);
    await clock.advance(200);
    expect(await count()).toBe(6);
    const node = await api.get(resources.nodes, { name: 'n' });
    info = { nodeId: 'id', maxVolumesPerNode: 7 };
    period(undefined);
    asked = 0;
    await clock.advance(60_000);
    expect(asked).toBe(0);
    expect(await count()).toBe(6);
    expect((await api.get(resources.nodes, { name: 'n' })).metadata.resourceVersion).toBe(
      node.metadata.resourceVersion,
    );
  });

  it('is not asked for when the driver has gone, and again when it is back', async () => {
    period(10);
    await during(registration.deregister(claim, signal));
    asked = 0;
    await clock.advance(60_000);
    expect(asked).toBe(0);
    expect(await count()).toBeUndefined();
    await during(registration.register({ ...claim }, signal));
    asked = 0;
    await clock.advance(30_000);
    expect(asked).toBe(3);
  });

  it('is made anew with a CSINode that someone has deleted', async () => {
    period(10);
    await api.delete(resources.csiNodes, { name: 'n' });
    await clock.advance(11_000);
    expect(await count()).toBe(5);
  });

  it('is not written if it is the same', async () => {
    period(10);
    const { metadata } = await api.get(resources.csiNodes, { name: 'n' });
    await clock.advance(60_000);
    expect((await api.get(resources.csiNodes, { name: 'n' })).metadata.resourceVersion).toBe(
      metadata.resourceVersion,
    );
  });

  it('stays while the driver fails, which is told once', async () => {
    period(10);
    info = new GrpcError('Unavailable', 'down');
    await clock.advance(60_000);
    expect(await count()).toBe(5);
    const told = timeline.ofNode().filter(({ what }) => what === 'csi.node');
    expect(told).toHaveLength(1);
    info = { nodeId: 'id', maxVolumesPerNode: 8 };
    await clock.advance(11_000);
    expect(await count()).toBe(8);
  });
});

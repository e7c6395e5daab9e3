/** Holds the registration of CSI drivers against a simulated API and drivers that misbehave. */
import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { GrpcError } from '../../grpc/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { type CsiNode, resources } from '../../kube-client/index.js';
import { Registry } from '../../metrics/index.js';
import { Timeline } from '../../timeline/index.js';
import { ApiCsiNode } from './api/index.js';
import { type CallCsi, createCsiMetrics } from './call.js';
import { CsiDrivers } from './drivers.js';
import { CsiRegistration } from './registration.js';

const clock = new VirtualClock();
let api: SimulatedKubeApi;
let drivers: CsiDrivers;
let notice: ApiCsiNode;
let registration: CsiRegistration;
let stop: AbortController;
let running: Promise<void>;
/** What each socket answers to NodeGetInfo. */
let infos: Map<
  string,
  { nodeId: string; maxVolumesPerNode?: number; segments?: Record<string, string> } | GrpcError
>;

const call: CallCsi = async (endpoint, method) => {
  const info = infos.get(endpoint) ?? new GrpcError('Unavailable', 'no socket');
  if (info instanceof GrpcError) throw info;
  const { segments = {}, ...rest } = info;
  // Only NodeGetInfo is called here; each method creates its own response.
  return method.response.create({ ...rest, accessibleTopology: { segments } } as never);
};

const claim = (name: string, endpoint = `/${name}.sock`, versions = ['1.0.0']) => ({
  name,
  endpoint,
  versions,
});

/** Awaits work while virtual time goes on. */
async function during<T>(work: Promise<T>): Promise<T> {
  let done = false;
  const settled = work.finally(() => {
    done = true;
  });
  settled.catch(() => {});
  for (let turn = 0; turn < 200 && !done; turn++) await clock.advance(50);
  return settled;
}
const { signal } = new AbortController();
const register = (...given: Parameters<typeof claim>) =>
  during(registration.register(claim(...given), signal));
const csiNode = (): Promise<CsiNode> => api.get(resources.csiNodes, { name: 'n' });
const node = () => api.get(resources.nodes, { name: 'n' });
const nodeIds = async () => (await node()).metadata.annotations?.['csi.volume.kubernetes.io/nodeid'];

beforeEach(async () => {
  api = new SimulatedKubeApi({ clock });
  await api.create(resources.nodes, { metadata: { name: 'n' }, spec: {} });
  drivers = new CsiDrivers();
  infos = new Map();
  notice = new ApiCsiNode({ api, clock, timeline: new Timeline({ clock }), nodeName: 'n' });
  registration = new CsiRegistration({
    clock,
    drivers,
    call,
    metrics: createCsiMetrics(new Registry()),
    notice,
  });
  stop = new AbortController();
  running = Promise.resolve();
  return async () => {
    stop.abort();
    await running;
  };
});

const begin = (): void => {
  running = notice.run(stop.signal).catch(() => {});
};

describe('at the start', () => {
  it('the CSINode is made, with the node as its owner', async () => {
    begin();
    expect(notice.error).toBe('CSINode is not yet initialized');
    await clock.advance(1000);
    expect(notice.error).toBeUndefined();
    const { metadata, spec } = await csiNode();
    expect(metadata.ownerReferences).toEqual([
      { apiVersion: 'v1', kind: 'Node', name: 'n', uid: (await node()).metadata.uid },
    ]);
    expect(spec.drivers).toEqual([]);
  });

  it('one of an earlier node is replaced', async () => {
    await api.create(resources.csiNodes, {
      metadata: { name: 'n', ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'old' }] },
      spec: { drivers: [{ name: 'gone', nodeID: 'x' }] },
    });
    begin();
    await clock.advance(5000);
    expect(notice.error).toBeUndefined();
    expect((await csiNode()).spec.drivers).toEqual([]);
  });

  it('registrations wait until the node is known', async () => {
    await api.delete(resources.nodes, { name: 'n' });
    infos.set('/d.sock', { nodeId: 'id' });
    begin();
    const registering = registration.register(claim('d'), signal);
    await clock.advance(60_000);
    expect(notice.error).toBe('CSINode is not yet initialized');
    await api.create(resources.nodes, { metadata: { name: 'n' }, spec: {} });
    await during(registering);
    expect((await csiNode()).spec.drivers).toHaveLength(1);
  });

  it('nothing is written if nothing has changed since the run before', async () => {
    begin();
    infos.set('/d.sock', { nodeId: 'id', maxVolumesPerNode: 5, segments: { zone: 'z' } });
    await register('d');
    const before = [(await csiNode()).metadata.resourceVersion, (await node()).metadata.resourceVersion];
    const again = new ApiCsiNode({ api, clock, timeline: new Timeline({ clock }), nodeName: 'n' });
    await during(again.run(stop.signal));
    await during(again.install('d', { nodeId: 'id', maxVolumes: 5, topology: { zone: 'z' } }, signal));
    const after = [(await csiNode()).metadata.resourceVersion, (await node()).metadata.resourceVersion];
    expect(after).toEqual(before);
  });
});

describe('a driver', () => {
  beforeEach(begin);

  it('is told to the cluster', async () => {
    infos.set('/d.sock', { nodeId: 'id', maxVolumesPerNode: 5, segments: { zone: 'z', area: 'a' } });
    let ready = '';
    drivers.onReady((name) => {
      ready = name;
    });
    await register('d');
    expect(ready).toBe('d');
    expect(await nodeIds()).toBe('{"d":"id"}');
    expect((await node()).metadata.labels).toMatchObject({ zone: 'z', area: 'a' });
    expect((await csiNode()).spec.drivers).toEqual([
      { name: 'd', nodeID: 'id', topologyKeys: ['area', 'zone'], allocatable: { count: 5 } },
    ]);
  });

  it('is taken back when it goes, but for its labels; others stay', async () => {
    infos.set('/a.sock', { nodeId: '1' });
    infos.set('/b.sock', { nodeId: '2', segments: { zone: 'z' } });
    const [a, b] = [claim('a'), claim('b')];
    await during(Promise.all([registration.register(a, signal), registration.register(b, signal)]));
    await during(registration.deregister(b, signal));
    expect(await nodeIds()).toBe('{"a":"1"}');
    expect((await csiNode()).spec.drivers.map(({ name }) => name)).toEqual(['a']);
    expect((await node()).metadata.labels).toMatchObject({ zone: 'z' });
    await during(registration.deregister(a, signal));
    expect(await nodeIds()).toBeUndefined();
    expect((await csiNode()).spec.drivers).toEqual([]);
    expect(drivers.names()).toEqual([]);
  });

  it.each<[string, Parameters<typeof infos.set>[1], string]>([
    ['that cannot be asked', new GrpcError('Internal', 'broken'), 'rpc error: code = Internal desc = broken'],
    ['without a node id', { nodeId: '' }, 'driverNodeID must not be empty'],
    [
      'that contradicts a label',
      { nodeId: 'id', segments: { zone: 'other' } },
      'error updating Node object with CSI driver node info: error updating node: detected topology value collision: driver reported "zone":"other" but existing label is "zone":"z"',
    ],
  ])('%s leaves nothing behind', async (_, info, problem) => {
    await api.patch(
      resources.nodes,
      { name: 'n' },
      { type: 'merge', body: { metadata: { labels: { zone: 'z' } } } },
    );
    infos.set('/d.sock', info);
    await expect(register('d')).rejects.toThrow(`error adding CSI driver node info: ${problem}`);
    expect(drivers.names()).toEqual([]);
    expect((await csiNode()).spec.drivers).toEqual([]);
    expect(await nodeIds()).toBeUndefined();
  });

  it.each([
    [['1.0.0'], '"1.0.0"'],
    [['0.9.0', '1.0.0'], '"1.0.0"'],
  ])('of a name that is taken is refused with the versions %j', async (versions) => {
    infos.set('/d.sock', { nodeId: 'id' });
    await register('d');
    expect(registration.refusal(claim('d', '/other.sock', versions))).toBe(
      'validation failed for CSI Driver d at endpoint /other.sock: kubernetes.io/csi: ValidatePlugin for CSI driver "d" failed. Another driver with the same name is already registered with a higher supported version: "1.0.0"',
    );
    await expect(register('d', '/other.sock', versions)).rejects.toThrow(
      'RegisterPlugin for CSI driver "d" failed',
    );
    expect(drivers.get('d')?.endpoint).toBe('/d.sock');
  });

  it('of a name that is taken registers when the other has gone, and its entry comes last', async () => {
    for (const [socket, nodeId] of [
      ['/d.sock', 'old'],
      ['/x.sock', 'x'],
      ['/other.sock', 'new'],
    ] as const)
      infos.set(socket, { nodeId });
    const first = claim('d');
    await during(registration.register(first, signal));
    await register('x');
    await expect(register('d', '/other.sock')).rejects.toThrow('already registered');
    await during(registration.deregister(first, signal));
    await register('d', '/other.sock');
    expect((await csiNode()).spec.drivers.map(({ name, nodeID }) => [name, nodeID])).toEqual([
      ['x', 'x'],
      ['d', 'new'],
    ]);
  });

  it('that contradicts a label registers when the label has gone', async () => {
    const label = (zone: string | null) =>
      api.patch(resources.nodes, { name: 'n' }, { type: 'merge', body: { metadata: { labels: { zone } } } });
    infos.set('/d.sock', { nodeId: 'id', segments: { zone: 'z' } });
    await label('other');
    await expect(register('d')).rejects.toThrow('detected topology value collision');
    await label(null);
    await register('d');
    expect((await node()).metadata.labels).toMatchObject({ zone: 'z' });
  });

  it('is told to the node first, then to the CSINode, and is used after that', async () => {
    infos.set('/d.sock', { nodeId: 'id', segments: { zone: 'z' } });
    await clock.advance(1000);
    const before = api.calls.length;
    let writesWhenReady: string[] = [];
    const writes = (): string[] =>
      api.calls
        .slice(before)
        .filter(({ verb }) => verb !== 'get')
        .map(({ verb, resource }) => `${verb} ${resource}`);
    drivers.onReady(() => {
      writesWhenReady = writes();
    });
    await register('d');
    expect(writesWhenReady).toEqual(['patch nodes', 'update csinodes']);
  });

  it('of a higher version takes the name, and the older one cannot take it away', async () => {
    infos.set('/d.sock', { nodeId: 'id' });
    infos.set('/new.sock', { nodeId: 'new' });
    const old = claim('d');
    await during(registration.register(old, signal));
    await register('d', '/new.sock', ['1.1.0']);
    await during(registration.deregister(old, signal));
    expect(drivers.get('d')?.endpoint).toBe('/new.sock');
    expect((await csiNode()).spec.drivers.map(({ nodeID }) => nodeID)).toEqual(['new']);
  });

  it.each(['a b', '-a', 'a/b', `a${'b'.repeat(63)}`, '..', 'a_b'])('cannot be named %j', (name) => {
    expect(registration.refusal(claim(name))).toContain('is no name of a CSI driver');
  });

  it('is registered again where someone deleted the CSINode', async () => {
    infos.set('/d.sock', { nodeId: 'id' });
    await during(registration.register(claim('a'), signal)).catch(() => {});
    await api.delete(resources.csiNodes, { name: 'n' });
    await register('d');
    const { metadata, spec } = await csiNode();
    expect(spec.drivers).toHaveLength(1);
    expect(metadata.ownerReferences).toHaveLength(1);
  });
});

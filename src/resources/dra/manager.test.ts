/** Holds the dynamic resources of a node to what pods, drivers and the cluster may do to them. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settle } from '../../async/index.js';
import { GrpcError } from '../../grpc/index.js';
import { ApiError, resources } from '../../kube-client/index.js';
import { draLimits } from './limits.js';
import { draStateFile } from './manager.js';
import type { DriverBehaviour, SimulatedDriver } from './simulated-driver.js';
import { claimPod, DraWorld, rootDir } from './test-world.js';

let world: DraWorld;
beforeEach(async () => {
  world = new DraWorld();
  await world.start();
});
afterEach(async () => {
  await world.stop();
  // Nothing of a stopped node waits for anything.
  expect(world.clock.pendingTimers).toBe(0);
});

const a = claimPod('a', ['c']);
const b = claimPod('b', ['c']);
const operations = (driver: SimulatedDriver): string[] =>
  driver.calls.map(({ operation, claims }) => `${operation} ${claims.map(({ name }) => name).join(' ')}`);
const once = (behaviour: DriverBehaviour): (() => DriverBehaviour) => {
  let isUsed = false;
  return () => {
    const chosen: DriverBehaviour = isUsed ? { kind: 'done' } : behaviour;
    isUsed = true;
    return chosen;
  };
};
const sliceDeletions = (): (string | undefined)[] =>
  world.api.calls.filter(({ verb }) => verb === 'deleteCollection').map(({ name }) => name);
const savedPods = async (): Promise<string[]> => {
  const { Data } = JSON.parse(await world.stateFile());
  const list: { PodUIDs: object }[] = JSON.parse(Data).ClaimInfoStateList ?? [];
  return list.flatMap(({ PodUIDs }) => Object.keys(PodUIDs));
};

/** A driver that is registered and connected. */
async function ready(name = 'd'): Promise<SimulatedDriver> {
  const driver = world.driver(name);
  await world.register(name);
  return driver;
}

describe('drivers', () => {
  it('are refused with the texts of their versions', () => {
    const refusal = (versions: string[]) =>
      world.registration.refusal({ name: 'd', endpoint: '/d.sock', versions });
    expect(refusal([])).toBe(
      'invalid supported gRPC versions of DRA driver plugin d at endpoint /d.sock: empty list of supported gRPC services (aka supported versions)',
    );
    expect(refusal(['1.0.0'])).toMatch(/^invalid supported gRPC versions .* none of services supported/);
    expect(refusal(['v1.DRAPlugin'])).toBeUndefined();
  });

  it('are registered while nobody listens; their slices go 30 s later', async () => {
    await world.register('d');
    await world.clock.advance(29_000);
    expect(sliceDeletions()).toEqual(['spec.nodeName=n1']);
    await world.clock.advance(1_500);
    expect(sliceDeletions()).toEqual(['spec.nodeName=n1', 'spec.driver=d,spec.nodeName=n1']);
  });

  it('that come back within 20 s keep their slices', async () => {
    const driver = await ready();
    driver.die();
    await world.clock.advance(15_000);
    driver.revive();
    await world.clock.advance(60_000);
    expect(sliceDeletions()).toHaveLength(1);
    expect(world.manager.drivers.isConnected('d')).toBe(true);
  });

  it('that are away for longer lose them once', async () => {
    const driver = await ready();
    driver.die();
    await world.clock.advance(40_000);
    driver.revive();
    await world.clock.advance(120_000);
    expect(sliceDeletions()).toHaveLength(2);
  });

  it('keep them if one of their endpoints is connected, and the newest connected one is called', async () => {
    const old = world.driver('d', '/old.sock');
    const next = world.driver('d', '/new.sock');
    await world.register('d', { endpoint: '/old.sock' });
    await world.register('d', { endpoint: '/new.sock' });
    await world.claim('c', ['d'], [a, b]);
    next.die();
    await world.clock.advance(40_000);
    expect(sliceDeletions()).toHaveLength(1);
    await world.prepare(a);
    expect([old.calls.length, next.calls.length]).toEqual([1, 0]);
  });

  it('are called by the first of their versions that is known', async () => {
    const driver = world.driver('d');
    await world.register('d', { versions: ['v1beta1.DRAPlugin', 'v1.DRAPlugin'] });
    await world.claim('c', ['d'], [a]);
    await world.prepare(a);
    expect(driver.calls.map(({ path }) => path)).toEqual([
      '/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources',
    ]);
  });

  it('may not register an endpoint twice', async () => {
    await ready();
    await expect(world.register('d')).rejects.toThrow(
      'endpoint /d.sock already registered for DRA driver plugin d',
    );
  });

  it('may have a few endpoints', async () => {
    for (let index = 0; index < draLimits.endpoints; index++)
      await world.register('d', { endpoint: `/${index}` });
    await expect(world.register('d')).rejects.toThrow('has 8 endpoints already');
  });

  it('that have gone are forgotten, unless another registration holds the endpoint', async () => {
    world.driver('d');
    const first = await world.register('d');
    await world.registration.deregister({ ...first });
    expect(world.manager.drivers.isRegistered('d')).toBe(true);
    await world.registration.deregister(first);
    expect(world.manager.drivers.isRegistered('d')).toBe(false);
  });

  it('whose slices the API keeps are given up after nine attempts', async () => {
    const error = new ApiError({ code: 403, reason: 'Forbidden', message: 'no' });
    world.api.faults.add({ verb: 'deleteCollection', fault: { kind: 'refuse', error }, times: 1000 });
    await world.register('d');
    await world.clock.advance(3_600_000);
    expect(sliceDeletions().filter((name) => name?.includes('driver'))).toHaveLength(9);
  });

  it('leaves slices of other nodes alone', async () => {
    const spec = { driver: 'd', pool: { name: 'p', generation: 1, resourceSliceCount: 1 } };
    await world.api.create(resources.resourceSlices, {
      metadata: { name: 'own' },
      spec: { ...spec, nodeName: 'n1' },
    });
    await world.api.create(resources.resourceSlices, {
      metadata: { name: 'other' },
      spec: { ...spec, nodeName: 'n2' },
    });
    await world.api.create(resources.resourceSlices, { metadata: { name: 'network' }, spec });
    await world.stop();
    await world.start();
    await world.clock.advance(100);
    const { items } = await world.api.list(resources.resourceSlices);
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(['network', 'other']);
  });
});

describe('preparing', () => {
  it('calls the driver once, and has the devices on disk', async () => {
    const driver = await ready();
    const uid = await world.claim('c', ['d'], [a]);
    const writes = (): number =>
      world.machine.calls.filter(
        ({ operation, path }) => operation === 'rename' && path.includes(draStateFile),
      ).length;
    const before = writes();
    let writesAtCall = 0;
    driver.behave = () => {
      writesAtCall = writes() - before;
      return { kind: 'done' };
    };
    await world.prepare(a);
    // The pod's reference is on disk before the driver does anything.
    expect([writesAtCall, writes() - before]).toEqual([1, 2]);
    expect(operations(driver)).toEqual(['prepare c']);
    expect(driver.calls[0]?.claims).toEqual([{ namespace: 'default', uid, name: 'c' }]);
    await world.prepare(a);
    expect(operations(driver)).toEqual(['prepare c']);
    expect(await world.cdi(a)).toEqual([`d/test=${uid}`]);
    expect(await savedPods()).toEqual(['uid-a']);
    expect(await world.stateFile()).toContain(`d/test=${uid}`);
    expect(world.registry.text()).toContain('dra_resource_claims_in_use{driver_name="<any>"} 1');
  });

  it('calls each driver once for all its claims', async () => {
    const one = await ready('one');
    const two = await ready('two');
    const pod = claimPod('p', ['x', 'y', 'z']);
    await world.claim('x', ['one'], [pod]);
    await world.claim('y', ['two'], [pod]);
    await world.claim('z', ['one'], [pod]);
    await world.prepare(pod);
    expect([operations(one), operations(two)]).toEqual([['prepare x z'], ['prepare y']]);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    [
      'is not there',
      async () => undefined,
      'fetch ResourceClaim c: resourceclaims.resource.k8s.io "c" not found',
    ],
    [
      'is reserved for others',
      () => world.claim('c', ['d'], [b]),
      'pod a (uid-a) is not allowed to use ResourceClaim c',
    ],
    [
      'needs a driver that is not there',
      () => world.claim('c', ['none'], [a]),
      'DRA driver none is not registered',
    ],
    ['names no driver', () => world.claim('c', [''], [a]), 'DRA driver name is empty'],
    [
      'is not allocated',
      () =>
        world.api.create(resources.resourceClaims, {
          metadata: { name: 'c', namespace: 'default' },
          status: { reservedFor: [{ resource: 'pods', name: 'a', uid: 'uid-a' }] },
        }),
      'ResourceClaim c: not allocated',
    ],
  ])('changes nothing if a claim %s', async (_rule, make, problem) => {
    const driver = await ready();
    await make();
    await expect(world.prepare(a)).rejects.toThrow(`prepare dynamic resources: ${problem}`);
    expect([driver.calls.length, await savedPods()]).toEqual([0, []]);
  });

  it('changes nothing while a claim of a template is not made', async () => {
    const driver = await ready();
    const pod = claimPod('t', [], { resourceClaims: [{ name: 'g', resourceClaimTemplateName: 'x' }] });
    await expect(world.prepare(pod)).rejects.toThrow(
      'prepare dynamic resources: pod "default/t": ResourceClaim not created yet',
    );
    expect([driver.calls.length, await savedPods()]).toEqual([0, []]);
  });

  it('keeps the reference if the driver refuses the claim', async () => {
    const driver = await ready();
    const uid = await world.claim('c', ['d'], [a]);
    driver.behave = once({
      kind: 'answer',
      response: { claims: { [uid]: { devices: [], error: 'broken' } } },
    });
    await expect(world.prepare(a)).rejects.toThrow(
      'prepare dynamic resources: NodePrepareResources failed for ResourceClaim c: broken',
    );
    expect(await savedPods()).toEqual(['uid-a']);
  });

  it.each<[string, DriverBehaviour, string]>([
    [
      'leaves the claim out',
      { kind: 'answer', response: { claims: {} } },
      'NodePrepareResources skipped 1 ResourceClaims',
    ],
    [
      'fails',
      { kind: 'fail', error: new GrpcError('Internal', 'broken') },
      'NodePrepareResources: rpc error: code = Internal desc = broken',
    ],
    [
      'hangs',
      { kind: 'hang' },
      'NodePrepareResources: rpc error: code = DeadlineExceeded desc = context deadline exceeded',
    ],
    ['dies', { kind: 'die' }, 'NodePrepareResources: rpc error: code = Unavailable'],
  ])('keeps the reference if the driver %s, and succeeds later', async (_rule, behaviour, problem) => {
    const driver = await ready();
    await world.claim('c', ['d'], [a]);
    driver.behave = once(behaviour);
    await expect(world.prepare(a)).rejects.toThrow(`prepare dynamic resources: ${problem}`);
    expect(await savedPods()).toEqual(['uid-a']);
    driver.revive();
    await world.prepare(a);
    expect(operations(driver)).toEqual(['prepare c', 'prepare c']);
    await world.unprepare(a);
    expect([driver.prepared.size, await savedPods()]).toEqual([0, []]);
  });

  it('measures calls by their outcome', async () => {
    const driver = await ready();
    await world.claim('c', ['d'], [a]);
    driver.behave = once({ kind: 'hang' });
    await expect(world.prepare(a)).rejects.toThrow('DeadlineExceeded');
    expect(world.clock.monotonic()).toBe(45_000);
    await world.prepare(a);
    const text = world.registry.text();
    const labels = (code: string): string =>
      `dra_grpc_operations_duration_seconds_count{driver_name="d",method_name="/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources",grpc_status_code="${code}"} 1`;
    expect(text).toContain(labels('DeadlineExceeded'));
    expect(text).toContain(labels('OK'));
    expect(text).toContain(
      'dra_operations_duration_seconds_count{operation_name="PrepareResources",is_error="true"} 1',
    );
  });

  it('after a failure calls all drivers again, and doubles no device', async () => {
    const one = await ready('one');
    const two = await ready('two');
    const uid = await world.claim('c', ['one', 'two'], [a]);
    two.behave = once({ kind: 'fail', error: new GrpcError('Internal', 'x') });
    await expect(world.prepare(a)).rejects.toThrow('Internal');
    await world.prepare(a);
    expect([one.calls.length, two.calls.length]).toEqual([2, 2]);
    expect(await world.cdi(a)).toEqual([`one/test=${uid}`, `two/test=${uid}`]);
  });

  it('is done once for two pods of one claim, also at the same time', async () => {
    const driver = await ready();
    await world.claim('c', ['d'], [a, b]);
    await Promise.all([world.prepare(a), world.prepare(b)]);
    expect(operations(driver)).toEqual(['prepare c']);
    await world.unprepare(a);
    expect(operations(driver)).toEqual(['prepare c']);
    await world.unprepare(b);
    expect(operations(driver)).toEqual(['prepare c', 'unprepare c']);
  });

  it('by a driver that hangs delays nobody else', async () => {
    const slow = await ready('slow');
    const quick = await ready('quick');
    const both = claimPod('both', ['x', 'y']);
    const one = claimPod('one', ['x']);
    await world.claim('x', ['quick'], [both, one]);
    await world.claim('y', ['slow'], [both]);
    slow.behave = () => ({ kind: 'hang' });
    const held = world.manager.prepare(both, new AbortController().signal);
    held.catch(() => undefined);
    await settle();
    world.active.set('uid-one', one);
    await world.manager.prepare(one, new AbortController().signal);
    expect(world.clock.monotonic()).toBe(0);
    expect(quick.calls.length).toBeGreaterThan(0);
    await expect(world.during(held)).rejects.toThrow('DeadlineExceeded');
  });

  it('tells no pod of a claim with the same name that was there before', async () => {
    await ready();
    const old = await world.claim('c', ['d'], [a]);
    await world.prepare(a);
    await world.api.delete(resources.resourceClaims, { namespace: 'default', name: 'c' });
    await world.claim('c', ['d'], [b]);
    await expect(world.prepare(b)).rejects.toThrow(
      `old ResourceClaim with same name c and different UID ${old} still exists (previous pod force-deleted?!)`,
    );
  });

  it('of a claim made from a template needs its owner', async () => {
    await ready();
    const pod = {
      ...claimPod('t', [], { resourceClaims: [{ name: 'g', resourceClaimTemplateName: 'x' }] }),
      status: { resourceClaimStatuses: [{ name: 'g', resourceClaimName: 'c' }] },
    };
    await world.claim('c', ['d'], [pod], a);
    await expect(world.prepare(pod)).rejects.toThrow('(Pod is not owner)');
  });

  it('calls nobody where the driver wants no calls', async () => {
    await world.stop();
    await world.start({ rules: { allowsSkipping: true, acceptsPodGroups: false } });
    await world.claim(
      'c',
      [{ request: 'r', driver: 'd', pool: 'p', device: 'x', skipNodeOperations: ['*'] }],
      [a],
    );
    await world.prepare(a);
    await world.unprepare(a);
    const text = world.registry.text();
    expect(text).toContain('dra_node_prepare_skips_total{driver_name="d"} 1');
    expect(text).toContain('dra_node_unprepare_skips_total{driver_name="d"} 1');
  });

  it('takes admin access as any other', async () => {
    const driver = await ready();
    await world.claim('c', [{ request: 'r', driver: 'd', pool: 'p', device: 'x', adminAccess: true }], [a]);
    await world.prepare(a);
    expect(operations(driver)).toEqual(['prepare c']);
  });

  it('syncs pods that wait for a driver when it is there', async () => {
    await world.claim('c', ['d'], [a]);
    await expect(world.prepare(a)).rejects.toThrow('not registered');
    expect([...world.manager.waiting()]).toEqual([['uid-a', 'd']]);
    await ready();
    expect(world.synced).toEqual(['uid-a']);
  });
});

describe('unpreparing', () => {
  it('that fails keeps the claim from others until it succeeds', async () => {
    const driver = await ready();
    await world.claim('c', ['d'], [a, b]);
    await world.prepare(a);
    driver.behave = once({ kind: 'fail', error: new GrpcError('Internal', 'busy') });
    await expect(world.unprepare(a)).rejects.toThrow(
      'unprepare dynamic resources: NodeUnprepareResources: rpc error: code = Internal desc = busy',
    );
    expect(world.manager.holds('uid-a')).toBe(true);
    await expect(world.prepare(b)).rejects.toThrow('ResourceClaim c is being unprepared');
    await world.unprepare(a);
    expect(world.manager.holds('uid-a')).toBe(false);
    await world.prepare(b);
    expect(operations(driver)).toEqual(['prepare c', 'unprepare c', 'unprepare c', 'prepare c']);
  });

  it('without its driver waits for it', async () => {
    world.driver('d');
    const plugin = await world.register('d');
    await world.claim('c', ['d'], [a]);
    await world.prepare(a);
    await world.registration.deregister(plugin);
    await expect(world.unprepare(a)).rejects.toThrow('DRA driver d is not registered');
    await world.register('d');
    await world.unprepare(a);
  });

  it('waits for a call that still prepares the claim', async () => {
    const driver = await ready();
    await world.claim('c', ['d'], [a]);
    driver.behave = once({ kind: 'hang', withEffect: true });
    const stopped = new AbortController();
    const preparing = world.manager.prepare(a, stopped.signal);
    await settle();
    stopped.abort();
    await expect(preparing).rejects.toThrow('canceled');
    const unpreparing = world.manager.unprepare(a, new AbortController().signal);
    await settle();
    expect(operations(driver)).toEqual(['prepare c']);
    await world.during(unpreparing);
    expect(operations(driver)).toEqual(['prepare c', 'unprepare c']);
    expect(driver.prepared.size).toBe(0);
  });

  it('of a pod that used nothing asks nobody', async () => {
    const driver = await ready();
    await world.unprepare(claimPod('p', ['unknown']));
    expect(driver.calls).toEqual([]);
  });
});

describe('after a restart', () => {
  const restart = async (): Promise<void> => {
    await world.stop();
    await world.start();
  };

  it('running pods keep their devices without a call, and a second pod has them prepared again', async () => {
    const driver = await ready();
    const uid = await world.claim('c', ['d'], [a, b]);
    await world.prepare(a);
    await restart();
    expect(world.registry.text()).toContain('dra_resource_claims_in_use{driver_name="<any>"} 0');
    expect(await world.cdi(a)).toEqual([`d/test=${uid}`]);
    await world.register('d');
    await world.clock.advance(120_000);
    expect(operations(driver)).toEqual(['prepare c']);
    await world.prepare(b);
    expect(operations(driver)).toEqual(['prepare c', 'prepare c']);
  });

  it('claims of pods that have gone meanwhile are given back once all sources are ready', async () => {
    const driver = await ready();
    await world.claim('c', ['d'], [a]);
    await world.prepare(a);
    await world.stop();
    world.active.clear();
    world.areSourcesReady = false;
    await world.start();
    await world.register('d');
    await world.clock.advance(300_000);
    expect(driver.prepared.size).toBe(1);
    world.areSourcesReady = true;
    await world.clock.advance(60_000);
    expect(driver.prepared.size).toBe(0);
  });

  it('the first file has no list, and later ones an empty one', async () => {
    expect(JSON.parse(await world.stateFile()).Checksum).toBe(4010664294);
    await ready();
    await world.claim('c', ['d'], [a]);
    await world.prepare(a);
    await world.unprepare(a);
    expect(JSON.parse(await world.stateFile()).Checksum).toBe(2361995144);
    await restart();
    expect(JSON.parse(await world.stateFile()).Checksum).toBe(2361995144);
  });

  const damage = async (change: (text: string) => string): Promise<void> => {
    await world.stop();
    const text = await world.stateFile();
    await world.machine.files.writeFile(`${rootDir}/${draStateFile}`, change(text));
    await world.start();
    await world.register('d');
  };

  it('a file with a wrong sum is set aside, and what it tells is kept', async () => {
    const driver = await ready();
    const uid = await world.claim('c', ['d'], [a]);
    await world.prepare(a);
    await damage((text) => text.replace(/"Checksum":\d/, '"Checksum":'));
    expect(world.setAside).toEqual(['its checksum is wrong']);
    expect(await world.cdi(a)).toEqual([`d/test=${uid}`]);
    await world.unprepare(a);
    expect(driver.prepared.size).toBe(0);
  });

  it('an unreadable file is set aside: containers have their devices prepared again, and nothing leaks', async () => {
    const driver = await ready();
    const uid = await world.claim('c', ['d'], [a, b]);
    await world.prepare(a);
    await world.prepare(b);
    await damage((text) => text.slice(0, 40));
    const events = world.timeline.ofNode().flatMap(({ event }) => event?.reason ?? []);
    expect(events).toContain('DynamicResourcesStateRebuilt');
    await world.unprepare(a);
    expect(driver.prepared.size).toBe(1);
    expect(await world.cdi(b)).toEqual([`d/test=${uid}`]);
    await world.unprepare(b);
    expect(driver.prepared.size).toBe(0);
  });

  it('a container of a pod whose claims are lost gets its devices', async () => {
    await ready();
    const uid = await world.claim('c', ['d'], [a]);
    await world.prepare(a);
    await damage(() => 'x');
    expect(await world.cdi(a)).toEqual([`d/test=${uid}`]);
  });
});

describe('health', () => {
  const device = (health: 0 | 1 | 2, message = '') => ({
    device: { poolName: 'pool', deviceName: 'x' },
    health,
    lastUpdatedTime: 0,
    healthCheckTimeoutSeconds: 0,
    message,
  });
  const shown = (): unknown => world.manager.health(a, a.spec.containers[0] as never)[0]?.resources?.[0];
  const watched = async (versions = ['v1.DRAPlugin', 'v1.DRAResourceHealth']): Promise<SimulatedDriver> => {
    const driver = world.driver('d');
    driver.devices = () => [{ requestNames: [], poolName: 'pool', deviceName: 'x', cdiDeviceIds: ['v/c=x'] }];
    await world.register('d', { versions });
    await world.claim('c', ['d'], [a]);
    await world.prepare(a);
    return driver;
  };

  it('is not watched if the driver does not offer it', async () => {
    const driver = await watched(['v1.DRAPlugin']);
    expect(driver.streams).toBe(0);
  });

  it('shows in the status of the pod, and the pod is synced', async () => {
    const driver = await watched();
    driver.report([device(2, 'too hot')]);
    await settle();
    expect(shown()).toEqual({ resourceID: 'v/c=x', health: 'Unhealthy', message: 'too hot' });
    expect(world.synced).toEqual(['uid-a']);
    await world.clock.advance(31_000);
    expect(shown()).toEqual({ resourceID: 'v/c=x', health: 'Unknown' });
  });

  it('is not known when the driver stops, and no pod is synced for that', async () => {
    const driver = await watched();
    driver.report([device(1)]);
    await settle();
    expect(shown()).toEqual({ resourceID: 'v/c=x', health: 'Healthy' });
    world.synced.length = 0;
    driver.die();
    await settle();
    expect([shown(), world.synced]).toEqual([{ resourceID: 'v/c=x', health: 'Unknown' }, []]);
  });

  it('survives a restart until its time is over', async () => {
    const driver = await watched();
    driver.report([device(1)]);
    await settle();
    const text = new TextDecoder().decode(await world.machine.files.readFile(`${rootDir}/dra_health_state`));
    await world.stop();
    await world.machine.files.writeFile(`${rootDir}/dra_health_state`, text);
    await world.start();
    expect(shown()).toMatchObject({ health: 'Healthy' });
  });

  it('is asked for again after 5 s, unless the driver has no such service', async () => {
    const driver = await watched();
    driver.report([device(1)]);
    driver.endStreams(new GrpcError('Internal', 'x'));
    await settle();
    expect([driver.streams, shown()]).toEqual([0, { resourceID: 'v/c=x', health: 'Unknown' }]);
    await world.clock.advance(5_000);
    expect(driver.streams).toBe(1);
    driver.endStreams(new GrpcError('Unimplemented', 'x'));
    await world.clock.advance(60_000);
    expect(driver.streams).toBe(0);
  });
});

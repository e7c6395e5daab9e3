/** A whole kubelet with device plugins: who gets which device, who waits, and what crashes of either side leave behind. */
import { afterEach, describe, expect, it } from 'vitest';
import { SimulatedMachine } from '../../src/host/index.js';
import type { Container, Pod } from '../../src/kube/index.js';
import {
  TestPlugin,
  type TestPluginOptions,
  TestPluginSockets,
  testDirectory,
} from '../../src/resources/device-manager/test-plugins.js';
import { explainPod } from '../../src/timeline/index.js';
import { Machine } from './machine.js';
import { endNodes, hostFacts, second } from './node.js';
import { apiPod } from './pods.js';
import { Outside, rootDir, startVolumeNode, type VolumeNodeOptions, volumePath } from './volume-node.js';

afterEach(endNodes);

const resource = 'example.com/resource';

interface DeviceNodeOptions extends VolumeNodeOptions {
  readonly sockets?: TestPluginSockets;
  readonly waitMs?: number;
}

async function start(options: DeviceNodeOptions = {}) {
  const sockets = options.sockets ?? new TestPluginSockets();
  const files = options.files ?? new SimulatedMachine();
  const machine = options.machine ?? new Machine();
  const { open, serve } = sockets;
  const devicePlugins = { directory: testDirectory, waitMs: options.waitMs ?? 60 * second, open, serve };
  const started = await startVolumeNode({
    ...options,
    files,
    machine,
    kubelet: { ...options.kubelet, devicePlugins },
  });
  await started.node.advance(second);
  return { ...started, files, machine, sockets };
}

async function plugged(options: TestPluginOptions = {}, node: DeviceNodeOptions = {}) {
  const started = await start(node);
  const plugin = new TestPlugin(started.sockets, 'dp.sock', options);
  await plugin.register();
  await started.node.advance(second);
  return { ...started, plugin };
}

function wanting(name: string, count = 1, change: Partial<Container> = {}): Pod {
  const limits = { [resource]: String(count) };
  const container = { name: 'app', image: 'app:1', resources: { limits, requests: limits }, ...change };
  return apiPod(name, { containers: [container] });
}

const plain = (name: string): Pod => apiPod(name, { containers: [{ name: 'app', image: 'app:1' }] });

describe('devices of a plugin', () => {
  it('go to one pod each; who comes too late is refused', async () => {
    const { node, machine } = await plugged();
    node.put(wanting('a'));
    node.put(wanting('b'));
    await node.untilReady('a');
    await node.untilReady('b');
    expect([machine.usersOf('/tmp/Dev-1'), machine.usersOf('/tmp/Dev-2')]).toEqual([['a/app'], ['b/app']]);
    node.put(wanting('c', 2));
    await node.until('it is refused', () => node.status('c')?.phase === 'Failed');
    expect(node.status('c')).toMatchObject({
      reason: 'UnexpectedAdmissionError',
      message: `Pod was rejected: Allocate failed due to requested number of devices unavailable for ${resource}. Requested: 2, Available: 0, which is unexpected`,
    });
  });

  it('hold up nobody else while the plugin hangs', async () => {
    const { node, plugin } = await plugged();
    plugin.hanging.add('allocate');
    node.put(wanting('a'));
    await node.advance(second);
    node.put(plain('b'));
    await node.untilReady('b');
    expect(node.status('a')?.phase).not.toBe('Failed');
    await node.until('its time is over', () => node.status('a')?.phase === 'Failed');
    expect(node.status('a')?.message).toContain('code = DeadlineExceeded');
  });

  it('show their health in the status of their pod', async () => {
    const { node, plugin } = await plugged();
    node.put(wanting('a'));
    await node.untilReady('a');
    const health = () => node.status('a')?.containerStatuses?.[0]?.allocatedResourcesStatus;
    expect(health()).toEqual([{ name: resource, resources: [{ resourceID: 'Dev-1', health: 'Healthy' }] }]);
    plugin.report([{ id: 'Dev-1', health: 'Unhealthy' }, { id: 'Dev-2' }]);
    await node.until('it is told', () => health()?.[0]?.resources?.[0]?.health === 'Unhealthy');
  });

  it('stay as they are while the pod is resized, also without the plugin', async () => {
    const { node, plugin } = await plugged();
    const asking = (cpu: string, generation: number): Pod => {
      const limits = { [resource]: '1' };
      const pod = wanting('a', 1, { resources: { limits, requests: { ...limits, cpu } } });
      return { ...pod, metadata: { ...pod.metadata, generation } };
    };
    node.put(asking('1', 1));
    await node.untilReady('a');
    plugin.kill();
    await node.advance(second);
    const before = [...plugin.calls];
    node.put(asking('1500m', 2));
    await node.until('it is resized', () => node.reasons('a').includes('ResizeCompleted'));
    expect(node.status('a')?.phase).toBe('Running');
    expect(plugin.calls).toEqual(before);
  });

  it('are shown by describe', async () => {
    const { node } = await plugged();
    node.put(wanting('a'));
    await node.untilReady('a');
    const { holdings } = (await node.kubelet.describeNode()) ?? {};
    expect(holdings?.holders.items).toMatchObject([
      { name: 'a', container: 'app', devices: [{ resource, ids: ['Dev-1'] }] },
    ]);
  });

  it('go to the next pod when theirs is gone', async () => {
    const { node, machine } = await plugged({ devices: [{ id: 'Dev-1' }] });
    node.put(wanting('a'));
    await node.untilReady('a');
    node.drop('a');
    await node.untilStopped('a');
    node.put(wanting('b'));
    await node.untilReady('b');
    expect(machine.usersOf('/tmp/Dev-1')).toEqual(['b/app']);
  });
});

it('the health of the kubelet tells when plugins cannot connect', async () => {
  const { node, sockets } = await start();
  const health = (): string | undefined =>
    node.kubelet.healthChecks.find(({ name }) => name === 'device-plugin')?.check();
  expect(health()).toBeUndefined();
  sockets.failure = new Error('accept ENOMEM');
  expect(health()).toMatch(/^device registration error: .* no device plugins can register: accept ENOMEM$/);
});

it('the directories of plugins get the label of containers where the machine has SELinux', async () => {
  const labels: Record<string, string> = {};
  await start({
    kubelet: {
      host: { ...hostFacts, isSelinuxEnabled: true },
      labelFile: async (path, label) => {
        labels[path] = label;
      },
    },
  });
  const label = 'system_u:object_r:container_file_t:s0';
  expect(labels).toEqual({
    [`${rootDir}/plugins`]: label,
    [`${rootDir}/plugins_registry`]: label,
    [testDirectory]: label,
  });
});

describe('devices near NUMA nodes', () => {
  type NumaPolicy = 'restricted' | 'single-numa-node';
  async function near(topologyManagerPolicy: NumaPolicy, devices: NonNullable<TestPluginOptions['devices']>) {
    const files = new SimulatedMachine();
    const outside = new Outside(files);
    for (const node of [0, 1]) {
      const directory = `/sys/devices/system/node/node${node}`;
      await outside.makeDirectory(`${directory}/cpu${node}/topology`);
      await outside.write(`${directory}/cpu${node}/topology/core_id`, `${node}\n`);
      await outside.write(`${directory}/cpu${node}/topology/physical_package_id`, `${node}\n`);
      await outside.write(`${directory}/meminfo`, `Node ${node} MemTotal: 1048576 kB\n`);
    }
    return plugged({ devices }, { files, kubelet: { config: { topologyManagerPolicy } } });
  }
  const each = [
    { id: 'a', nodes: [0] },
    { id: 'b', nodes: [1] },
  ];
  const anywhere = [{ id: 'a' }, { id: 'b' }];
  it.each<[string, NumaPolicy, NonNullable<TestPluginOptions['devices']>, number, string]>([
    ['one of two nodes', 'single-numa-node', each, 1, 'Running'],
    ['two of two nodes', 'single-numa-node', each, 2, 'TopologyAffinityError'],
    ['more than there are', 'restricted', each, 3, 'TopologyAffinityError'],
    ['two that are near no node', 'single-numa-node', anywhere, 2, 'Running'],
  ])('%s with policy %s', async (_, policy, devices, count, expected) => {
    const { node } = await near(policy, devices);
    node.put(wanting('p', count));
    const outcome = (): string | undefined => node.status('p')?.reason ?? node.status('p')?.phase;
    await node.until('it is judged', () => outcome() === expected);
  });
});

describe('a plugin of the directory of plugins', () => {
  const refused = 'RegisterPlugin error -- plugin validation failed with err: ';
  it.each([
    [resource, 'v1beta1', ''],
    [
      resource,
      'v1alpha1',
      `${refused}manager version, v1beta1, is not among plugin supported versions [v1alpha1]`,
    ],
    ['cpu', 'v1beta1', `${refused}invalid name of device plugin socket: the ResourceName "cpu" is invalid`],
  ])('of %s with %s', async (name, version, problem) => {
    const told: string[] = [];
    const files = new SimulatedMachine();
    const { node, sockets, machine } = await start({
      files,
      kubelet: {
        openPluginSocket: () => ({
          info: async () => ({ type: 'DevicePlugin', name, endpoint, supportedVersions: [version] }),
          notify: async ({ error }) => void told.push(error),
          close: () => {},
        }),
      },
    });
    const { path: endpoint } = new TestPlugin(sockets, 'dp.sock');
    files.makeSpecialFile(`${rootDir}/plugins_registry/dp-reg.sock`, 'socket');
    await node.until('it is told', () => told.length > 0);
    expect(told).toEqual([problem]);
    if (problem !== '') return;
    await node.advance(second);
    node.put(wanting('a'));
    await node.untilReady('a');
    expect(machine.usersOf('/tmp/Dev-1')).toEqual(['a/app']);
  });
});

describe('a pod whose plugin has not registered yet', () => {
  async function rebooted(waitMs?: number) {
    const first = await plugged();
    await first.node.stop();
    return start({ ...first, ...(waitMs === undefined ? {} : { waitMs }) });
  }

  it('waits while others start, says so, and starts with the plugin', async () => {
    const { node, sockets } = await rebooted();
    node.put(wanting('a'));
    node.put(plain('b'));
    await node.untilReady('b');
    expect(node.machine.running('a')).toEqual([]);
    const { timeline } = node.kubelet;
    const explained = explainPod(timeline.ofPod('uid-of-a'), timeline.ofNode(), node.machine.time.now());
    expect(explained.waitsFor[0]).toMatch(
      /^the device plugin of example\.com\/resource to register; it is refused in \d+s/,
    );
    expect(node.entries.map(({ what }) => what)).toContain('event.WaitingForDevicePlugin');
    await sockets.plugins.get(`${testDirectory}/dp.sock`)?.register();
    await node.untilReady('a');
  });

  it('is refused when its time is over, and at once where nobody is to wait', async () => {
    const patient = await rebooted();
    patient.node.put(wanting('a'));
    await patient.node.advance(50 * second);
    expect(patient.node.status('a')?.phase).not.toBe('Failed');
    await patient.node.advance(11 * second);
    expect(patient.node.status('a')?.phase).toBe('Failed');
    const { node } = await rebooted(0);
    node.put(wanting('a'));
    await node.advance(second);
    expect(node.status('a')?.message).toContain('no healthy devices present');
  });

  describe('and that ran before the agent started', () => {
    const volumes = [{ name: 'scratch', emptyDir: {} }];
    const volumeMounts = [{ name: 'scratch', mountPath: '/scratch' }];
    const pod = wanting('a', 1, { volumeMounts });
    const writer: Pod = { ...pod, spec: { ...pod.spec, volumes } };
    const written = `${volumePath(writer, 'empty-dir', 'scratch')}/written`;

    async function ranBefore() {
      const first = await plugged();
      first.node.put(writer);
      await first.node.untilReady('a');
      await new Outside(first.files).write(written, 'before');
      await first.node.stop();
      return first;
    }

    it.each(['while the agent is down', 'while the pod waits'])(
      'goes on where it was when its container dies %s',
      async (when) => {
        const first = await ranBefore();
        const kill = (): void => first.machine.exitContainer(first.machine.running('a')[0]!.id, 1);
        if (when === 'while the agent is down') kill();
        const { node, sockets, files } = await start(first);
        // Once all sources have spoken, a container that runs is no proof that the pod has its devices.
        node.set([]);
        await node.advance(100);
        node.put(writer);
        await node.advance(second);
        expect(node.recorded('device.wait', 'a')).toHaveLength(1);
        if (when === 'while the pod waits') kill();
        // Housekeeping and garbage collection have their turns meanwhile.
        await node.advance(40 * second);
        expect(node.machine.seenContainers('a')).toHaveLength(1);
        expect(await new Outside(files).text(written)).toBe('before');
        await sockets.plugins.get(`${testDirectory}/dp.sock`)?.register();
        await node.untilReady('a');
        expect(node.container('a')).toMatchObject({
          restartCount: 1,
          lastState: { terminated: { exitCode: 1 } },
        });
        expect(await new Outside(files).text(written)).toBe('before');
      },
    );

    it('leaves nothing when it is refused and removed', async () => {
      const first = await ranBefore();
      first.machine.exitContainer(first.machine.running('a')[0]!.id, 1);
      const { node } = await start(first);
      node.put(writer);
      await node.untilPhase('a', 'Failed');
      await node.untilStopped('a');
      node.drop('a');
      await node.until('its container is removed', () => node.machine.seenContainers('a').length === 0);
      await node.until('its sandbox is gone', () => node.machine.seenSandboxes('a').length === 0);
    });
  });

  it('can be removed, and comes back as another', async () => {
    const { node, sockets } = await rebooted();
    node.put(wanting('a'));
    await node.advance(5 * second);
    node.drop('a');
    await node.advance(5 * second);
    await sockets.plugins.get(`${testDirectory}/dp.sock`)?.register();
    await node.advance(5 * second);
    expect(node.machine.running('a')).toEqual([]);
    node.put(wanting('b', 2));
    await node.untilReady('b');
  });

  it('ends when it is deleted', async () => {
    const { node } = await rebooted();
    const pod = wanting('a');
    node.put(pod);
    await node.advance(5 * second);
    const deletionTimestamp = new Date(node.machine.time.now()).toISOString();
    node.put({ ...pod, metadata: { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: 1 } });
    await node.until('it is over', () => node.entries.some(({ what }) => what === 'pod.finished'));
    expect(node.machine.running('a')).toEqual([]);
  });
});

describe('a crash', () => {
  const pods = [wanting('a'), wanting('b', 2), wanting('c')];
  const devices = [1, 2, 3, 4].map((number) => ({ id: `Dev-${number}` }));

  /** Every device is in one pod, and every pod has its devices. */
  function expectWhole(machine: Machine): void {
    const users = devices.map(({ id }) => machine.usersOf(`/tmp/${id}`));
    expect(users.filter(({ length }) => length !== 1)).toEqual([]);
    expect(users.flat().sort()).toEqual(['a/app', 'b/app', 'b/app', 'c/app']);
  }

  it.each(Array.from({ length: 40 }, (_, index) => index + 1))(
    'of the agent at its change %i gives no device to two, and none is lost',
    async (change) => {
      const first = await start({ death: { change, when: change % 2 === 0 ? 'before' : 'after' } });
      const plugin = new TestPlugin(first.sockets, 'dp.sock', { devices });
      await plugin.register().catch(() => undefined);
      for (const pod of pods) first.node.put(pod);
      await first.node.advance(3 * second);
      await first.crash();
      const { node, machine, sockets } = await start(first);
      // A resource that no report on disk names is unknown: its pods must come after the plugin.
      const isKnown = change > 2;
      if (isKnown) for (const pod of pods) node.put(pod);
      await node.advance(second);
      await sockets.plugins.get(plugin.path)?.register();
      await node.advance(second);
      if (!isKnown) for (const pod of pods) node.put(pod);
      await node.until('all run', () => machine.running().length === 3);
      expectWhole(machine);
    },
  );

  it.each(['options', 'allocate'] as const)('of the plugin during %s', async (method) => {
    const { node, machine, sockets } = await start();
    const plugin = new TestPlugin(sockets, 'dp.sock', { devices });
    plugin.hanging.add(method);
    const registered = plugin.register().catch(() => undefined);
    await node.advance(second);
    node.put(wanting('x'));
    await node.advance(second);
    plugin.kill();
    await node.advance(11 * second);
    await registered;
    const next = new TestPlugin(sockets, 'dp.sock', { devices });
    await next.register();
    await node.advance(second);
    for (const pod of pods) node.put(pod);
    await node.advance(5 * second);
    if (method === 'allocate') {
      expect(node.status('x')?.phase).toBe('Failed');
      expectWhole(machine);
    }
  });
});

/** Device plugins and the devices of pods, from registration to release, with plugins that fail in every way. */
import { describe, expect, it } from 'vitest';
import { deviceCheckpointName } from './contracts.js';
import { deviceLimits } from './limits.js';
import { container, devicePod, resource, TestDevices } from './test-node.js';
import { TestPlugin, type TestPluginOptions, testDirectory } from './test-plugins.js';

/** A node with one plugin that has reported its devices. */
async function withPlugin(options: TestPluginOptions = {}, waitMs = 0) {
  const node = await TestDevices.start({ waitMs });
  const plugin = new TestPlugin(node.sockets, 'dp.sock', options);
  await plugin.register();
  await node.settled();
  return { node, plugin };
}
const signal = new AbortController().signal;
const none = `no healthy devices present; cannot allocate unhealthy devices ${resource}`;

describe('registration', () => {
  it.each([
    [
      'v1beta2',
      resource,
      'requested API version "v1beta2" is not supported by kubelet. Supported version is ["v1beta1"]',
    ],
    ['v1beta1', 'x', 'the ResourceName "x" is invalid'],
  ])('version %s of %s is refused', async (version, name, text) => {
    const node = await TestDevices.start();
    await expect(node.sockets.register('dp.sock', name, version)).rejects.toThrow(text);
    expect(node.metrics.registrations.value({ resource_name: name })).toBe(1);
  });

  it('an endpoint that leaves the directory is refused', async () => {
    const node = await TestDevices.start();
    for (const endpoint of ['../x.sock', '', '.', 'a\0b', 'x'.repeat(200)]) {
      await expect(node.sockets.register(endpoint, resource)).rejects.toThrow(/endpoint/);
    }
  });

  it('nobody listens: it is tried for ten seconds', async () => {
    const node = await TestDevices.start();
    const registered = node.sockets.register('dp.sock', resource).then(String, String);
    await node.clock.advance(9_000);
    await node.clock.advance(2_000);
    expect(await registered).toBe('Error: failed to dial device plugin: context deadline exceeded');
  });

  it('a plugin whose options fail is not used', async () => {
    const node = await TestDevices.start();
    const plugin = new TestPlugin(node.sockets, 'dp.sock');
    plugin.failing.set('options', 'broken');
    await expect(plugin.register()).rejects.toThrow(
      'failed to get device plugin options: rpc error: code = Unknown desc = broken',
    );
    await node.settled();
    expect([plugin.calls, node.offered()]).toEqual([[], '-/-']);
  });

  it('a connected path is refused, and the plugin that is there stays in use', async () => {
    const { node, plugin } = await withPlugin();
    await expect(plugin.register()).rejects.toThrow(`device plugin already connected: ${plugin.path}`);
    plugin.kill();
    await node.settled();
    expect(node.offered()).toBe('2/0');
  });

  it('sockets of an earlier life are removed, everything else stays', async () => {
    const node = new TestDevices();
    const { files, machine } = node.host;
    await files.mkdir(`${testDirectory}/sub`, { recursive: true });
    await files.writeFile(`${testDirectory}/DEPRECATION`, '');
    await files.writeFile(`${testDirectory}/${deviceCheckpointName}`, '{}');
    for (const name of ['a.sock', 'kubelet.sock', 'sub/b.sock'])
      machine.makeSpecialFile(`${testDirectory}/${name}`, 'socket');
    await files.symlink(`${testDirectory}/sub/b.sock`, `${testDirectory}/link.sock`);
    await node.registration.start();
    const left = [...(await files.readdir(testDirectory))].sort();
    expect(left).toEqual(['DEPRECATION', deviceCheckpointName, 'sub']);
    expect(await files.readdir(`${testDirectory}/sub`)).toEqual(['b.sock']);
  });

  it.each([
    [['v1alpha1'], resource, 'manager version, v1beta1, is not among plugin supported versions [v1alpha1]'],
    [['v1beta1'], 'cpu', 'invalid name of device plugin socket: the ResourceName "cpu" is invalid'],
    [['v1', 'v1beta1'], resource, undefined],
  ])('by a socket in the directory of plugins: %j of %s', async (versions, name, refusal) => {
    const { handler } = new TestDevices().registration;
    expect(handler.refusal({ name, endpoint: '/dp.sock', versions })).toBe(refusal);
  });

  it('a plugin of the directory of plugins is used until its socket goes, and not counted', async () => {
    const node = await TestDevices.start();
    const plugin = new TestPlugin(node.sockets, 'dp.sock');
    const { handler } = node.registration;
    const claim = { name: resource, endpoint: plugin.path, versions: ['v1beta1'] };
    await handler.register(claim, signal);
    await node.settled();
    expect(node.offered()).toBe('2/2');
    expect(node.metrics.registrations.value({ resource_name: resource })).toBe(0);
    await handler.deregister(claim);
    await node.settled();
    expect(node.offered()).toBe('2/0');
  });

  it('what the request says of options does not count', async () => {
    const node = await TestDevices.start();
    const plugin = new TestPlugin(node.sockets, 'dp.sock');
    await node.sockets.register('dp.sock', resource, 'v1beta1', { preStartRequired: true });
    await node.settled();
    const pod = devicePod('p');
    await node.admit(pod);
    await node.manager.additions(pod, pod.spec.containers[0]!, signal);
    expect(plugin.calls).toEqual(['ListAndWatch', 'Allocate Dev-1']);
  });
});

describe('the health of the registration socket', () => {
  const broken = (why: string): string =>
    `device registration error: device plugin registration gRPC server failed and no device plugins can register: ${why}`;

  it('fails while plugins cannot connect', async () => {
    const node = await TestDevices.start();
    expect(node.registration.health()).toBeUndefined();
    node.sockets.failure = new Error('accept ENOMEM');
    expect(node.registration.health()).toBe(broken('accept ENOMEM'));
    node.sockets.failure = undefined;
    expect(node.registration.health()).toBeUndefined();
  });

  it('fails while it cannot listen, and no longer', async () => {
    const node = new TestDevices();
    let isReadOnly = true;
    node.host.inject({
      at: ({ operation, path }) => isReadOnly && operation === 'mkdir' && path === testDirectory,
      when: 'before',
      effect: { kind: 'fail', code: 'EROFS' },
    });
    await expect(node.registration.start()).rejects.toThrow('EROFS');
    expect(node.registration.health()).toContain(broken('EROFS'));
    isReadOnly = false;
    await node.registration.start();
    expect(node.registration.health()).toBeUndefined();
  });
});

describe('what the node offers', () => {
  it.each([
    ['two healthy, one not', [{ id: 'a' }, { id: 'b' }, { id: 'c', health: 'Unhealthy' }], '3/2'],
    ['nothing', [], '0/0'],
  ])('%s', async (_, devices, expected) => {
    const { node } = await withPlugin({ devices });
    expect(node.offered()).toBe(expected);
  });

  it('follows the reports', async () => {
    const { node, plugin } = await withPlugin({ devices: [{ id: 'a' }, { id: 'b', health: 'Unhealthy' }] });
    plugin.report([{ id: 'a' }]);
    await node.settled();
    expect(node.offered()).toBe('1/1');
  });

  it('a plugin that goes leaves its devices for five minutes', async () => {
    const { node, plugin } = await withPlugin();
    plugin.kill();
    await node.settled();
    expect(node.offered()).toBe('2/0');
    await node.clock.advance(deviceLimits.graceMs);
    expect(node.manager.capacity()).toEqual({ capacity: {}, allocatable: {}, removed: [resource] });
    expect(await node.admit(devicePod('p'))).toBeUndefined();
    expect(plugin.calls).toEqual(['ListAndWatch']);
  });

  it.each<[string, number, string]>([
    ['within five minutes', 0, none],
    [
      'after them, while somebody holds one',
      deviceLimits.graceMs,
      `cannot allocate unregistered device ${resource}`,
    ],
  ])('a new pod is refused when the plugin has gone: %s', async (_, waitMs, refusal) => {
    const { node, plugin } = await withPlugin();
    const holder = devicePod('holder');
    await node.admit(holder);
    plugin.kill();
    await node.settled();
    await node.clock.advance(waitMs);
    node.manager.capacity();
    expect(await node.admit(devicePod('p'))).toBe(refusal);
    expect(node.held('holder')).toEqual({ app: ['Dev-1'] });
    const again = node.manager.additions(holder, holder.spec.containers[0]!, signal).then(
      ({ mounts }) => mounts.length,
      (error: Error) => error.message,
    );
    expect(await again).toBe(
      waitMs === 0 ? 1 : `endpoint not found in cache for a registered resource: ${resource}`,
    );
  });

  it('a limit of zero is refused where no device is healthy', async () => {
    const { node } = await withPlugin({ devices: [{ id: 'a', health: 'Unhealthy' }] });
    expect(await node.admit(devicePod('p', [container('app', 0)]))).toBe(none);
  });

  it('a plugin that comes back on its path takes over at once', async () => {
    const { node, plugin } = await withPlugin();
    plugin.kill();
    await node.settled();
    await new TestPlugin(node.sockets, 'dp.sock', { devices: [{ id: 'x' }] }).register();
    await node.settled();
    expect(node.offered()).toBe('1/1');
  });

  it('of two plugins the newest is asked; when it goes, the other one is', async () => {
    const { node, plugin: first } = await withPlugin();
    const second = new TestPlugin(node.sockets, 'dp2.sock');
    await second.register();
    await node.settled();
    await node.admit(devicePod('p1'));
    expect([first.calls.length, second.calls.length]).toEqual([1, 2]);
    second.kill();
    await node.settled();
    expect(node.offered()).toBe('2/2');
    await node.admit(devicePod('p2'));
    expect(first.calls.at(-1)).toBe('Allocate Dev-2');
  });

  it('a report beyond the bounds ends the connection, and says why', async () => {
    const { node, plugin } = await withPlugin();
    plugin.report([{ id: '' }]);
    await node.settled();
    expect(node.offered()).toBe('2/0');
    const entries = node.timeline.ofNode().filter(({ what }) => what === 'device.plugin');
    expect(entries.at(-1)?.because).toBe('its report is not taken: it reports a device without an id');
  });
});

describe('the devices of a pod', () => {
  it('one call with one id, and what it brings', async () => {
    const { node, plugin } = await withPlugin();
    const pod = devicePod('p');
    expect(await node.admit(pod)).toBeUndefined();
    expect(plugin.calls).toEqual(['ListAndWatch', 'Allocate Dev-1']);
    const additions = await node.manager.additions(pod, pod.spec.containers[0]!, signal);
    expect(additions.mounts).toEqual([
      { containerPath: '/tmp/Dev-1', hostPath: '/tmp/Dev-1', readOnly: false },
    ]);
    expect(plugin.calls).toHaveLength(2);
  });

  it.each<[string, TestPluginOptions, (plugin: TestPlugin) => void, string]>([
    [
      'the call fails',
      {},
      (p) => p.failing.set('allocate', 'no power'),
      'rpc error: code = Unknown desc = no power',
    ],
    [
      'no container is answered for',
      { answer: () => ({}) },
      () => {},
      'no containers return in allocation response',
    ],
    [
      'the preference fails',
      { prefers: () => [] },
      (p) => p.failing.set('preferred', 'no idea'),
      'device plugin GetPreferredAllocation rpc failed with err: rpc error: code = Unknown desc = no idea',
    ],
    [
      'the answer is not usable',
      { answer: () => ({ containerResponses: [{ mounts: [{ containerPath: 'x', hostPath: '/x' }] }] }) },
      () => {},
      'the device plugin\'s answer has an unusable path "x"',
    ],
  ])('refused, and the ids are free at once: %s', async (_, options, change, message) => {
    const { node, plugin } = await withPlugin(options);
    change(plugin);
    expect(await node.admit(devicePod('p', [container('app', 1)]))).toContain(message);
    plugin.failing.clear();
    expect(node.manager.holders()).toEqual([]);
    expect(node.manager.inUse('p')).toBeUndefined();
  });

  it('a call that hangs ends at its deadline, and nobody waits meanwhile', async () => {
    const { node, plugin } = await withPlugin();
    const other = new TestPlugin(node.sockets, 'other.sock', { resource: 'example.com/other' });
    await other.register();
    await node.settled();
    plugin.hanging.add('allocate');
    const stuck = node.admit(devicePod('p1'));
    const limits = { 'example.com/other': '1' };
    expect(await node.admit(devicePod('p2', [{ name: 'app', resources: { limits } }]))).toBeUndefined();
    expect(node.offered()).toBe('2/2');
    await node.clock.advance(deviceLimits.allocateMs);
    expect(await stuck).toBe('rpc error: code = DeadlineExceeded desc = context deadline exceeded');
  });

  it.each<[string, Parameters<typeof devicePod>, number, string | Record<string, readonly string[]>]>([
    [
      'app containers share what init containers had',
      ['p', [container('a', 1), container('b', 1)], [container('i', 1), container('j', 2)]],
      2,
      { i: ['Dev-1'], j: ['Dev-1', 'Dev-2'], a: ['Dev-1'], b: ['Dev-2'] },
    ],
    [
      'sidecars keep what they take over',
      [
        'p',
        [container('a', 1), container('b', 2)],
        [
          container('i', 3),
          container('s', 1, { restartPolicy: 'Always' }),
          container('t', 2, { restartPolicy: 'Always' }),
        ],
      ],
      6,
      {
        i: ['Dev-1', 'Dev-2', 'Dev-3'],
        s: ['Dev-1'],
        t: ['Dev-2', 'Dev-3'],
        a: ['Dev-4'],
        b: ['Dev-5', 'Dev-6'],
      },
    ],
    [
      'a sidecar leaves nothing to the app',
      ['p', [container('a', 1)], [container('s', 1, { restartPolicy: 'Always' })]],
      1,
      `requested number of devices unavailable for ${resource}. Requested: 1, Available: 0`,
    ],
  ])('%s', async (_, args, count, expected) => {
    const devices = Array.from({ length: count }, (__, index) => ({ id: `Dev-${index + 1}` }));
    const { node } = await withPlugin({ devices });
    const pod = devicePod(...args);
    const refusal = await node.admit(pod);
    expect(refusal ?? node.held('p')).toEqual(expected);
  });

  it('an id that is taken over is allocated again for its new container', async () => {
    const { node, plugin } = await withPlugin();
    await node.admit(devicePod('p', [container('a', 1)], [container('i', 1)]));
    expect(plugin.calls.slice(1)).toEqual(['Allocate Dev-1', 'Allocate Dev-1']);
  });

  it('two resources of one container are two calls', async () => {
    const { node, plugin } = await withPlugin();
    const other = new TestPlugin(node.sockets, 'other.sock', { resource: 'example.com/other' });
    await other.register();
    await node.settled();
    const limits = { [resource]: '1', 'example.com/other': '2' };
    await node.admit(devicePod('p', [{ name: 'app', resources: { limits } }]));
    expect([plugin.calls[1], other.calls[1]]).toEqual(['Allocate Dev-1', 'Allocate Dev-1,Dev-2']);
  });

  it("the plugin's preference counts where there is a choice", async () => {
    const devices = ['a', 'b', 'c'].map((id) => ({ id }));
    const { node, plugin } = await withPlugin({ devices, prefers: () => ['z', 'c'] });
    await node.admit(devicePod('p', [container('app', 2)]));
    expect(plugin.calls.slice(1)).toEqual(['Preferred a,b,c must  size 2', 'Allocate c,a']);
  });

  it('devices of pods that have ended are given out again', async () => {
    const { node } = await withPlugin({ devices: [{ id: 'a' }] });
    await node.admit(devicePod('p1'));
    expect(await node.admit(devicePod('p2'))).toMatch(/Requested: 1, Available: 0$/);
    node.active.delete('p1');
    expect(await node.admit(devicePod('p3'))).toBeUndefined();
    expect(node.held('p3')).toEqual({ app: ['a'] });
  });

  it('a disk that takes nothing refuses the pod', async () => {
    const { node } = await withPlugin();
    node.host.inject({
      at: ({ operation }) => operation === 'writeFile',
      when: 'before',
      effect: { kind: 'fail', code: 'ENOSPC' },
    });
    expect(await node.admit(devicePod('p'))).toContain(
      `failed to write checkpoint file "${deviceCheckpointName}": `,
    );
  });
});

describe('before a container starts', () => {
  it('a plugin that wants to be told is told before each start', async () => {
    const { node, plugin } = await withPlugin({ preStartRequired: true });
    const pod = devicePod('p');
    await node.admit(pod);
    for (let start = 0; start < 2; start++)
      await node.manager.additions(pod, pod.spec.containers[0]!, signal);
    expect(plugin.calls.slice(2)).toEqual(['PreStart Dev-1', 'PreStart Dev-1']);
  });

  it('a plugin that takes too long, or has gone, keeps the container waiting', async () => {
    const { node, plugin } = await withPlugin({ preStartRequired: true });
    const pod = devicePod('p');
    await node.admit(pod);
    plugin.hanging.add('preStart');
    const start = node.manager.additions(pod, pod.spec.containers[0]!, signal).catch(String);
    await node.clock.advance(deviceLimits.preStartMs);
    expect(await start).toContain(
      'device plugin PreStartContainer rpc failed with err: rpc error: code = DeadlineExceeded',
    );
    plugin.kill();
    await node.settled();
    await expect(node.manager.additions(pod, pod.spec.containers[0]!, signal)).rejects.toThrow(
      `device plugin PreStartContainer rpc failed with err: endpoint ${plugin.path} has been stopped`,
    );
  });

  it('a container without a record is given its devices then', async () => {
    const { node } = await withPlugin();
    const pod = devicePod('p');
    node.active.add('p');
    const { mounts } = await node.manager.additions(pod, pod.spec.containers[0]!, signal);
    expect(mounts).toHaveLength(1);
  });
});

describe('health in the status of pods', () => {
  it('owners are synced, and only under the resource that changed', async () => {
    const { node, plugin } = await withPlugin({ devices: [{ id: 'x' }] });
    const other = new TestPlugin(node.sockets, 'o.sock', {
      resource: 'example.com/o',
      devices: [{ id: 'x' }],
    });
    await other.register();
    await node.settled();
    await node.admit(devicePod('p1'));
    await node.admit(devicePod('p2', [{ name: 'app', resources: { limits: { 'example.com/o': '1' } } }]));
    node.synced.length = 0;
    plugin.report([{ id: 'x', health: 'Unhealthy' }]);
    await node.settled();
    expect(node.synced).toEqual(['p1']);
    expect(node.manager.health('p1', 'app')).toEqual([
      { name: resource, resources: [{ resourceID: 'x', health: 'Unhealthy' }] },
    ]);
    plugin.report([{ id: 'x' }]);
    await node.settled();
    expect(node.synced).toEqual(['p1', 'p1']);
    expect(node.manager.health('p1', 'app')?.[0]?.resources?.[0]?.health).toBe('Healthy');
    plugin.report([{ id: 'x', health: 'Unhealthy' }]);
    await node.settled();
    plugin.kill();
    await node.settled();
    expect(node.offered()).toBe('1/0');
    expect(node.manager.health('p1', 'app')?.[0]?.resources?.[0]?.health).toBe('Unhealthy');
    expect(node.manager.health('p2', 'app')?.[0]?.resources?.[0]?.health).toBe('Healthy');
  });

  it('a device that vanishes tells nobody', async () => {
    const { node, plugin } = await withPlugin();
    await node.admit(devicePod('p'));
    node.synced.length = 0;
    plugin.report([]);
    await node.settled();
    expect([node.synced, node.manager.health('p', 'app')?.[0]?.resources?.[0]?.health]).toEqual([
      [],
      'Healthy',
    ]);
  });
});

describe('after a restart of the agent', () => {
  async function restarted(running: boolean, waitMs = 0) {
    const { node, plugin } = await withPlugin();
    const pod = devicePod('p');
    await node.admit(pod);
    await node.manager.stop();
    const next = await TestDevices.start({
      host: node.host,
      clock: node.clock,
      sockets: node.sockets,
      waitMs,
      areSourcesReady: false,
      running: running ? [{ podUid: 'p', name: 'app' }] : [],
    });
    return { node: next, plugin, pod };
  }

  it('a pod that runs is admitted without its plugin, and keeps its devices', async () => {
    const { node, plugin, pod } = await restarted(true);
    expect([await node.admit(pod), node.offered(), node.held('p')]).toEqual([
      undefined,
      '0/0',
      { app: ['Dev-1'] },
    ]);
    expect(plugin.calls).toHaveLength(2);
    await plugin.register();
    await node.settled();
    expect(node.offered()).toBe('2/2');
    const { mounts } = await node.manager.additions(pod, pod.spec.containers[0]!, signal);
    expect(mounts).toHaveLength(1);
  });

  it('a pod that does not run yet is refused where nobody is to wait', async () => {
    const { node, pod } = await restarted(false);
    expect(await node.admit(pod)).toBe(none);
  });

  it('a pod that does not run yet waits for the plugin, and says so', async () => {
    const { node, plugin, pod } = await restarted(false, 60_000);
    const admitted = node.admit(pod);
    await node.clock.advance(30_000);
    await plugin.register();
    await node.settled();
    expect(await admitted).toBeUndefined();
    const told = node.timeline.ofPod('p').map(({ what }) => what);
    expect(told).toEqual(['event.WaitingForDevicePlugin', 'device.wait', 'device.waited']);
  });

  it('it waits no longer than it may', async () => {
    const { node, pod } = await restarted(false, 60_000);
    const admitted = node.admit(pod);
    await node.clock.advance(60_000);
    expect(await admitted).toBe(none);
  });

  it('a pod that waits for one of two plugins waits no longer for both', async () => {
    const { node, plugin } = await withPlugin({}, 60_000);
    const other = new TestPlugin(node.sockets, 'o.sock', { resource: 'example.com/o' });
    await other.register();
    await node.settled();
    other.kill();
    await node.settled();
    const limits = { [resource]: '1', 'example.com/o': '1' };
    const admitted = node.admit(devicePod('p', [container('a', 1), { name: 'b', resources: { limits } }]));
    await node.clock.advance(59_000);
    plugin.report([{ id: 'Dev-1' }, { id: 'Dev-2' }, { id: 'Dev-3' }]);
    await node.clock.advance(2_000);
    expect(await admitted).toMatch(/^no healthy devices present/);
  });

  it.each([
    ['is refused where nobody is to wait', 0],
    ['waits for it, and keeps its devices', 60_000],
  ])('a pod with a finished init container that had a device %s', async (_, waitMs) => {
    const { node, plugin } = await withPlugin();
    const pod = devicePod('p', [container('app', 1)], [container('init', 1)]);
    await node.admit(pod);
    const given = node.held('p');
    await node.manager.stop();
    const { host, clock, sockets } = node;
    const running = [{ podUid: 'p', name: 'app' }];
    const next = await TestDevices.start({ host, clock, sockets, waitMs, areSourcesReady: false, running });
    const admitted = next.admit(pod);
    await next.clock.advance(1000);
    await plugin.register();
    await next.settled();
    expect(await admitted).toBe(waitMs === 0 ? none : undefined);
    expect(next.held('p')).toEqual(given);
    expect(plugin.calls.filter((call) => call.startsWith('Allocate'))).toHaveLength(2);
  });

  it('the file still lists a pod that has ended, until something is given out', async () => {
    const { node, plugin } = await restarted(false);
    expect(node.manager.checkpointText()).toContain('"PodUID":"p"');
    node.areSourcesReady = true;
    await plugin.register();
    await node.settled();
    await node.admit(devicePod('q', [container('app', 2)]));
    expect(node.held('q')).toEqual({ app: ['Dev-1', 'Dev-2'] });
    expect(node.manager.checkpointText()).not.toContain('"PodUID":"p"');
  });

  it('a broken file starts empty, and is told', async () => {
    const { node } = await withPlugin();
    await node.manager.stop();
    await node.host.files.writeFile(`${testDirectory}/${deviceCheckpointName}`, '{"Data":{}}');
    const next = await TestDevices.start({ host: node.host, clock: node.clock, sockets: node.sockets });
    expect(next.manager.hasDevices).toBe(false);
    expect(next.timeline.ofNode().map(({ what }) => what)).toContain('device.recover');
  });
});

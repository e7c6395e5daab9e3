import { afterEach, describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../async/index.js';
import { MountPropagation } from '../../cri/index.js';
import { simulatedHost } from '../../host/index.js';
import type { Pod, Volume, VolumeMount } from '../../kube/index.js';
import { Timeline, type TimelineEntry } from '../../timeline/index.js';
import { VolumeFailure } from '../contracts.js';
import { VolumeManager, type VolumeManagerOptions } from './manager.js';
import { FakePlugin, podWith } from './test-fixtures.js';

const rootDir = '/var/lib/kubelet';
const emptyDir = (name: string): Volume => ({ name, emptyDir: {} });
const configMap = (name: string): Volume => ({ name, configMap: { name: 'cm' } });
const never = new AbortController().signal;

const open = new Set<VolumeManager>();
afterEach(async () => {
  for (const manager of open) await manager.stop();
  open.clear();
});

async function setUp(options: Partial<VolumeManagerOptions> = {}) {
  const clock = new VirtualClock();
  const entries: TimelineEntry[] = [];
  const timeline = new Timeline({ clock });
  timeline.subscribe((entry) => entries.push(entry));
  const host = simulatedHost();
  await host.files.mkdir(rootDir, { recursive: true });
  await host.mounts.makeShared(rootDir);
  const plain = new FakePlugin('fake/plain', (volume) => volume.emptyDir !== undefined);
  const configs = new FakePlugin('fake/config', (volume) => volume.configMap !== undefined, true);
  const images = new FakePlugin('fake/image', (volume) => volume.image !== undefined);
  const gone = new Set<string>();
  const facts = { ready: true };
  const manager = new VolumeManager({
    clock,
    timeline,
    host,
    rootDir,
    plugins: [plain, configs, images],
    pods: {
      allSourcesReady: () => facts.ready,
      isConfigured: () => true,
      isRuntimeGone: (uid) => gone.has(uid),
    },
    node: () => ({ name: 'n', labels: {} }),
    supportsRecursiveReadOnly: (handler) => handler === 'new',
    isSelinuxEnabled: true,
    ...options,
  });
  open.add(manager);
  const events = (): string[] =>
    entries
      .filter(({ event }) => event !== undefined)
      .map(({ event, message }) => `${event?.reason} ${message}`);
  return { clock, entries, events, host, plain, configs, images, gone, facts, manager };
}

/** How a wait ends. */
function outcome(wait: Promise<void>): { text: string | undefined } {
  const result: { text: string | undefined } = { text: undefined };
  wait.then(
    () => {
      result.text = 'done';
    },
    (error: Error) => {
      result.text = error.message;
    },
  );
  return result;
}

describe('waitForMounts', () => {
  it('resolves at once for a pod whose containers use no volume', async () => {
    const { manager, plain } = await setUp();
    await manager.waitForMounts(podWith([emptyDir('v')], { unused: ['v'] }), never);
    expect(plain.setUps).toEqual([]);
  });

  it('resolves as soon as the last volume is mounted', async () => {
    const { manager, plain, clock } = await setUp();
    let finish = (): void => {};
    plain.onSetUp = ({ spec }) =>
      spec.volume.name === 'slow' ? new Promise((resolve) => (finish = resolve)) : Promise.resolve();
    const wait = outcome(manager.waitForMounts(podWith([emptyDir('slow'), emptyDir('fast')]), never));
    await clock.advance(5000);
    expect(wait.text).toBeUndefined();
    finish();
    await settle();
    expect(wait.text).toBe('done');
    expect(clock.pendingTimers).toBe(0);
  });

  it('rejects after 2m3s with the missing volumes, and one event per attempt', async () => {
    const { manager, configs, clock, events } = await setUp();
    configs.onSetUp = () => Promise.reject(new Error('configmap "cm" not found'));
    const wait = outcome(
      manager.waitForMounts(podWith([emptyDir('a'), configMap('z'), configMap('c')]), never),
    );
    await clock.advance(122_999);
    expect(wait.text).toBeUndefined();
    await clock.advance(1);
    expect(wait.text).toBe(
      'unmounted volumes=[c z], unattached volumes=[], failed to process volumes=[]: context deadline exceeded',
    );
    // At 0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5 and 63.5 s, for both volumes.
    expect(configs.setUps).toHaveLength(16);
    expect(events()).toHaveLength(16);
    expect(events()[0]).toBe(
      'FailedMount MountVolume.SetUp failed for volume "z" : configmap "cm" not found',
    );
  });

  it('benefits from an earlier wait: attempts continue after that ended', async () => {
    const { manager, configs, clock } = await setUp();
    let isThere = false;
    configs.onSetUp = () =>
      isThere ? Promise.resolve() : Promise.reject(new Error('configmap "cm" not found'));
    const pod = podWith([configMap('c')]);
    const first = outcome(manager.waitForMounts(pod, never));
    await clock.advance(130_000);
    expect(first.text).toContain('context deadline exceeded');
    isThere = true;
    const second = outcome(manager.waitForMounts(pod, never));
    await clock.advance(119_000);
    expect(second.text).toBeUndefined();
    await clock.advance(1000);
    expect(second.text).toBe('done');
  });

  it('resolves at once when a missing object is announced', async () => {
    const { manager, configs, clock } = await setUp();
    let isThere = false;
    configs.onSetUp = () =>
      isThere ? Promise.resolve() : Promise.reject(new Error('configmap "cm" not found'));
    const wait = outcome(manager.waitForMounts(podWith([configMap('c')]), never));
    await clock.advance(100_000);
    isThere = true;
    manager.objectsChanged(new Set(['other']));
    await settle();
    expect(wait.text).toBeUndefined();
    manager.objectsChanged(new Set(['u1']));
    await settle();
    expect(wait.text).toBe('done');
    expect(clock.pendingTimers).toBe(0);
  });

  it('rejects at once if a volume cannot be processed, and mounts the others', async () => {
    const resolve = () => Promise.reject(new Error('error processing PVC ns/c: PVC is not bound'));
    const { manager, plain } = await setUp({ claims: { resolve } });
    const claim: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'c' } };
    const wait = outcome(manager.waitForMounts(podWith([claim, emptyDir('v')]), never));
    await settle();
    expect(wait.text).toMatch(
      /^unmounted volumes=\[data( v)?\], unattached volumes=\[\], failed to process volumes=\[data\]: error processing PVC ns\/c: PVC is not bound$/,
    );
    expect(plain.setUps).toHaveLength(1);
  });

  it('refuses claims on a node that has none', async () => {
    const { manager } = await setUp();
    const claim: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'c' } };
    await expect(manager.waitForMounts(podWith([claim]), never)).rejects.toThrow(
      'error processing PVC ns/c: this node has no claims',
    );
  });

  it('is cancelled by its signal, and running operations finish', async () => {
    const { manager, plain, clock } = await setUp();
    let finish = (): void => {};
    plain.onSetUp = () => new Promise((resolve) => (finish = resolve));
    const stop = new AbortController();
    const wait = outcome(manager.waitForMounts(podWith([emptyDir('v')]), stop.signal));
    await clock.advance(1000);
    stop.abort();
    await settle();
    expect(wait.text).toBe('context canceled');
    expect(manager.exist('u1')).toBe(true);
    finish();
    await settle();
    expect(manager.exist('u1')).toBe(true);
  });
});

describe('a refresh', () => {
  it('runs for every sync, only if the plugin refreshes', async () => {
    const { manager, plain, configs } = await setUp();
    const pod = podWith([emptyDir('v'), configMap('c')]);
    for (let sync = 0; sync < 3; sync++) {
      await manager.waitForMounts(pod, never);
      await settle();
    }
    expect(plain.setUps).toHaveLength(1);
    expect(configs.setUps.map(({ isRemount }) => isRemount)).toEqual([false, true, true]);
  });

  it('uses the current pod', async () => {
    const { manager, configs } = await setUp();
    const pod = podWith([configMap('c')]);
    await manager.waitForMounts(pod, never);
    const labelled: Pod = { ...pod, metadata: { ...pod.metadata, labels: { tier: 'gold' } } };
    await manager.waitForMounts(labelled, never);
    await settle();
    expect(configs.setUps.at(-1)?.pod.metadata.labels).toEqual({ tier: 'gold' });
  });

  it('that fails leaves the volume mounted, is reported, and is retried', async () => {
    const { manager, configs, clock, events } = await setUp();
    const pod = podWith([configMap('c')]);
    await manager.waitForMounts(pod, never);
    configs.onSetUp = () => Promise.reject(new Error('configmap "cm" not found'));
    await manager.waitForMounts(pod, never);
    await settle();
    expect(events()).toHaveLength(1);
    expect(manager.volumeDirectory(pod, 'c')).toBe('/root/u1/c');
    await clock.advance(500);
    expect(events()).toHaveLength(2);
    configs.onSetUp = async () => {};
    await clock.advance(1000);
    expect(configs.setUps).toHaveLength(4);
    await clock.advance(600_000);
    expect(configs.setUps).toHaveLength(4);
  });

  it('runs once more if the pod was processed during a refresh', async () => {
    const { manager, configs } = await setUp();
    const pod = podWith([configMap('c')]);
    await manager.waitForMounts(pod, never);
    let finish = (): void => {};
    configs.onSetUp = () => new Promise((resolve) => (finish = resolve));
    await manager.waitForMounts(pod, never);
    await settle();
    await manager.waitForMounts(pod, never);
    expect(configs.setUps).toHaveLength(2);
    configs.onSetUp = async () => {};
    finish();
    await settle();
    expect(configs.setUps).toHaveLength(3);
  });
});

describe('waitForUnmounts', () => {
  it('tears down mounts once nothing of the pod runs', async () => {
    const { manager, plain, gone, clock } = await setUp();
    const pod = podWith([emptyDir('v')]);
    await manager.waitForMounts(pod, never);
    const wait = outcome(manager.waitForUnmounts(pod, never));
    await clock.advance(1000);
    expect(plain.tearDowns).toEqual([]);
    gone.add('u1');
    manager.podsChanged();
    await settle();
    expect(wait.text).toBe('done');
    expect(plain.tearDowns).toEqual([{ podUid: 'u1', innerName: 'v' }]);
    expect(manager.exist('u1')).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });

  it("runs an unprompted pass if no one reports the pod's end", async () => {
    const { manager, gone, clock } = await setUp();
    const pod = podWith([emptyDir('v')]);
    await manager.waitForMounts(pod, never);
    const wait = outcome(manager.waitForUnmounts(pod, never));
    await settle();
    gone.add('u1');
    await clock.advance(10_000);
    expect(wait.text).toBe('done');
  });

  it('retries with back-off, without events, and rejects after 2m3s', async () => {
    const { manager, plain, gone, clock, events } = await setUp();
    const pod = podWith([emptyDir('v')]);
    await manager.waitForMounts(pod, never);
    gone.add('u1');
    plain.onTearDown = () => Promise.reject(new Error('device is busy'));
    const wait = outcome(manager.waitForUnmounts(pod, never));
    await clock.advance(123_000);
    expect(wait.text).toBe('mounted volumes=[fake/plain/u1-v]: context deadline exceeded');
    expect(plain.tearDowns).toHaveLength(8);
    expect(events()).toEqual([]);
    plain.onTearDown = async () => {};
    await clock.advance(122_000);
    expect(manager.exist('u1')).toBe(false);
  });

  it('waits for a running mount and undoes it', async () => {
    const { manager, plain, gone, clock } = await setUp();
    let finish = (): void => {};
    plain.onSetUp = () => new Promise((resolve) => (finish = resolve));
    const pod = podWith([emptyDir('v')]);
    const stop = new AbortController();
    outcome(manager.waitForMounts(pod, stop.signal));
    await settle();
    stop.abort();
    gone.add('u1');
    const wait = outcome(manager.waitForUnmounts(pod, never));
    await clock.advance(1000);
    expect(wait.text).toBeUndefined();
    finish();
    await settle();
    expect(wait.text).toBe('done');
    expect(plain.tearDowns).toHaveLength(1);
  });

  it('names mount points that no volume accounts for', async () => {
    const { manager, host, gone } = await setUp();
    gone.add('u1');
    const foreign = `${rootDir}/pods/u1/volumes/foreign~thing/x`;
    await manager.start();
    await host.files.mkdir(foreign, { recursive: true });
    await host.mounts.mount({ source: 'tmpfs', target: foreign, fsType: 'tmpfs' });
    await expect(manager.waitForUnmounts(podWith([]), never)).rejects.toThrow(`mounted volumes=[${foreign}]`);
  });
});

describe('a failed mount', () => {
  it('that may still happen is undone when the pod ends', async () => {
    const { manager, plain, gone, clock } = await setUp();
    plain.onSetUp = () => Promise.reject(new VolumeFailure('uncertain', 'deadline exceeded'));
    const pod = podWith([emptyDir('v')]);
    const stop = new AbortController();
    outcome(manager.waitForMounts(pod, stop.signal));
    await clock.advance(100);
    stop.abort();
    expect(manager.exist('u1')).toBe(true);
    gone.add('u1');
    await manager.waitForUnmounts(pod, never);
    expect(plain.tearDowns).toHaveLength(1);
  });

  it('that did not happen leaves nothing to undo', async () => {
    const { manager, plain, gone, clock } = await setUp();
    plain.onSetUp = () => Promise.reject(new Error('no'));
    const pod = podWith([emptyDir('v')]);
    const stop = new AbortController();
    outcome(manager.waitForMounts(pod, stop.signal));
    await clock.advance(100);
    stop.abort();
    gone.add('u1');
    await manager.waitForUnmounts(pod, never);
    expect(plain.tearDowns).toEqual([]);
    await clock.advance(600_000);
    expect(plain.setUps).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('volumes of an earlier run', () => {
  const dir = `${rootDir}/pods/old/volumes/fake~plain/v`;
  it('are torn down once all sources are ready and nothing of their pod runs', async () => {
    const { manager, plain, host, facts, gone, clock } = await setUp();
    facts.ready = false;
    await host.files.mkdir(dir, { recursive: true });
    await manager.start();
    expect(manager.exist('old')).toBe(true);
    await clock.advance(30_000);
    facts.ready = true;
    await clock.advance(30_000);
    expect(plain.tearDowns).toEqual([]);
    gone.add('old');
    await clock.advance(10_000);
    expect(plain.tearDowns).toEqual([{ podUid: 'old', innerName: 'v' }]);
    expect(manager.exist('old')).toBe(false);
  });

  it('are adopted by a pod that wants them, and survive a failed set-up', async () => {
    const { manager, plain, host, clock } = await setUp();
    await host.files.mkdir(`${rootDir}/pods/u1/volumes/fake~plain/v`, { recursive: true });
    plain.onSetUp = () => Promise.reject(new Error('not now'));
    const wait = outcome(manager.waitForMounts(podWith([emptyDir('v')]), never));
    await clock.advance(100);
    expect(manager.exist('u1')).toBe(true);
    plain.onSetUp = async () => {};
    await clock.advance(1000);
    expect(wait.text).toBe('done');
    expect(plain.setUps.map(({ isRemount }) => isRemount)).toEqual([true, true]);
    expect(plain.tearDowns).toEqual([]);
  });

  it('are torn down when their pod ends, though the start could not read the directories', async () => {
    const { manager, plain, host, gone, clock } = await setUp();
    const target = `${rootDir}/pods/u1/volumes/fake~plain/v`;
    await host.files.mkdir(target, { recursive: true });
    await host.mounts.mount({ source: 'tmpfs', target, fsType: 'tmpfs' });
    plain.onTearDown = async () => {
      await host.mounts.unmount(target);
      await host.files.rmdir(target);
    };
    let reads = 0;
    host.inject({
      at: ({ operation }) => operation === 'readdir' && reads++ === 0,
      when: 'before',
      effect: { kind: 'fail', code: 'ENOSPC' },
    });
    await manager.start();
    expect(manager.exist('u1')).toBe(false);
    gone.add('u1');
    const wait = outcome(manager.waitForUnmounts(podWith([emptyDir('v')]), never));
    await clock.advance(10_000);
    expect(wait.text).toBe('done');
    expect(plain.tearDowns).toEqual([{ podUid: 'u1', innerName: 'v' }]);
  });

  it('of unknown kinds are unmounted once and removed if empty', async () => {
    const { manager, host, gone, clock, entries } = await setUp();
    const [mounted, kept] = ['a', 'b'].map((name) => `${rootDir}/pods/old/volumes/other~kind/${name}`);
    for (const path of [mounted!, kept!]) await host.files.mkdir(path, { recursive: true });
    await host.mounts.mount({ source: 'tmpfs', target: mounted!, fsType: 'tmpfs' });
    await host.files.writeFile(`${kept}/data`, 'precious');
    await manager.start();
    gone.add('old');
    manager.podsChanged();
    await settle(20);
    await clock.advance(60_000);
    expect((await host.mounts.list()).filter(({ target }) => target === mounted)).toEqual([]);
    expect(await host.files.readdir(`${rootDir}/pods/old/volumes/other~kind`)).toEqual(['b']);
    expect(
      entries
        .filter(({ what }) => what === 'volume.leftover')
        .map(({ kind }) => kind)
        .sort(),
    ).toEqual(['effect', 'problem']);
  });
});

describe('stop', () => {
  it('awaits running operations and leaves no timer', async () => {
    const { manager, plain, clock, entries } = await setUp();
    let aborted = false;
    plain.onSetUp = ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          aborted = true;
          reject(new Error('cut off'));
        });
      });
    const caller = new AbortController();
    outcome(manager.waitForMounts(podWith([emptyDir('v')]), caller.signal));
    await settle();
    await manager.stop();
    expect(aborted).toBe(true);
    caller.abort();
    await settle();
    expect(clock.pendingTimers).toBe(0);
    expect(entries.filter(({ kind }) => kind === 'event' || kind === 'problem')).toEqual([]);
  });
});

describe('mounts of a container', () => {
  const surroundings = {
    subPath: (mount: VolumeMount) => mount.subPath ?? '',
    imageOf: (name: string) => (name === 'i' ? 'sha256:1234' : undefined),
    runtimeHandler: '',
  };
  async function mountsOf(mount: Partial<VolumeMount>, volume: Volume = emptyDir('v'), runtimeHandler = '') {
    const { manager } = await setUp();
    const pod = podWith([volume]);
    pod.metadata.annotations = { a: 'b' };
    await manager.waitForMounts(pod, never);
    const container = {
      ...pod.spec.containers[0]!,
      volumeMounts: [{ name: volume.name, mountPath: '/m', ...mount }],
    };
    return manager.mounts(pod, container, { ...surroundings, runtimeHandler });
  }
  const plainMount = {
    containerPath: '/m',
    hostPath: '/root/u1/v',
    readonly: false,
    propagation: MountPropagation.PROPAGATION_PRIVATE,
    recursiveReadOnly: false,
    selinuxRelabel: true,
  };

  it.each([
    { rule: 'a plain mount', mount: {}, expected: {} },
    {
      rule: 'a relative path gets a leading slash',
      mount: { mountPath: 'm/n' },
      expected: { containerPath: '/m/n' },
    },
    { rule: 'read-only', mount: { readOnly: true }, expected: { readonly: true } },
    {
      rule: 'options of the bind mount',
      mount: { bindMountOptions: ['noexec'] },
      expected: { mountOptions: ['noexec'] },
    },
    { rule: 'propagation None', mount: { mountPropagation: 'None' }, expected: {} },
    {
      rule: 'propagation HostToContainer',
      mount: { mountPropagation: 'HostToContainer' },
      expected: { propagation: MountPropagation.PROPAGATION_HOST_TO_CONTAINER },
    },
    {
      rule: 'propagation Bidirectional',
      mount: { mountPropagation: 'Bidirectional' },
      expected: { propagation: MountPropagation.PROPAGATION_BIDIRECTIONAL },
    },
    {
      rule: 'recursive read-only if possible, unsupported',
      mount: { readOnly: true, recursiveReadOnly: 'IfPossible' },
      expected: { readonly: true },
    },
    {
      rule: 'recursive read-only if possible, supported',
      mount: { readOnly: true, recursiveReadOnly: 'IfPossible' },
      handler: 'new',
      expected: { readonly: true, recursiveReadOnly: true },
    },
    {
      rule: 'recursive read-only enabled',
      mount: { readOnly: true, recursiveReadOnly: 'Enabled' },
      handler: 'new',
      expected: { readonly: true, recursiveReadOnly: true },
    },
    {
      rule: 'recursive read-only disabled',
      mount: { readOnly: true, recursiveReadOnly: 'Disabled' },
      handler: 'new',
      expected: { readonly: true },
    },
  ])('$rule', async ({ mount, expected, handler }) => {
    expect(await mountsOf(mount, undefined, handler)).toEqual([{ ...plainMount, ...expected }]);
  });

  it('are read-only if the plugin says so', async () => {
    const [mount] = await mountsOf({}, configMap('c'));
    expect(mount).toMatchObject({ hostPath: '/root/u1/c', readonly: true });
  });

  it('of images have no host path', async () => {
    const [mount] = await mountsOf({ subPath: 'etc' }, { name: 'i', image: { reference: 'tool:1' } });
    expect(mount).toMatchObject({
      image: {
        image: 'sha256:1234',
        userSpecifiedImage: 'tool:1',
        runtimeHandler: '',
        annotations: { a: 'b' },
      },
      imageSubPath: 'etc',
    });
    expect(mount).not.toHaveProperty('hostPath');
  });

  it.each([
    ['a volume that is not mounted', { name: 'w' }, 'cannot find volume "w" to mount into container "app"'],
    ['an unknown propagation', { mountPropagation: 'Upwards' }, 'invalid MountPropagation mode: "Upwards"'],
    [
      'recursive read-only on a writable mount',
      { recursiveReadOnly: 'Enabled' },
      'failed to resolve recursive read-only mode: volume "v" requested recursive read-only mode, but it is not read-only',
    ],
    [
      'recursive read-only with propagation',
      { recursiveReadOnly: 'IfPossible', readOnly: true, mountPropagation: 'HostToContainer' },
      'failed to resolve recursive read-only mode: volume "v" requested recursive read-only mode, but it is not compatible with propagation "HostToContainer"',
    ],
    [
      'recursive read-only that the runtime lacks',
      { recursiveReadOnly: 'Enabled', readOnly: true },
      'failed to resolve recursive read-only mode: volume "v" requested recursive read-only mode, but it is not supported by the runtime',
    ],
    ['an absolute subPath', { subPath: '/tmp' }, 'error SubPath `/tmp` must not be an absolute path'],
    [
      'a subPath with `..`',
      { subPath: '../out' },
      "unable to provision SubPath `../out`: must not contain '..'",
    ],
  ])('refuse %s', async (_, mount, message) => {
    await expect(mountsOf(mount)).rejects.toThrow(message);
  });
});

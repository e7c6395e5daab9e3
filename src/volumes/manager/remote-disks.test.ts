/** The volume manager with disks of a storage network: attached by the cluster's account, taken over after a restart. */
import { afterEach, describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../async/index.js';
import { type SimulatedHost, SimulatedMachine, simulatedHost } from '../../host/index.js';
import type { PersistentVolume, Pod, Volume } from '../../kube/index.js';
import { Timeline } from '../../timeline/index.js';
import { iscsiVolumes } from '../plugins/remote-disks/index.js';
import { TestSan } from '../plugins/remote-disks/test-san.js';
import { VolumeManager } from './manager.js';
import { podWith } from './test-fixtures.js';

const rootDir = '/var/lib/kubelet';
const never = new AbortController().signal;
const iqn = 'iqn.2001-04.com.example:storage';
const source = { targetPortal: '10.0.0.1', iqn, lun: 0 };
const volume: Volume = { name: 'd', iscsi: source };
const uniqueName = `kubernetes.io/iscsi/10.0.0.1:${iqn}:0`;
const path = `${rootDir}/pods/u1/volumes/kubernetes.io~iscsi/d`;

const open = new Set<VolumeManager>();
afterEach(async () => {
  for (const manager of open) await manager.stop();
  open.clear();
});

async function newSan(): Promise<TestSan> {
  const san = new TestSan(new SimulatedMachine());
  await san.begin();
  await simulatedHost({ machine: san.machine }).files.mkdir(rootDir, { recursive: true });
  return san;
}

interface Run {
  readonly clock: VirtualClock;
  readonly host: SimulatedHost;
  readonly manager: VolumeManager;
  readonly attached: Set<string>;
  readonly gone: Set<string>;
  readonly events: () => string[];
}

function run(san: TestSan, persistentVolume?: PersistentVolume): Run {
  const clock = new VirtualClock();
  const host = simulatedHost({ machine: san.machine });
  const timeline = new Timeline({ clock });
  const said: string[] = [];
  timeline.subscribe(({ event, message }) => {
    if (event !== undefined) said.push(`${event.reason} ${message}`);
  });
  const attached = new Set<string>();
  const gone = new Set<string>();
  const manager = new VolumeManager({
    clock,
    timeline,
    host,
    rootDir,
    plugins: [
      iscsiVolumes({
        host,
        clock,
        rootDir,
        runDiskTool: san.tools(host),
        readSecret: async () => ({}),
      }),
    ],
    pods: {
      allSourcesReady: () => true,
      isConfigured: () => true,
      isRuntimeGone: (uid) => gone.has(uid),
    },
    node: () => ({ name: 'n', labels: {} }),
    supportsRecursiveReadOnly: () => false,
    isSelinuxEnabled: false,
    attachments: { attached: () => attached, read: async () => attached },
    ...(persistentVolume === undefined
      ? {}
      : {
          claims: {
            resolve: async () => ({ persistentVolume, readOnly: false, extraGroup: undefined }),
          },
        }),
  });
  open.add(manager);
  return { clock, host, manager, attached, gone, events: () => said };
}

async function mounted({ clock, manager, attached }: Run, pod: Pod): Promise<void> {
  attached.add(uniqueName);
  const wait = manager.waitForMounts(pod, never);
  await settle();
  manager.volumesReported([uniqueName]);
  await clock.advance(1_000);
  await wait;
}

async function ended({ clock, manager, gone }: Run, pod: Pod): Promise<void> {
  gone.add(pod.metadata.uid);
  const wait = manager.waitForUnmounts(pod, never);
  await clock.advance(5_000);
  await wait;
  await clock.advance(5_000);
}

async function expectGone({ host, manager }: Run, san: TestSan): Promise<void> {
  await san.settle();
  expect([...san.sessions]).toEqual([]);
  expect(san.disks).toEqual([]);
  const left = (await host.mounts.list()).filter(({ target }) => target.startsWith(`${rootDir}/`));
  expect(left).toEqual([]);
  expect(await host.files.readdir(`${rootDir}/plugins/kubernetes.io~iscsi/disks`)).toEqual([]);
  expect(manager.volumesInUse()).toEqual([]);
}

describe('an iSCSI volume of a pod', () => {
  const pod = podWith([volume]);

  it('waits until the cluster counts it as attached, and is in use until it is logged out', async () => {
    const san = await newSan();
    const on = run(san);
    const wait = on.manager.waitForMounts(pod, never);
    await on.clock.advance(10_000);
    expect([...san.sessions]).toEqual([]);
    expect(on.manager.volumesInUse()).toEqual([uniqueName]);
    on.attached.add(uniqueName);
    on.manager.volumesReported([uniqueName]);
    await on.clock.advance(1_000);
    await wait;
    expect(on.manager.volumeDirectory(pod, 'd')).toBe(path);
    expect(on.events()).toEqual([]);
    await ended(on, pod);
    await expectGone(on, san);
  });

  it('that cannot be logged in names the step, and leaves nothing when the pod goes', async () => {
    const san = await newSan();
    san.luns = [];
    const on = run(san);
    on.attached.add(uniqueName);
    const wait = on.manager.waitForMounts(pod, never).catch((error: unknown) => String(error));
    await settle();
    on.manager.volumesReported([uniqueName]);
    await on.clock.advance(125_000);
    expect(await wait).toContain('unmounted volumes=[d]');
    expect(on.events()[0]).toBe(
      `FailedMount MountVolume.WaitForAttach failed for volume "d" : lun 0 of ${iqn} has no device after 10s`,
    );
    await on.clock.advance(60_000);
    await ended(on, pod);
    await on.clock.advance(125_000);
    await expectGone(on, san);
  });

  it('is taken over by the next kubelet, and goes with its pod', async () => {
    const san = await newSan();
    const first = run(san);
    await mounted(first, pod);
    await first.manager.stop();
    const next = run(san);
    next.attached.add(uniqueName);
    await next.manager.start();
    await next.clock.advance(1_000);
    expect(next.manager.exist('u1')).toBe(true);
    await mounted(next, pod);
    expect(san.commands.filter((words) => words.includes('--login'))).toHaveLength(1);
    await ended(next, pod);
    await expectGone(next, san);
  });

  it('whose pod went while no kubelet ran is unmounted and logged out', async () => {
    const san = await newSan();
    const first = run(san);
    await mounted(first, pod);
    await first.manager.stop();
    const next = run(san);
    next.gone.add('u1');
    await next.manager.start();
    await next.clock.advance(10_000);
    await expectGone(next, san);
  });

  it('that was logged in when the kubelet died, and that no pod has a directory for, is logged out', async () => {
    const san = await newSan();
    const first = run(san);
    first.host.inject({
      at: ({ operation, path: at }) => operation === 'mkdir' && at.includes('/iface-default'),
      when: 'before',
      effect: { kind: 'die' },
    });
    first.attached.add(uniqueName);
    first.manager.waitForMounts(pod, never).catch(() => undefined);
    await settle();
    first.manager.volumesReported([uniqueName]);
    await first.clock.advance(1_000);
    expect(san.sessions.size).toBe(1);
    const next = run(san);
    next.gone.add('u1');
    await next.manager.start();
    await next.clock.advance(10_000);
    await expectGone(next, san);
  });
});

it('an iSCSI volume of mode Block is mapped, and logged out after its pod', async () => {
  const san = await newSan();
  const persistentVolume = {
    metadata: { name: 'pv' },
    spec: { volumeMode: 'Block', accessModes: ['ReadWriteOnce'], iscsi: source },
  };
  const on = run(san, persistentVolume);
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'ns', uid: 'u1' },
    spec: {
      containers: [{ name: 'app', image: 'app:1', volumeDevices: [{ name: 'd', devicePath: '/dev/x' }] }],
      volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }],
    },
  };
  await mounted(on, pod);
  const [container] = pod.spec.containers;
  const link = `${rootDir}/pods/u1/volumeDevices/kubernetes.io~iscsi/pv`;
  expect(await on.manager.devices(pod, container!)).toEqual([
    { containerPath: '/dev/x', hostPath: link, permissions: 'mrw' },
  ]);
  expect(await on.host.files.readlink(link)).toBe('/dev/sdb');
  await on.manager.stop();
  const next = run(san, persistentVolume);
  next.gone.add('u1');
  await next.manager.start();
  await next.clock.advance(10_000);
  await expectGone(next, san);
  expect([...san.machine.loops.keys()]).toEqual([]);
  expect(await next.host.files.readdir(`${rootDir}/plugins/kubernetes.io~iscsi/volumeDevices`)).toEqual([]);
});

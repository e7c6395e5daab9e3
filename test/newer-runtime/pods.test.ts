/** What pods ask for and only a newer runtime does: seen from inside their containers. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PodSpec } from '../../src/kube/index.js';
import { busybox, eventually, forever, manifest, shell, TestNode } from '../containerd/agent.js';
import { buildBusyboxImage, runCommand } from '../env/index.js';

let node: TestNode;

beforeAll(async () => {
  node = await TestNode.create({ config: { featureGates: { ContainerStopSignals: true } } });
  const content = [
    { type: 'file', path: 'models/small', content: 'weights' },
    // The image's user is in a group of the image's own.
    { type: 'file', path: 'etc/passwd', content: 'app:x:1000:1000::/:/bin/sh\n' },
    { type: 'file', path: 'etc/group', content: 'app:x:1000:\nextra:x:50000:app\n' },
  ] as const;
  const image = await buildBusyboxImage(
    { name: 'nodelet.test/content:1', config: { user: '1000' } },
    content,
  );
  await node.containerd.importImages([image]);
  await node.start();
});
afterAll(() => node?.stop());

const content = 'nodelet.test/content:1';

async function apply(name: string, spec: Partial<PodSpec>): Promise<void> {
  await node.apply(`${name}.yaml`, manifest(name, { uid: `uid-${name}`, spec }));
}

const mounting = (volumeMounts: NonNullable<PodSpec['containers'][number]['volumeMounts']>) => [
  { name: 'app', image: busybox, command: forever, volumeMounts },
];

describe.concurrent('image volumes', () => {
  const volumes = [{ name: 'data', image: { reference: content, pullPolicy: 'Never' as const } }];

  it('show the files of an image, and take no writes', async () => {
    await apply('image', { volumes, containers: mounting([{ name: 'data', mountPath: '/data' }]) });
    await node.untilReady('image');
    expect(await node.exec('image', 'app', 'cat', '/data/models/small')).toBe('weights');
    await expect(node.exec('image', 'app', 'touch', '/data/new')).rejects.toThrow('Read-only file system');
  });

  it('show one directory of it', async () => {
    const mount = { name: 'data', mountPath: '/data', subPath: 'models' };
    await apply('image-part', { volumes, containers: mounting([mount]) });
    await node.untilReady('image-part');
    expect(await node.exec('image-part', 'app', 'ls', '/data')).toBe('small\n');
  });

  it('whose directory is not in the image keep their container from starting, and are counted', async () => {
    const mount = { name: 'data', mountPath: '/data', subPath: 'nowhere' };
    await apply('image-nowhere', { volumes, containers: mounting([mount]) });
    const status = await node.until('image-nowhere', 'waits', ({ containerStatuses: [app] = [] }) => {
      return app?.state?.waiting?.reason !== 'ContainerCreating' && app?.state?.waiting !== undefined;
    });
    expect(status.containerStatuses?.[0]?.state?.waiting).toMatchObject({
      reason: 'CreateContainerError',
      message: expect.stringContaining('ImageVolumeMountFailed'),
    });
    await eventually('the failure is counted', async () => {
      return ((await node.metric('kubelet_image_volume_mounted_errors_total')) ?? 0) > 0;
    });
  });
});

it('recursive read-only: a mount below a read-only volume takes no writes either', async () => {
  const host = join(node.dir, 'host');
  mkdirSync(join(host, 'below'), { recursive: true });
  await runCommand('mount', ['-t', 'tmpfs', 'tmpfs', join(host, 'below')]);
  node.cleanups.defer('the mount below', async () => {
    await runCommand('umount', ['--lazy', join(host, 'below')]);
  });
  writeFileSync(join(host, 'below', 'file'), 'there');
  const volumes = [{ name: 'host', hostPath: { path: host } }];
  const readOnly = { name: 'host', readOnly: true };
  await apply('read-only', {
    volumes,
    containers: mounting([
      { ...readOnly, mountPath: '/plain' },
      { ...readOnly, mountPath: '/all', recursiveReadOnly: 'Enabled' },
      { ...readOnly, mountPath: '/possible', recursiveReadOnly: 'IfPossible' },
    ]),
  });
  const status = await node.untilReady('read-only');
  expect(await node.exec('read-only', 'app', 'cat', '/all/below/file')).toBe('there');
  await node.exec('read-only', 'app', 'touch', '/plain/below/written');
  for (const place of ['/all', '/possible']) {
    const write = node.exec('read-only', 'app', 'touch', `${place}/below/written`);
    await expect(write).rejects.toThrow('Read-only file system');
  }
  expect(
    Object.fromEntries(
      (status.containerStatuses?.[0]?.volumeMounts ?? []).map((mount) => [
        mount.mountPath,
        mount.recursiveReadOnly,
      ]),
    ),
  ).toMatchObject({ '/plain': 'Disabled', '/all': 'Enabled', '/possible': 'Enabled' });
});

it('supplementalGroupsPolicy: Strict leaves out the groups of the image, Merge does not', async () => {
  const containers = [{ name: 'app', image: content, command: forever }];
  for (const [name, supplementalGroupsPolicy, groups] of [
    ['strict', 'Strict', [1000, 60_000]],
    ['merge', 'Merge', [1000, 50_000, 60_000]],
  ] as const) {
    await apply(name, {
      containers,
      securityContext: { supplementalGroups: [60_000], supplementalGroupsPolicy },
    });
    await node.untilReady(name);
    const seen = (await node.exec(name, 'app', 'id', '-G')).trim().split(' ').map(Number);
    expect(seen.sort((a, b) => a - b)).toEqual(groups);
    const status = await node.status(name);
    expect(status?.containerStatuses?.[0]?.user?.linux).toMatchObject({ uid: 1000, gid: 1000 });
    expect([...(status?.containerStatuses?.[0]?.user?.linux?.supplementalGroups ?? [])].sort()).toEqual(
      groups,
    );
  }
});

it('stopSignal: a container gets the signal that it wants, and its status tells which', async () => {
  const file = join(node.dir, 'signals');
  mkdirSync(file);
  const script = `trap 'echo usr1 > /signals/got; exit 0' USR1; trap '' TERM; while true; do sleep 0.1; done`;
  const mount = { name: 'signals', mountPath: '/signals' };
  await apply('signal', {
    os: { name: 'linux' },
    volumes: [{ name: 'signals', hostPath: { path: file } }],
    containers: [
      {
        name: 'app',
        image: busybox,
        command: shell(script),
        volumeMounts: [mount],
        lifecycle: { stopSignal: 'SIGUSR1' },
      },
    ],
    terminationGracePeriodSeconds: 60,
  });
  const status = await node.untilReady('signal');
  expect(status.containerStatuses?.[0]?.stopSignal).toBe('SIGUSR1');
  await node.remove('signal.yaml');
  await node.untilGone('signal', 30_000);
  const { stdout } = await runCommand('cat', [join(file, 'got')]);
  expect(stdout).toBe('usr1\n');
});

it('user namespaces: containerd has them, the packaged runc has not, and the pod says who cannot', async () => {
  const { runtimeHandlers } = await node.cri.status({ verbose: false });
  // A runc of 1.2 or newer makes this fail: then let the pod run, and look at its /proc/self/uid_map.
  expect(runtimeHandlers.map(({ features }) => features?.userNamespaces)).toEqual([false, false]);
  await apply('own-users', { hostUsers: false });
  const told = () => node.logOf('own-users', 'event.FailedCreatePodSandBox');
  await eventually('the pod says so', async () => told().length > 0);
  expect(told()[0]).toContain("can't set `spec.hostUsers: false`, runtime does not support user namespaces");
});

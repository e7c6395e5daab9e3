/** Volumes on a real runtime: what is left in them, who may read them, ways out of them, and refusals. */
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Container, PodManifest, Volume } from '../../src/kube/index.js';
import { mountsBelow } from '../env/mounts.js';
import { busybox, eventually, forever, manifest } from './agent.js';
import { configMap, createVolumeNode, podWithVolumes, secret, type VolumeNode } from './volume-node.js';

let on: VolumeNode;
let outside: string;
beforeAll(async () => {
  on = await createVolumeNode();
  outside = path.join(on.node.dir, 'outside');
  await mkdir(outside);
  await on.start();
});
afterAll(() => on.node.stop());

async function run(pod: PodManifest): Promise<void> {
  const name = pod.metadata.name!;
  await on.node.apply(`${name}.yaml`, pod);
  await on.node.untilReady(name, 30_000);
}

/** Why the first container that waits for its configuration does so. */
async function configError(pod: PodManifest): Promise<string> {
  const name = pod.metadata.name!;
  await on.node.apply(`${name}.yaml`, pod);
  const refused = async (): Promise<string | undefined> => {
    const waiting = (await on.node.status(name))?.containerStatuses?.map(({ state }) => state?.waiting) ?? [];
    return waiting.find((state) => state?.reason === 'CreateContainerConfigError')?.message;
  };
  await eventually('it is refused', async () => (await refused()) !== undefined, 30_000);
  return (await refused()) ?? '';
}

/** Waits until the pod is told that a mount failed for this reason; objects may be read a moment after the pod. */
async function failsToMount(pod: PodManifest, reason: RegExp): Promise<void> {
  const name = pod.metadata.name!;
  await on.node.apply(`${name}.yaml`, pod);
  const messages = async (): Promise<string[]> =>
    (await on.events(name, 'FailedMount')).map((event) => JSON.parse(event).message as string);
  await eventually(`an event says ${reason}`, async () =>
    (await messages()).some((text) => reason.test(text)),
  );
  expect((await on.node.status(name))?.phase).toBe('Pending');
  await on.removeWholly(name);
}

const at = (name: string) => [{ name, mountPath: `/${name}` }];
const memory: Volume = { name: 'm', emptyDir: { medium: 'Memory' } };

describe('an emptyDir', () => {
  it('in memory is open to root and others alike', async () => {
    await run(
      manifest('all', {
        spec: {
          containers: ['app', 'other'].map((name) => ({
            name,
            image: busybox,
            command: [...forever],
            volumeMounts: at('m'),
            ...(name === 'app' ? {} : { securityContext: { runAsUser: 1001 } }),
          })),
          volumes: [memory],
        },
      }),
    );
    await on.inside('all', 'for m in 644 666 777; do echo $m > /m/$m; chmod $m /m/$m; done; rm -f /m/own');
    expect(await on.inside('all', 'id -u; cat /m/644 /m/666 /m/777; echo x > /m/own', 'other')).toBe(
      '1001\n644\n666\n777',
    );
    expect(await on.inside('all', "cat /m/own; stat -c '%A %u' /m/own")).toBe('x\n-rw-r--r-- 1001');
    await on.removeWholly('all');
  });

  it('hands its mode and group down to a subPath that is made', async () => {
    await run(
      podWithVolumes(
        'sub',
        [memory],
        { volumeMounts: [{ name: 'm', mountPath: '/m', subPath: 'test-sub' }] },
        { securityContext: { fsGroup: 123 } },
      ),
    );
    expect(await on.inside('sub', "stat -c '%a %u %g' /m")).toBe('3777 0 123');
    await on.removeWholly('sub');
  });

  it('in huge pages is not mounted where the node has none: the pod is refused', async () => {
    const requests = { 'hugepages-2Mi': '2Mi', memory: '16Mi', cpu: '10m' };
    const pod = podWithVolumes('huge', [{ name: 'h', emptyDir: { medium: 'HugePages' } }], {
      volumeMounts: at('h'),
      resources: { requests, limits: requests },
    });
    await on.node.apply('huge.yaml', pod);
    await eventually('it is refused', async () => (await on.node.status('huge'))?.phase === 'Failed', 30_000);
    const { reason, message } = (await on.node.status('huge')) ?? {};
    expect(`${reason}: ${message}`).toMatch(/hugepages-2Mi/);
    expect(await on.events('huge', 'FailedMount')).toEqual([]);
    await on.removeWholly('huge');
  });

  it.each([
    ['disk', {}, {}],
    ['memory', { medium: 'Memory' }, {}],
    ['subpath', {}, { subPath: 'a/b' }],
  ])('goes with what a container mounted in it and left: %s', async (kind, emptyDir, mount) => {
    // A shared mount of the machine with one in it; neither may go.
    const shared = path.join(outside, `shared-${kind}`);
    await mkdir(shared);
    execFileSync('sh', [
      '-c',
      `mount -t tmpfs tmpfs ${shared} && mount --make-shared ${shared} && mkdir ${shared}/in && mount -t tmpfs tmpfs ${shared}/in && touch ${shared}/in/kept`,
    ]);
    try {
      const name = `left-${kind}`;
      await run(
        podWithVolumes(
          name,
          [
            { name: 'e', emptyDir },
            { name: 'h', hostPath: { path: shared } },
          ],
          {
            securityContext: { privileged: true },
            volumeMounts: [
              { name: 'e', mountPath: '/e', mountPropagation: 'Bidirectional', ...mount },
              { name: 'h', mountPath: '/h', mountPropagation: 'Bidirectional' },
            ],
          },
        ),
      );
      await on.inside(
        name,
        'mkdir /e/own /e/copy && mount -t tmpfs tmpfs /e/own && mount --rbind /h /e/copy',
      );
      const directory = await on.podDirectory(name);
      expect(mountsBelow(directory).filter((found) => found.mountPoint.endsWith('/copy/in'))).not.toEqual([]);
      await on.removeWholly(name);
      expect(execFileSync('ls', [path.join(shared, 'in')], { encoding: 'utf8' })).toBe('kept\n');
    } finally {
      execFileSync('umount', ['-R', shared]);
    }
  });
});

describe('a hostPath', () => {
  const pathOf = (name: string, source: { path: string; type: string }): PodManifest =>
    podWithVolumes(name, [{ name: 'h', hostPath: source }], { volumeMounts: at('h') });

  it('may be a socket or a device', async () => {
    const socket = path.join(outside, 'socket');
    const server = createServer().listen(socket);
    try {
      await run(pathOf('socket', { path: socket, type: 'Socket' }));
      expect(await on.inside('socket', 'test -S /h && echo yes')).toBe('yes');
      await on.removeWholly('socket');
    } finally {
      server.close();
    }
    await run(pathOf('device', { path: '/dev/null', type: 'CharDevice' }));
    expect(await on.inside('device', 'test -c /h && echo yes')).toBe('yes');
    await on.removeWholly('device');
  });

  it.each([
    ['Socket', 'a socket file'],
    ['BlockDevice', 'a block device'],
    ['File', 'a file'],
  ])('of type %s is nothing else', async (type, described) => {
    await failsToMount(
      pathOf(`no-${type.toLowerCase()}`, { path: '/dev/null', type }),
      new RegExp(
        `^MountVolume.SetUp failed for volume "h" : hostPath type check failed: /dev/null is not ${described}, it's a CharDevice$`,
      ),
    );
  });
});

describe('a subPath', () => {
  /** A pod whose first container changes the volume before the second one is made. */
  const prepared = (
    name: string,
    script: string,
    mount: object,
    container: Partial<Container> = {},
  ): PodManifest =>
    manifest(name, {
      spec: {
        initContainers: [
          { name: 'first', image: busybox, command: ['sh', '-c', script], volumeMounts: at('e') },
        ],
        containers: [
          {
            name: 'app',
            image: busybox,
            command: [...forever],
            volumeMounts: [{ name: 'e', mountPath: '/e', ...mount }],
            ...container,
          },
        ],
        volumes: [{ name: 'e', emptyDir: {} }],
      },
    });
  const prepare = 'failed to prepare subPath for volumeMount "e" of container "app"';
  const create = 'failed to create subPath directory for volumeMount "e" of container "app"';

  it.each([
    ['absolute', 'ln -s /etc /e/link', 'link', prepare],
    ['upward', `ln -s ${'../'.repeat(20)}etc /e/link`, 'link', prepare],
    ['in-between', 'ln -s / /e/link', 'link/etc', prepare],
    ['to-be-made', 'ln -s / /e/link', 'link/made-by-nobody', create],
  ])('that is a link of a container leads nowhere: %s', async (kind, script, subPath, message) => {
    const name = `link-${kind}`;
    expect(await configError(prepared(name, script, { subPath }))).toBe(message);
    await on.removeWholly(name);
    await expect(readFile('/made-by-nobody')).rejects.toThrow('ENOENT');
  });

  it('that is a link within the volume is followed', async () => {
    await run(
      prepared('inside', 'mkdir /e/real; echo x > /e/real/file; ln -s real /e/link', { subPath: 'link' }),
    );
    expect(await on.inside('inside', 'cat /e/file')).toBe('x');
    await on.removeWholly('inside');
  });

  it('that a variable makes absolute or leads up is refused', async () => {
    for (const [name, value, message] of [
      ['rooted', '/tmp', 'error SubPath `/tmp` must not be an absolute path'],
      ['up', '../x', "unable to provision SubPath `../x`: must not contain '..'"],
    ] as const) {
      const pod = podWithVolumes(name, [{ name: 'e', emptyDir: {} }], {
        env: [{ name: 'WHERE', value }],
        volumeMounts: [{ name: 'e', mountPath: '/e', subPathExpr: '$(WHERE)' }],
      });
      expect(await configError(pod)).toBe(message);
      await on.removeWholly(name);
    }
  });

  it('waits for the annotation that it is named after', async () => {
    const pod = podWithVolumes('annotated', [{ name: 'e', emptyDir: {} }], {
      env: [{ name: 'ANNOTATION', valueFrom: { fieldRef: { fieldPath: "metadata.annotations['where']" } } }],
      volumeMounts: [{ name: 'e', mountPath: '/e', subPathExpr: '$(ANNOTATION)/x' }],
    });
    expect(await configError(pod)).toBe('missing value for ANNOTATION');
    await run({ ...pod, metadata: { ...pod.metadata, annotations: { where: 'here' } } });
    expect(mountsBelow(path.join(await on.podDirectory('annotated'), 'volume-subpaths'))).toHaveLength(1);
    await on.removeWholly('annotated');
  });
});

describe('a persistent volume', () => {
  const give = async (name: string, spec: object): Promise<void> => {
    await on.putObject(`${name}.json`, {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], ...spec },
    });
  };

  it('that is a hostPath is used through a claim, read-only if that says so', async () => {
    await mkdir(path.join(outside, 'host-disk'));
    await writeFile(path.join(outside, 'host-disk/file'), 'x');
    await give('pv-host', {
      hostPath: { path: path.join(outside, 'host-disk') },
      claimRef: { namespace: 'default', name: 'host-data' },
    });
    await on.putObject('host-data.json', {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'host-data', namespace: 'default' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
    for (const readOnly of [false, true]) {
      const volume: Volume = { name: 'd', persistentVolumeClaim: { claimName: 'host-data', readOnly } };
      await run(podWithVolumes('hostclaim', [volume], { volumeMounts: at('d') }));
      expect(await on.inside('hostclaim', 'cat /d/file; touch /d/new 2> /dev/null || echo refused')).toBe(
        readOnly ? 'xrefused' : 'x',
      );
      await on.removeWholly('hostclaim');
    }
    expect(await readFile(path.join(outside, 'host-disk/file'), 'utf8')).toBe('x');
  });

  it('is found by the template of a generic ephemeral volume', async () => {
    await mkdir(path.join(outside, 'ephemeral-disk'));
    await give('pv-ephemeral', { local: { path: path.join(outside, 'ephemeral-disk') } });
    const spec = {
      accessModes: ['ReadWriteOnce'],
      volumeName: 'pv-ephemeral',
      resources: { requests: { storage: '1Gi' } },
    };
    const volume: Volume = { name: 'd', ephemeral: { volumeClaimTemplate: { spec } } };
    await run(podWithVolumes('ephemeral', [volume], { volumeMounts: at('d') }));
    await on.inside('ephemeral', 'echo kept > /d/file');
    await on.removeWholly('ephemeral');
    expect(await readFile(path.join(outside, 'ephemeral-disk/file'), 'utf8')).toBe('kept\n');
  });

  it('that is a disk is a device in the container, which reads and writes it', async () => {
    const file = path.join(outside, 'disk.img');
    await writeFile(file, Buffer.alloc(4 * 1024 * 1024));
    const losetup = (...args: string[]): string => execFileSync('losetup', args, { encoding: 'utf8' }).trim();
    const disk = losetup('-f', '--show', file);
    try {
      await give('pv-block', {
        local: { path: disk },
        volumeMode: 'Block',
        claimRef: { namespace: 'default', name: 'block' },
      });
      await on.putObject('block.json', {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'block', namespace: 'default' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          volumeMode: 'Block',
          resources: { requests: { storage: '1Gi' } },
        },
      });
      const claim = (readOnly: boolean): Volume => ({
        name: 'd',
        persistentVolumeClaim: { claimName: 'block', readOnly },
      });
      const devices = { volumeDevices: [{ name: 'd', devicePath: '/dev/x' }] };
      await run(podWithVolumes('writer', [claim(false)], devices));
      await on.inside('writer', 'echo raw | dd of=/dev/x bs=512 seek=3 conv=fsync,notrunc 2>/dev/null');
      await on.removeWholly('writer');
      await run(podWithVolumes('reader', [claim(true)], devices));
      const read = await on.inside('reader', 'dd if=/dev/x bs=512 skip=3 count=1 2>/dev/null | head -c 3');
      expect(read).toContain('raw');
      const refused = await on.inside('reader', 'echo no | dd of=/dev/x 2>&1 || true');
      expect(refused).toMatch(/not permitted|denied/);
      await on.removeWholly('reader');
      await eventually('the disk is released', async () => !losetup('-a').includes('pv-block'));
      expect(mountsBelow(on.node.dir).filter(({ mountPoint }) => mountPoint.includes('pv-block'))).toEqual(
        [],
      );
    } finally {
      losetup('-d', disk);
    }
  });

  it('of a file server is mounted by the mount command', async () => {
    const volume: Volume = { name: 'n', nfs: { server: '127.0.0.1', path: '/exports', readOnly: true } };
    await failsToMount(
      podWithVolumes('nfs', [volume], { volumeMounts: at('n') }),
      /^MountVolume\.SetUp failed for volume "n" : mount failed: [\s\S]*\nMounting command: mount\nMounting arguments: -t nfs -o ro -- 127\.0\.0\.1:\/exports \S+\/volumes\/kubernetes\.io~nfs\/n\n/,
    );
  });
});

describe('variables', () => {
  it('have the names of their keys, whatever those are; what is optional may be missing', async () => {
    await on.putObject('odd.json', configMap('odd', { '1.bad-name': 'odd', GOOD: 'fine' }));
    await on.putObject('pass.json', secret('pass', { word: 'x' }));
    await run(
      podWithVolumes('odd', [], {
        envFrom: [{ configMapRef: { name: 'odd' } }, { secretRef: { name: 'no-such', optional: true } }],
        env: [
          { name: 'KEY', valueFrom: { secretKeyRef: { name: 'pass', key: 'none', optional: true } } },
          { name: 'MAP', valueFrom: { configMapKeyRef: { name: 'none', key: 'k', optional: true } } },
        ],
      }),
    );
    const variables = (await on.inside('odd', "tr '\\0' '\\n' < /proc/1/environ")).split('\n');
    expect(variables).toContain('1.bad-name=odd');
    expect(variables).toContain('GOOD=fine');
    expect(variables.filter((line) => /^(KEY|MAP)=/.test(line))).toEqual([]);
    expect(await on.events('odd', 'InvalidEnvironmentVariableNames')).toEqual([]);
    await on.removeWholly('odd');
  });

  it.each([
    ['env-no-map', { envFrom: [{ configMapRef: { name: 'none' } }] }, 'configmap "none" not found'],
    ['env-no-secret', { envFrom: [{ secretRef: { name: 'none' } }] }, 'secret "none" not found'],
    [
      'env-no-key',
      { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'odd', key: 'none' } } }] },
      "couldn't find key none in ConfigMap default/odd",
    ],
  ])('that cannot be had keep the container waiting: %s', async (name, container, message) => {
    expect(await configError(podWithVolumes(name, [], container))).toBe(message);
    expect(JSON.parse((await on.events(name, 'Failed'))[0] ?? '{}').message).toBe(`Error: ${message}`);
    await on.removeWholly(name);
  });
});

it('a pod of the host network has the hosts file of the machine, with its aliases', async () => {
  await run(
    podWithVolumes(
      'hostnet',
      [],
      {},
      { hostNetwork: true, hostAliases: [{ ip: '123.45.67.89', hostnames: ['foo', 'bar'] }] },
    ),
  );
  expect(await on.inside('hostnet', 'cat /etc/hosts')).toBe(
    `# Kubernetes-managed hosts file (host network).\n${await readFile('/etc/hosts', 'utf8')}\n# Entries added by HostAliases.\n123.45.67.89\tfoo\tbar`,
  );
  await on.removeWholly('hostnet');
});

it('nothing of all that is left', async () => {
  expect(on.podMounts()).toEqual([]);
  expect(await on.podDirectories()).toEqual([]);
});

/** Volumes as containers on a real runtime see them, and what is left of them afterwards. */
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chosenRelease } from '../env/index.js';
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

const waiting = async (name: string) => (await on.node.status(name))?.containerStatuses?.[0]?.state?.waiting;
const run = async (pod: ReturnType<typeof manifest>): Promise<string> => {
  const name = pod.metadata.name!;
  await on.node.apply(`${name}.yaml`, pod);
  await on.node.untilReady(name, 30_000);
  return name;
};
/** Waits until the first container of a pod cannot be configured, and gives why. */
async function configError(pod: ReturnType<typeof manifest>): Promise<string> {
  const name = pod.metadata.name!;
  await on.node.apply(`${name}.yaml`, pod);
  await on.node.until(
    name,
    'is refused',
    (status) => status.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError',
    30_000,
  );
  return (await waiting(name))?.message ?? '';
}

describe('emptyDir', () => {
  it('is shared by the containers of a pod, open to all, and gone with the pod', async () => {
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    await run(
      manifest('shared', {
        spec: {
          containers: [
            { name: 'app', image: busybox, command: [...forever], volumeMounts },
            { name: 'side', image: busybox, command: [...forever], volumeMounts },
          ],
          volumes: [{ name: 'v', emptyDir: {} }],
        },
      }),
    );
    await on.inside('shared', 'echo hello > /v/file');
    expect(await on.inside('shared', 'cat /v/file; stat -c %a /v', 'side')).toBe('hello\n777');
    const directory = await on.podDirectory('shared');
    const marker = path.join(directory, 'plugins/kubernetes.io~empty-dir/v/ready');
    expect((await stat(marker)).isFile() || (await stat(marker)).isDirectory()).toBe(true);
    expect((await stat(directory)).mode & 0o777).toBe(0o750);
    await on.removeWholly('shared');
  });

  it('in memory has the size that it is limited to', async () => {
    await run(
      podWithVolumes('memory', [{ name: 'm', emptyDir: { medium: 'Memory', sizeLimit: '10Mi' } }], {
        volumeMounts: [{ name: 'm', mountPath: '/m' }],
      }),
    );
    expect(await on.inside('memory', "df -k /m | tail -1 | awk '{print $2}'")).toBe('10240');
    expect(await on.inside('memory', "grep ' /m ' /proc/mounts | cut -d' ' -f3; stat -c %a /m")).toBe(
      'tmpfs\n1777',
    );
    await on.removeWholly('memory');
  });

  it('in memory is no larger than what the pod may use', async () => {
    await run(
      podWithVolumes('limited', [{ name: 'm', emptyDir: { medium: 'Memory', sizeLimit: '1Gi' } }], {
        volumeMounts: [{ name: 'm', mountPath: '/m' }],
        resources: { limits: { memory: '64Mi' } },
      }),
    );
    expect(await on.inside('limited', "df -k /m | tail -1 | awk '{print $2}'")).toBe('65536');
    await on.removeWholly('limited');
  });

  it('goes away with the end of the pod, before the pod is deleted', async () => {
    const pod = podWithVolumes(
      'once',
      [{ name: 'm', emptyDir: { medium: 'Memory' } }],
      { command: ['sh', '-c', 'echo x > /m/x'], volumeMounts: [{ name: 'm', mountPath: '/m' }] },
      { restartPolicy: 'Never' },
    );
    await on.node.apply('once.yaml', pod);
    await on.node.until('once', 'is done', ({ phase }) => phase === 'Succeeded');
    const volumes = path.join(await on.podDirectory('once'), 'volumes/kubernetes.io~empty-dir/m');
    await eventually(
      'the volume is gone',
      async () => (await stat(volumes).catch(() => undefined)) === undefined,
      10_000,
    );
    await on.removeWholly('once');
  });
});

describe('hostPath', () => {
  const hostPath = (name: string, source: { path: string; type?: string }) =>
    podWithVolumes(name, [{ name: 'h', hostPath: source }], {
      volumeMounts: [{ name: 'h', mountPath: '/h' }],
    });

  it.each([
    ['Directory', 'dir'],
    ['DirectoryOrCreate', 'made/by/type'],
    ['File', 'file'],
    ['FileOrCreate', 'made-file'],
  ])('of type %s', async (type, name) => {
    await mkdir(path.join(outside, 'dir'), { recursive: true });
    await writeFile(path.join(outside, 'file'), 'x');
    const pod = `path-${type.toLowerCase()}`;
    await run(hostPath(pod, { path: path.join(outside, name), type }));
    const isFile = type.startsWith('File');
    expect(await on.inside(pod, 'test -f /h && echo file || echo directory')).toBe(
      isFile ? 'file' : 'directory',
    );
    const { mode } = await stat(path.join(outside, name));
    expect((mode & 0o777).toString(8)).toBe(isFile ? '644' : '755');
    await on.removeWholly(pod);
    expect((await stat(path.join(outside, name))).isFile()).toBe(isFile);
  });

  it('that is no directory keeps the pod from starting, and says so', async () => {
    await writeFile(path.join(outside, 'plain'), '');
    await on.node.apply(
      'wrong.yaml',
      hostPath('wrong', { path: path.join(outside, 'plain'), type: 'Directory' }),
    );
    await eventually('an event says why', async () => (await on.events('wrong', 'FailedMount')).length > 0);
    const [event] = await on.events('wrong', 'FailedMount');
    expect(event).toContain(
      `MountVolume.SetUp failed for volume \\"h\\" : hostPath type check failed: ${outside}/plain is not a directory`,
    );
    expect((await waiting('wrong'))?.reason).toBe('ContainerCreating');
    await on.removeWholly('wrong');
  });
});

describe('ConfigMaps and Secrets', () => {
  it('are files with the modes and owners that were asked for', async () => {
    await on.putObject('files.json', configMap('files', { one: '1', two: '2' }));
    await on.putObject('keys.json', secret('keys', { key: 'sesame-4711' }));
    await run(
      podWithVolumes(
        'objects',
        [
          {
            name: 'c',
            configMap: {
              name: 'files',
              items: [
                { key: 'one', path: 'deep/one', mode: 0o400 },
                { key: 'two', path: 'two' },
              ],
            },
          },
          { name: 's', secret: { secretName: 'keys', defaultMode: 0o440 } },
          {
            name: 'd',
            downwardAPI: {
              items: [
                { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
                {
                  path: 'cpu',
                  resourceFieldRef: { containerName: 'app', resource: 'limits.cpu', divisor: '1m' },
                },
              ],
            },
          },
          {
            name: 'p',
            projected: {
              defaultMode: 0o444,
              sources: [
                { configMap: { name: 'files', items: [{ key: 'one', path: 'c1' }] } },
                { secret: { name: 'keys' } },
                { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
              ],
            },
          },
        ],
        {
          resources: { limits: { cpu: '1250m' } },
          securityContext: { runAsUser: 1000 },
          volumeMounts: ['c', 's', 'd', 'p'].map((name) => ({ name, mountPath: `/${name}` })),
        },
        { securityContext: { fsGroup: 2000 } },
      ),
    );
    const look = (paths: string): Promise<string> => on.inside('objects', `stat -L -c '%a %u %g' ${paths}`);
    expect(await look('/c/two /c/deep/one /s/key /p/key /p/c1')).toBe(
      ['644 0 2000', '440 0 2000', '440 0 2000', '444 0 2000', '444 0 2000'].join('\n'),
    );
    expect(await on.inside('objects', 'cat /c/two /s/key /d/cpu /p/name /p/c1')).toBe(
      '2sesame-47111250objects-node11',
    );
    expect(await on.inside('objects', 'readlink /c/deep; id -G')).toBe('..data/deep\n1000 2000');
    expect(await on.inside('objects', "grep ' /s ' /proc/mounts | cut -d' ' -f3-4 | cut -d, -f1")).toBe(
      'tmpfs ro',
    );
    await on.removeWholly('objects');
  });

  it('are refreshed in running containers, in one step', async () => {
    await on.putObject('live.json', configMap('live', { a: 'old', b: 'old' }));
    await run(
      podWithVolumes('live', [{ name: 'c', configMap: { name: 'live' } }], {
        volumeMounts: [{ name: 'c', mountPath: '/c' }],
        // A reader that looks at both files through one link sees both old or both new.
        command: [
          'sh',
          '-c',
          'trap \'exit 0\' TERM; while true; do cd /c/..data/ && p=$(pwd -P) && x=$(cat $p/a $p/b 2>/dev/null) && case "$x" in oldold|newnew) ;; *) echo "$x" >> /tmp/mixed;; esac; done',
        ],
      }),
    );
    await on.putObject('live.json', configMap('live', { a: 'new', b: 'new', c: 'more' }));
    await eventually(
      'the new content is there',
      async () => (await on.inside('live', 'cat /c/a')) === 'new',
      20_000,
    );
    expect(await on.inside('live', 'cat /c/b /c/c; ls /c; ls -A /c | grep -c "^\\.\\.20"')).toBe(
      'newmorea\nb\nc\n1',
    );
    expect(await on.inside('live', 'cat /tmp/mixed 2>/dev/null || echo none')).toBe('none');
    await on.removeWholly('live');
  });

  it('keep a pod waiting as long as they are missing', async () => {
    await on.node.apply(
      'early.yaml',
      podWithVolumes('early', [{ name: 'c', configMap: { name: 'later' } }], {
        volumeMounts: [{ name: 'c', mountPath: '/c' }],
      }),
    );
    await eventually('an event says why', async () => (await on.events('early', 'FailedMount')).length > 0);
    const [event] = await on.events('early', 'FailedMount');
    expect(event).toContain('MountVolume.SetUp failed for volume \\"c\\" : configmap \\"later\\" not found');
    expect((await on.node.status('early'))?.phase).toBe('Pending');
    await on.putObject('later.json', configMap('later', { k: 'v' }));
    await on.node.untilReady('early', 10_000);
    await on.removeWholly('early');
  });

  it('that are optional may come and go', async () => {
    await run(
      podWithVolumes('optional', [{ name: 's', secret: { secretName: 'maybe', optional: true } }], {
        volumeMounts: [{ name: 's', mountPath: '/s' }],
      }),
    );
    expect(await on.inside('optional', 'ls /s')).toBe('');
    await on.putObject('maybe.json', secret('maybe', { k: 'v' }));
    await eventually('the file is there', async () => (await on.inside('optional', 'ls /s')) === 'k', 20_000);
    await on.removeObject('maybe.json');
    await eventually('the file is gone', async () => (await on.inside('optional', 'ls /s')) === '', 20_000);
    await on.removeWholly('optional');
  });

  it('become variables, and a missing key is named', async () => {
    await on.putObject('env.json', configMap('env', { COLOR: 'red', SIZE: 'xl' }));
    await on.putObject('pass.json', secret('pass', { word: 'sesame-4711' }));
    const message = await configError(
      podWithVolumes('variables', [], {
        envFrom: [{ prefix: 'CM_', configMapRef: { name: 'env' } }],
        env: [
          { name: 'PASS', valueFrom: { secretKeyRef: { name: 'pass', key: 'word' } } },
          { name: 'OTHER', valueFrom: { secretKeyRef: { name: 'pass', key: 'other' } } },
        ],
      }),
    );
    expect(message).toBe("couldn't find key other in Secret default/pass");
    await on.putObject('pass.json', secret('pass', { word: 'sesame-4711', other: 'x' }));
    await on.node.untilReady('variables', 30_000);
    expect(await on.inside('variables', 'echo $CM_COLOR $CM_SIZE $PASS $OTHER')).toBe('red xl sesame-4711 x');
    await on.removeWholly('variables');
  });

  it('are never told to anybody else', async () => {
    const timeline = execFileSync('sh', ['-c', `cat ${on.node.root}/timeline/*`], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    });
    for (const text of [timeline, on.node.log]) {
      expect(text).not.toContain('sesame-4711');
      expect(text).not.toContain(Buffer.from('sesame-4711').toString('base64'));
    }
  });
});

describe('subPath', () => {
  it('shows one part of a volume, made where it is missing, also by the name of a variable', async () => {
    await on.putObject('parts.json', configMap('parts', { one: '1', two: '2' }));
    await run(
      podWithVolumes(
        'parts',
        [
          { name: 'e', emptyDir: {} },
          { name: 'c', configMap: { name: 'parts' } },
        ],
        {
          env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
          volumeMounts: [
            { name: 'e', mountPath: '/whole' },
            { name: 'e', mountPath: '/part', subPath: 'a/b' },
            { name: 'e', mountPath: '/own', subPathExpr: 'logs/$(POD)' },
            { name: 'c', mountPath: '/one.txt', subPath: 'one' },
          ],
        },
      ),
    );
    await on.inside('parts', 'echo x > /part/file; echo y > /own/file');
    expect(
      await on.inside('parts', 'cat /whole/a/b/file /whole/logs/parts-node1/file /one.txt; stat -c %a /part'),
    ).toBe('x\ny\n1777');
    expect(on.podMounts().filter((mount) => mount.includes('/volume-subpaths/'))).toHaveLength(3);
    // What is mounted stays as it was until the container starts anew.
    await on.putObject('parts.json', configMap('parts', { one: 'changed', two: '2' }));
    const volume = path.join(await on.podDirectory('parts'), 'volumes/kubernetes.io~configmap/c/one');
    await eventually(
      'the volume shows it',
      async () => (await readFile(volume, 'utf8')) === 'changed',
      20_000,
    );
    expect(await on.inside('parts', 'cat /one.txt')).toBe('1');
    const [before] = await on.node.running('parts');
    await on.node.killProcess(before!);
    await on.node.until(
      'parts',
      'runs again',
      ({ containerStatuses }) => containerStatuses?.[0]?.restartCount === 1,
    );
    await on.node.untilReady('parts', 30_000);
    expect(await on.inside('parts', 'cat /one.txt /part/file')).toBe('changedx');
    // A part that its own pod removed can still be unmounted.
    await on.inside('parts', 'rm -r /whole/a /whole/logs || true');
    await on.removeWholly('parts');
  });

  it('does not lead out of the volume', async () => {
    await mkdir(path.join(outside, 'trap'), { recursive: true });
    await symlink('/etc', path.join(outside, 'trap/link'));
    const message = await configError(
      podWithVolumes('escape', [{ name: 'h', hostPath: { path: path.join(outside, 'trap') } }], {
        volumeMounts: [{ name: 'h', mountPath: '/h', subPath: 'link' }],
      }),
    );
    expect(message).toBe('failed to prepare subPath for volumeMount "h" of container "app"');
    await on.removeWholly('escape');
  });

  it('needs all of its variables', async () => {
    const pod = podWithVolumes('unset', [{ name: 'e', emptyDir: {} }], {
      env: [{ name: 'EMPTY', value: '' }],
      volumeMounts: [{ name: 'e', mountPath: '/e', subPathExpr: '$(EMPTY)/x' }],
    });
    expect(await configError(pod)).toBe('missing value for EMPTY');
    await on.removeWholly('unset');
  });
});

describe('ownership and access', () => {
  it('fsGroup owns what is in a volume and is a group of the container', async () => {
    await run(
      podWithVolumes(
        'group',
        [{ name: 'm', emptyDir: { medium: 'Memory' } }],
        { volumeMounts: [{ name: 'm', mountPath: '/m' }], securityContext: { runAsUser: 1000 } },
        { securityContext: { fsGroup: 123 } },
      ),
    );
    await on.inside('group', 'touch /m/file && chmod 660 /m/file');
    expect(await on.inside('group', "stat -c '%a %g' /m/file; stat -c '%g' /m; id -G")).toBe(
      '660 123\n123\n1000 123',
    );
    await on.removeWholly('group');
  });

  it('readOnly is for the mount, not for the volume', async () => {
    await run(
      podWithVolumes('read', [{ name: 'e', emptyDir: {} }], {
        volumeMounts: [
          { name: 'e', mountPath: '/ro', readOnly: true },
          { name: 'e', mountPath: '/rw' },
        ],
      }),
    );
    expect(await on.inside('read', 'touch /ro/x 2>&1 || echo refused; touch /rw/x && ls /ro')).toContain(
      'refused\nx',
    );
    const [status] = (await on.node.status('read'))?.containerStatuses ?? [];
    expect(status?.volumeMounts).toEqual([
      { name: 'e', mountPath: '/ro', readOnly: true, recursiveReadOnly: 'Disabled' },
      { name: 'e', mountPath: '/rw' },
    ]);
    await on.removeWholly('read');
  });

  // A newer runtime has it; `test/newer-runtime` shows that it does.
  it.runIf(chosenRelease() === 'packaged')('recursiveReadOnly needs a runtime that has it', async () => {
    const pod = podWithVolumes('recursive', [{ name: 'e', emptyDir: {} }], {
      volumeMounts: [{ name: 'e', mountPath: '/e', readOnly: true, recursiveReadOnly: 'Enabled' }],
    });
    expect(await configError(pod)).toBe(
      'failed to resolve recursive read-only mode: volume "e" requested recursive read-only mode, but it is not supported by the runtime',
    );
    await on.removeWholly('recursive');
    await run(
      podWithVolumes('possibly', [{ name: 'e', emptyDir: {} }], {
        volumeMounts: [{ name: 'e', mountPath: '/e', readOnly: true, recursiveReadOnly: 'IfPossible' }],
      }),
    );
    const [status] = (await on.node.status('possibly'))?.containerStatuses ?? [];
    expect(status?.volumeMounts?.[0]?.recursiveReadOnly).toBe('Disabled');
    await on.removeWholly('possibly');
  });
});

describe('mountPropagation', () => {
  it('HostToContainer shows in the container what the machine mounts later', async () => {
    await run(
      podWithVolumes('downward', [{ name: 'e', emptyDir: {} }], {
        volumeMounts: [{ name: 'e', mountPath: '/e', mountPropagation: 'HostToContainer' }],
      }),
    );
    const volume = path.join(await on.podDirectory('downward'), 'volumes/kubernetes.io~empty-dir/e');
    await mkdir(path.join(volume, 'sub'));
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', path.join(volume, 'sub')]);
    try {
      await writeFile(path.join(volume, 'sub/file'), 'from the machine');
      expect(await on.inside('downward', 'cat /e/sub/file')).toBe('from the machine');
    } finally {
      execFileSync('umount', [path.join(volume, 'sub')]);
    }
    await on.removeWholly('downward');
  });

  it('Bidirectional shows on the machine what a privileged container mounts', async () => {
    await run(
      podWithVolumes('upward', [{ name: 'e', emptyDir: {} }], {
        securityContext: { privileged: true },
        volumeMounts: [{ name: 'e', mountPath: '/e', mountPropagation: 'Bidirectional' }],
      }),
    );
    await on.inside('upward', 'mkdir /e/sub && mount -t tmpfs tmpfs /e/sub && echo inner > /e/sub/file');
    const sub = path.join(await on.podDirectory('upward'), 'volumes/kubernetes.io~empty-dir/e/sub');
    expect(mountsBelow(sub)).toHaveLength(1);
    expect(await readFile(path.join(sub, 'file'), 'utf8')).toBe('inner\n');
    await on.inside('upward', 'umount /e/sub');
    expect(mountsBelow(sub)).toHaveLength(0);
    await on.removeWholly('upward');
  });
});

describe('files of the pod', () => {
  it('hosts file with aliases', async () => {
    await run(
      podWithVolumes('hosts', [], {}, { hostAliases: [{ ip: '123.45.67.89', hostnames: ['foo', 'bar'] }] }),
    );
    const text = await on.inside('hosts', 'cat /etc/hosts');
    expect(text).toMatch(/^# Kubernetes-managed hosts file\.\n127\.0\.0\.1\tlocalhost\n/);
    expect(text).toContain('# Entries added by HostAliases.\n123.45.67.89\tfoo\tbar');
    await on.removeWholly('hosts');
    await writeFile(path.join(outside, 'own-hosts'), '1.2.3.4 mine\n');
    await run(
      podWithVolumes(
        'own',
        [{ name: 'h', hostPath: { path: path.join(outside, 'own-hosts'), type: 'File' } }],
        {
          volumeMounts: [{ name: 'h', mountPath: '/etc/hosts' }],
        },
      ),
    );
    expect(await on.inside('own', 'cat /etc/hosts')).toBe('1.2.3.4 mine');
    await on.removeWholly('own');
  });
});

describe('persistent volumes', () => {
  it('of the machine itself are used through claims', async () => {
    await mkdir(path.join(outside, 'disk'), { recursive: true });
    const claimRef = { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'data', uid: 'claim-uid' };
    await on.putObject('pv.json', {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'pv-1', annotations: { 'pv.beta.kubernetes.io/gid': '777' } },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        local: { path: path.join(outside, 'disk') },
        claimRef,
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['node1'] }] },
            ],
          },
        },
      },
    });
    await on.putObject('pvc.json', {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data', namespace: 'default', uid: 'claim-uid' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        volumeName: 'pv-1',
        resources: { requests: { storage: '1Gi' } },
      },
      status: { phase: 'Bound' },
    });
    await run(
      podWithVolumes('claims', [{ name: 'd', persistentVolumeClaim: { claimName: 'data' } }], {
        volumeMounts: [{ name: 'd', mountPath: '/d' }],
      }),
    );
    await on.inside('claims', 'echo kept > /d/file');
    expect(await on.inside('claims', 'id -G')).toContain('777');
    expect(on.podMounts().filter((mount) => mount.endsWith('kubernetes.io~local-volume/pv-1'))).toHaveLength(
      1,
    );
    await on.removeWholly('claims');
    expect(await readFile(path.join(outside, 'disk/file'), 'utf8')).toBe('kept\n');
  });

  it('that nobody gave keep the pod waiting, with the reason', async () => {
    await on.node.apply(
      'unbound.yaml',
      podWithVolumes('unbound', [{ name: 'd', persistentVolumeClaim: { claimName: 'nothing' } }], {
        volumeMounts: [{ name: 'd', mountPath: '/d' }],
      }),
    );
    await eventually('an event says why', async () => (await on.events('unbound', 'FailedMount')).length > 0);
    expect((await on.events('unbound', 'FailedMount'))[0]).toContain(
      'Unable to attach or mount volumes: unmounted volumes=[d], unattached volumes=[], failed to process volumes=[d]: error processing PVC default/nothing: failed to fetch PVC from API server: persistentvolumeclaims \\"nothing\\" not found',
    );
    await on.removeWholly('unbound');
  });
});

it('nothing of all that is left', async () => {
  expect(on.podMounts()).toEqual([]);
  expect(await on.podDirectories()).toEqual([]);
});

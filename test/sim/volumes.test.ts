/** Volumes of a whole kubelet on a simulated machine: mounted before containers, refreshed, adopted and undone. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Pod, Volume } from '../../src/kube/index.js';
import { Machine } from './machine.js';
import { endNodes, minute, type Node, second, startNode } from './node.js';
import { apiPod } from './pods.js';
import {
  configMap,
  Outside,
  objectsOf,
  rootDir,
  secret,
  startVolumeNode,
  volumePath,
} from './volume-node.js';

afterEach(endNodes);

const volumes: readonly Volume[] = [
  { name: 'scratch', emptyDir: {} },
  { name: 'memory', emptyDir: { medium: 'Memory' } },
  { name: 'settings', configMap: { name: 'settings' } },
  { name: 'key', secret: { secretName: 'key' } },
  {
    name: 'all',
    projected: { sources: [{ configMap: { name: 'settings' } }, { secret: { name: 'key' } }] },
  },
];

function webPod(name = 'web', given: readonly Volume[] = volumes): Pod {
  const volumeMounts = given.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` }));
  return apiPod(name, {
    containers: [{ name: 'app', image: 'app:1', volumeMounts }],
    spec: { volumes: [...given] },
  });
}

const given = {
  configMaps: [configMap('settings', { color: 'red', size: 'xl' })],
  secrets: [secret('key', { token: 'sesame' })],
};

const failures = (node: Node, name: string): string[] =>
  node.events(name, 'FailedMount').map(({ message }) => message);

describe('volumes of a pod', () => {
  it('are there before its containers are, and gone after them', async () => {
    const { node, host, objects, created } = await startVolumeNode();
    objects.set('test', given);
    const pod = webPod();
    node.set([pod]);
    await node.untilReady('web');
    expect([...created.get('web/app')!]).toEqual([
      [volumePath(pod, 'empty-dir', 'scratch'), []],
      [volumePath(pod, 'empty-dir', 'memory'), []],
      [volumePath(pod, 'configmap', 'settings'), expect.arrayContaining(['..data', 'color', 'size'])],
      [volumePath(pod, 'secret', 'key'), expect.arrayContaining(['..data', 'token'])],
      [volumePath(pod, 'projected', 'all'), expect.arrayContaining(['..data', 'color', 'size', 'token'])],
    ]);
    const outside = new Outside(host.machine);
    expect(await outside.mounts()).toEqual(
      [
        volumePath(pod, 'empty-dir', 'memory'),
        volumePath(pod, 'projected', 'all'),
        volumePath(pod, 'secret', 'key'),
      ].sort(),
    );
    node.delete('web', 5);
    await node.untilStopped('web');
    node.drop('web');
    await node.advance(5 * second);
    expect(await outside.mounts()).toEqual([]);
    expect(await outside.pods()).toEqual([]);
  });

  it('that no container uses are never mounted', async () => {
    const { node, host } = await startVolumeNode();
    node.set([apiPod('web', { spec: { volumes: [{ name: 'gone', secret: { secretName: 'no-such' } }] } })]);
    await node.untilReady('web');
    expect(failures(node, 'web')).toEqual([]);
    expect(await new Outside(host.machine).names(`${rootDir}/pods/uid-of-web/volumes`)).toEqual([]);
  });

  it('leave the machine alone while nothing happens', async () => {
    const { node, host, objects } = await startVolumeNode({
      kubelet: { config: { syncFrequency: 60 * minute } },
    });
    objects.set('test', given);
    node.set([webPod()]);
    await node.untilReady('web');
    await node.advance(5 * second);
    const before = host.calls.length;
    await node.advance(10 * minute);
    expect(host.calls.length).toBe(before);
  });

  it('stay as they are while the pod ends, also when what they show is deleted before it', async () => {
    const { node, objects } = await startVolumeNode();
    objects.set('test', given);
    const sim = { 'stop-delay': '20s' };
    const settings = { name: 'settings', mountPath: '/settings' };
    const containers = [{ name: 'app', image: 'app:1', volumeMounts: [settings] }];
    node.set([apiPod('web', { sim, containers, spec: { volumes: [...volumes] } })]);
    await node.untilReady('web');
    node.delete('web', 30);
    await node.advance(second);
    objects.set('test', {});
    await node.advance(5 * second);
    expect(failures(node, 'web')).toEqual([]);
  });

  it('are of no concern to a node without directories', async () => {
    const node = await startNode();
    node.set([webPod('web', [{ name: 'scratch', emptyDir: {} }])]);
    await node.until('it is told', () => failures(node, 'web').length > 0);
    expect(failures(node, 'web')[0]).toContain('this build mounts no volumes');
  });
});

describe('a missing ConfigMap', () => {
  it('keeps the pod waiting with the reason, and lets it go as soon as it is there', async () => {
    const { node, objects } = await startVolumeNode();
    objects.set('test', { secrets: given.secrets });
    node.set([webPod('web', [{ name: 'settings', configMap: { name: 'settings' } }])]);
    await node.advance(4 * second);
    expect(node.status('web')?.phase).toBe('Pending');
    expect(node.waitingReason('web')).toBe('ContainerCreating');
    // At about 0, 0.5, 1.5 and 3.5 s.
    expect(failures(node, 'web')).toEqual(
      Array(4).fill('MountVolume.SetUp failed for volume "settings" : configmap "settings" not found'),
    );
    await node.advance(10 * minute);
    expect(node.status('web')?.phase).toBe('Pending');
    objects.set('test', given);
    await node.untilReady('web', 15 * second);
  });

  it('under a running pod leaves what was there', async () => {
    const { node, host, objects } = await startVolumeNode();
    objects.set('test', given);
    const pod = webPod();
    node.set([pod]);
    await node.untilReady('web');
    objects.set('test', { secrets: given.secrets });
    await node.advance(2 * minute);
    expect(node.isReady('web')).toBe(true);
    expect(failures(node, 'web')).toContain(
      'MountVolume.SetUp failed for volume "settings" : configmap "settings" not found',
    );
    expect(await new Outside(host.machine).text(`${volumePath(pod, 'configmap', 'settings')}/color`)).toBe(
      'red',
    );
    expect(node.machine.running('web')).toHaveLength(1);
  });
});

describe('a changed object', () => {
  it('is shown at once, in one step, by every volume that shows it', async () => {
    const { node, host, objects } = await startVolumeNode();
    objects.set('test', given);
    const pod = webPod();
    node.set([pod]);
    await node.untilReady('web');
    objects.set('test', { ...given, configMaps: [configMap('settings', { color: 'blue' })] });
    await node.advance(1);
    const outside = new Outside(host.machine);
    for (const dir of [volumePath(pod, 'configmap', 'settings'), volumePath(pod, 'projected', 'all')]) {
      expect(await outside.text(`${dir}/color`)).toBe('blue');
      expect(await outside.text(`${dir}/size`)).toBeUndefined();
      expect((await outside.names(dir)).filter((name) => name.startsWith('..20'))).toHaveLength(1);
    }
    expect(node.machine.running('web')[0]?.attempt).toBe(0);
  });

  it('that is immutable is not', async () => {
    const { node, host, objects } = await startVolumeNode();
    objects.set('test', {
      ...given,
      configMaps: [configMap('settings', { color: 'red' }, { immutable: true })],
    });
    const pod = webPod();
    node.set([pod]);
    await node.untilReady('web');
    objects.set('test', {
      ...given,
      configMaps: [configMap('settings', { color: 'blue' }, { immutable: true })],
    });
    await node.advance(3 * minute);
    const path = `${volumePath(pod, 'configmap', 'settings')}/color`;
    expect(await new Outside(host.machine).text(path)).toBe('red');
  });

  it('of the pod itself is shown, too', async () => {
    const { node, host } = await startVolumeNode();
    const labels: Volume = {
      name: 'labels',
      downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] },
    };
    const pod = webPod('web', [labels]);
    node.set([pod]);
    await node.untilReady('web');
    node.put({ ...pod, metadata: { ...pod.metadata, labels: { tier: 'gold' } } });
    await node.advance(second);
    const path = `${volumePath(pod, 'downward-api', 'labels')}/labels`;
    expect(await new Outside(host.machine).text(path)).toBe('tier="gold"');
  });
});

describe('a claim', () => {
  const claimed: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'data' } };
  const text =
    'Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: error processing PVC default/data: PVC is not bound';
  it('that is not bound keeps the pod waiting with the reason', async () => {
    const { node, objects } = await startVolumeNode();
    objects.set('test', {
      persistentVolumeClaims: [
        {
          metadata: { name: 'data', namespace: 'default', uid: 'c1' },
          spec: {
            accessModes: ['ReadWriteOnce'],
            storageClassName: 'none',
            resources: { requests: { storage: '1Gi' } },
          },
          status: { phase: 'Pending' },
        },
      ],
    });
    node.set([webPod('web', [claimed])]);
    await node.until('it is told', () => failures(node, 'web').length > 0);
    expect(failures(node, 'web')[0]).toBe(text);
    expect(node.status('web')?.phase).toBe('Pending');
  });
});

describe('the next kubelet', () => {
  it('adopts what is mounted: nothing is set up twice or taken away', async () => {
    const machine = new Machine();
    const objects = objectsOf(machine);
    objects.set('test', given);
    const pod = webPod();
    const first = await startVolumeNode({ machine, objects });
    first.node.set([pod]);
    await first.node.untilReady('web');
    const outside = new Outside(first.host.machine);
    const mounts = await outside.mounts();
    await first.crash();

    const second = await startVolumeNode({ machine, objects, files: first.host.machine });
    second.node.set([pod]);
    await second.node.untilReady('web');
    await second.node.advance(5 * minute);
    expect(await outside.mounts()).toEqual(mounts);
    const changes = second.host.calls.filter(({ path }) => path.includes('/pods/'));
    expect(changes.filter(({ operation }) => !['mkdir', 'chmod'].includes(operation))).toEqual([]);
    expect(machine.running('web')[0]?.attempt).toBe(0);
  });

  it('undoes what belongs to a pod that was deleted meanwhile, after its containers', async () => {
    const machine = new Machine();
    const objects = objectsOf(machine);
    objects.set('test', given);
    const first = await startVolumeNode({ machine, objects });
    first.node.set([webPod(), webPod('other')]);
    await first.node.untilReady('web');
    await first.node.untilReady('other');
    await first.crash();

    const outside = new Outside(first.host.machine);
    const next = await startVolumeNode({ machine, objects, files: first.host.machine });
    next.node.set([webPod('other')]);
    await next.node.untilStopped('web');
    await next.node.untilReady('other');
    await next.node.advance(10 * second);
    expect((await outside.mounts()).filter((path) => path.includes('uid-of-web'))).toEqual([]);
    expect((await outside.mounts()).filter((path) => path.includes('uid-of-other'))).toHaveLength(3);
    expect(await outside.pods()).toEqual(['uid-of-other']);
    expect(next.node.machine.running('other')[0]?.attempt).toBe(0);
  });

  it('after a reboot sets up what is not there any more', async () => {
    const machine = new Machine();
    const objects = objectsOf(machine);
    objects.set('test', given);
    const pod = webPod();
    const first = await startVolumeNode({ machine, objects });
    first.node.set([pod]);
    await first.node.untilReady('web');
    await first.crash();
    first.host.machine.reboot();
    const next = await startVolumeNode({ machine, objects, files: first.host.machine });
    next.node.set([pod]);
    const outside = new Outside(first.host.machine);
    await next.node.advance(30 * second);
    expect(await outside.text(`${volumePath(pod, 'secret', 'key')}/token`)).toBe('sesame');
    expect(await outside.mounts()).toHaveLength(3);
  });
});

it('a pod that ends by itself gives its volumes back before it is deleted', async () => {
  const { node, host } = await startVolumeNode();
  const pod = webPod('job', [{ name: 'memory', emptyDir: { medium: 'Memory' } }]);
  node.set([
    {
      ...pod,
      metadata: {
        ...pod.metadata,
        annotations: { ...apiPod('x', { sim: { 'run-time': '1s' } }).metadata.annotations },
      },
      spec: { ...pod.spec, restartPolicy: 'Never' },
    },
  ]);
  await node.untilPhase('job', 'Succeeded');
  await node.advance(2 * second);
  expect(await new Outside(host.machine).mounts()).toEqual([]);
});

describe('the directory of a pod that is gone', () => {
  const gone = `${rootDir}/pods/gone`;
  it('is kept while a volume of it holds a file, and counted', async () => {
    const { node, host } = await startVolumeNode();
    const outside = new Outside(host.machine);
    await outside.makeDirectory(`${gone}/volumes/kubernetes.io~other/v`);
    await outside.write(`${gone}/volumes/kubernetes.io~other/v/data`, 'precious');
    await outside.write(`${gone}/etc-hosts`, '');
    node.set([]);
    await node.advance(10 * second);
    expect(node.metric('kubelet_orphan_pod_cleaned_volumes')).toBe(1);
    expect(node.metric('kubelet_orphan_pod_cleaned_volumes_errors')).toBe(1);
    expect(await outside.text(`${gone}/volumes/kubernetes.io~other/v/data`)).toBe('precious');
    expect(await outside.names(gone)).toContain('etc-hosts');
  });

  it('goes when it holds no more than empty directories', async () => {
    const { node, host } = await startVolumeNode();
    const outside = new Outside(host.machine);
    await outside.makeDirectory(`${gone}/volumes/kubernetes.io~other/v`);
    await outside.write(`${gone}/etc-hosts`, '');
    node.set([]);
    await node.advance(10 * second);
    expect(await outside.pods()).toEqual([]);
    expect(node.metric('kubelet_orphan_pod_cleaned_volumes_errors')).toBe(0);
  });
});

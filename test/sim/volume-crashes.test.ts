/** A kubelet that dies at any change of files or mounts, and the next one: nothing leaks, is half-written or lost. */
import { afterEach, describe, expect, it } from 'vitest';
import type { SimulatedMachine } from '../../src/host/index.js';
import type { Pod, Volume } from '../../src/kube/index.js';
import type { StandaloneObjects } from '../../src/pods/index.js';
import { Machine } from './machine.js';
import { endNodes, second } from './node.js';
import { apiPod } from './pods.js';
import {
  configMap,
  Outside,
  objectsOf,
  rootDir,
  secret,
  startVolumeNode,
  type VolumeNode,
  type VolumeNodeOptions,
  volumePath,
} from './volume-node.js';

afterEach(endNodes);

const volumes: readonly Volume[] = [
  { name: 'scratch', emptyDir: {} },
  { name: 'memory', emptyDir: { medium: 'Memory' } },
  { name: 'settings', configMap: { name: 'settings' } },
  { name: 'key', secret: { secretName: 'key' } },
  { name: 'disk', persistentVolumeClaim: { claimName: 'disk' } },
  { name: 'host', hostPath: { path: '/srv' } },
];

const pod: Pod = apiPod('web', {
  containers: [
    {
      name: 'app',
      image: 'app:1',
      volumeMounts: [
        ...volumes.map(({ name }) => ({ name, mountPath: `/${name}` })),
        { name: 'scratch', mountPath: '/part', subPath: 'a/b' },
        { name: 'host', mountPath: '/host-part', subPath: 'part' },
      ],
    },
  ],
  spec: { volumes: [...volumes], securityContext: { fsGroup: 2000 } },
});

const objectsWith = (color: string) => ({
  configMaps: [configMap('settings', { color, [color]: 'yes' })],
  secrets: [secret('key', { token: `token-${color}` })],
  persistentVolumes: [
    {
      metadata: { name: 'disk-1' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        local: { path: '/data' },
        claimRef: { namespace: 'default', name: 'disk', uid: 'c1' },
      },
    },
  ],
  persistentVolumeClaims: [
    {
      metadata: { name: 'disk', namespace: 'default', uid: 'c1' },
      spec: { accessModes: ['ReadWriteOnce'], volumeName: 'disk-1' },
      status: { phase: 'Bound' },
    },
  ],
});

const mountsOfPod = [
  volumePath(pod, 'empty-dir', 'memory'),
  volumePath(pod, 'local-volume', 'disk-1'),
  volumePath(pod, 'secret', 'key'),
  `${rootDir}/pods/uid-of-web/volume-subpaths/scratch/app/6`,
  `${rootDir}/pods/uid-of-web/volume-subpaths/host/app/7`,
].sort();

const atomic = [volumePath(pod, 'configmap', 'settings'), volumePath(pod, 'secret', 'key')];

interface World {
  readonly machine: Machine;
  readonly objects: StandaloneObjects;
  readonly files: SimulatedMachine | undefined;
}

async function newWorld(): Promise<World> {
  const machine = new Machine();
  const objects = objectsOf(machine);
  objects.set('test', objectsWith('red'));
  return { machine, objects, files: undefined };
}

function begin(world: World, death?: VolumeNodeOptions['death']): Promise<VolumeNode> {
  return startVolumeNode({
    machine: world.machine,
    objects: world.objects,
    ...(world.files === undefined ? {} : { files: world.files }),
    ...(death === undefined ? {} : { death }),
  });
}

/** A world in which the pod runs and its kubelet is gone. */
async function withRunningPod(): Promise<World> {
  const world = await newWorld();
  const first = await begin(world);
  await prepare(first);
  first.node.set([pod]);
  await first.node.untilReady('web');
  await first.node.advance(second);
  await first.crash();
  return { ...world, files: first.host.machine };
}

/** What the pod needs of the machine and no kubelet makes. */
async function prepare({ host }: VolumeNode): Promise<void> {
  const outside = new Outside(host.machine);
  for (const path of ['/data', '/srv']) await outside.makeDirectory(path);
}

/** Runs a kubelet through a story, with or without its death, and ends it; tells how many changes it made. */
async function live(
  world: World,
  story: (first: VolumeNode) => Promise<void>,
  death?: VolumeNodeOptions['death'],
): Promise<{ world: World; changes: number; died: boolean; atDeath: string[] }> {
  const first = await begin(world, death);
  const before = first.host.calls.length;
  await story(first);
  const died = first.host.dead;
  const atDeath = world.machine.running('web').map(({ id }) => id);
  await first.crash();
  return {
    world: { ...world, files: first.host.machine },
    changes: first.host.calls.length - before,
    died,
    atDeath,
  };
}

/** All that a reader may see of a volume is whole: one version, and no file of another. */
async function expectWhole(outside: Outside, colors: readonly string[]): Promise<void> {
  const [settings, key] = atomic;
  const color = await outside.text(`${settings}/..data/color`);
  if (color !== undefined) {
    expect(colors).toContain(color);
    const names = (await outside.names(`${settings}/..data`)).filter((name) => !name.startsWith('..'));
    expect([...names].sort()).toEqual(['color', color].sort());
  }
  const token = await outside.text(`${key}/..data/token`);
  if (token !== undefined) expect(colors.map((one) => `token-${one}`)).toContain(token);
}

/** The pod runs with all of its volumes, and there is nothing else. */
async function expectComplete(outside: Outside, color: string): Promise<void> {
  expect(await outside.mounts()).toEqual(mountsOfPod);
  expect(await outside.text(`${atomic[0]}/color`)).toBe(color);
  expect(await outside.text(`${atomic[0]}/${color}`)).toBe('yes');
  expect(await outside.text(`${atomic[1]}/token`)).toBe(`token-${color}`);
  for (const dir of atomic) {
    const names = await outside.names(dir);
    expect(names.filter((name) => name.startsWith('..20'))).toHaveLength(1);
    expect(names).not.toContain('..data_tmp');
  }
}

async function expectNothingLeft(outside: Outside): Promise<void> {
  expect(await outside.mounts()).toEqual([]);
  expect(await outside.pods()).toEqual([]);
  expect(await outside.text('/data/kept')).toBe('kept');
}

/** Ends the pod, and holds that nothing is left of it. */
async function expectCleanEnd({ node, host }: VolumeNode): Promise<void> {
  const outside = new Outside(host.machine);
  await outside.write('/data/kept', 'kept');
  node.delete('web', 1);
  await node.untilStopped('web');
  node.drop('web');
  await node.advance(15 * second);
  await expectNothingLeft(outside);
}

async function atEveryChange(
  makeWorld: () => Promise<World>,
  story: (first: VolumeNode) => Promise<void>,
  colors: readonly string[],
  afterwards: (next: VolumeNode, atDeath: readonly string[]) => Promise<void>,
): Promise<number> {
  const { changes } = await live(await makeWorld(), story);
  await endNodes();
  let deaths = 0;
  for (let change = 1; change <= changes; change++) {
    for (const when of ['before', 'after'] as const) {
      try {
        const { world, died, atDeath } = await live(await makeWorld(), story, { change, when });
        if (!died) continue;
        deaths++;
        if (world.files !== undefined) await expectWhole(new Outside(world.files), colors);
        const next = await begin(world);
        await afterwards(next, atDeath);
      } catch (cause) {
        throw new Error(`the kubelet died ${when} its change ${change}`, { cause });
      }
      await endNodes();
    }
  }
  return deaths;
}

const minute = 60 * second;

describe('a kubelet that dies at any change', () => {
  it('while it mounts: the next one finishes the work, and cleans it up in the end', {
    timeout: 300_000,
  }, async () => {
    const story = async (first: VolumeNode): Promise<void> => {
      await prepare(first);
      first.node.set([pod]);
      await first.node.clock.advance(3 * second);
    };
    const deaths = await atEveryChange(newWorld, story, ['red'], async (next) => {
      await prepare(next);
      next.node.set([pod]);
      await next.node.untilReady('web', minute);
      await next.node.advance(second);
      await expectComplete(new Outside(next.host.machine), 'red');
      await expectCleanEnd(next);
    });
    expect(deaths).toBeGreaterThan(60);
  });

  it('while it mounts: a pod that is deleted meanwhile leaves nothing', { timeout: 300_000 }, async () => {
    const story = async (first: VolumeNode): Promise<void> => {
      await prepare(first);
      first.node.set([pod]);
      await first.node.clock.advance(3 * second);
    };
    await atEveryChange(newWorld, story, ['red'], async (next) => {
      await prepare(next);
      const outside = new Outside(next.host.machine);
      await outside.write('/data/kept', 'kept');
      next.node.set([]);
      await next.node.untilStopped('web');
      await next.node.advance(20 * second);
      await expectNothingLeft(outside);
    });
  });

  it('while it refreshes: the next one finishes that, and running containers keep their volumes', {
    timeout: 300_000,
  }, async () => {
    const story = async (first: VolumeNode): Promise<void> => {
      first.node.set([pod]);
      await first.node.clock.advance(3 * second);
      first.objects.set('test', objectsWith('blue'));
      await first.node.clock.advance(3 * second);
    };
    const deaths = await atEveryChange(withRunningPod, story, ['red', 'blue'], async (next, atDeath) => {
      expect(atDeath).toHaveLength(1);
      next.objects.set('test', objectsWith('blue'));
      next.node.set([pod]);
      await next.node.untilReady('web', minute);
      await next.node.advance(second);
      await expectComplete(new Outside(next.host.machine), 'blue');
      expect(next.host.calls.filter(({ operation }) => operation === 'unmount')).toEqual([]);
      expect(next.node.machine.running('web').map(({ id }) => id)).toEqual(atDeath);
      await expectCleanEnd(next);
    });
    expect(deaths).toBeGreaterThan(20);
  });

  it('while it unmounts: the next one finishes that, and no data is lost', { timeout: 300_000 }, async () => {
    const story = async (first: VolumeNode): Promise<void> => {
      const outside = new Outside(first.host.machine);
      await outside.write('/data/kept', 'kept');
      first.node.set([pod]);
      await first.node.clock.advance(3 * second);
      first.node.drop('web');
      await first.node.clock.advance(40 * second);
    };
    const deaths = await atEveryChange(withRunningPod, story, ['red'], async (next) => {
      next.node.set([]);
      await next.node.untilStopped('web');
      await next.node.advance(20 * second);
      await expectNothingLeft(new Outside(next.host.machine));
    });
    expect(deaths).toBeGreaterThan(20);
  });
});

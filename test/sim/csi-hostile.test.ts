/** Drivers and objects that mean harm to a whole kubelet: they are refused with a text, and other pods go on. */
import { afterEach, describe, expect, it } from 'vitest';
import { GrpcError } from '../../src/grpc/index.js';
import { CsiWorld, claimPod } from './csi-world.js';
import { endNodes, second } from './node.js';
import { apiPod } from './pods.js';
import { rootDir } from './volume-node.js';

afterEach(endNodes);

describe('a driver', () => {
  it('whose topology cannot be labels is told so, and is registered when it has mended that', async () => {
    const world = new CsiWorld();
    world.driver.nodeInfo.segments = { 'not a label': 'x' };
    await world.driver.start();
    const kubelet = await world.start();
    kubelet.node.set([]);
    await kubelet.node.advance(2 * second);
    expect(world.driver.told[0]).toMatchObject({
      pluginRegistered: false,
      error: expect.stringContaining('accessible_topology: the key "not a label" cannot be that of a label'),
    });
    world.driver.nodeInfo.segments = {};
    await kubelet.node.advance(10 * second);
    expect(world.driver.told.at(-1)).toMatchObject({ pluginRegistered: true });
  });

  it('with endless errors fills neither events nor the timeline', async () => {
    const world = new CsiWorld();
    world.volume('disk');
    await world.driver.start();
    const kubelet = await world.start();
    world.driver.answerStage = () => {
      throw new GrpcError('Internal', `\0${'x'.repeat(1_000_000)}`);
    };
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.node.advance(20 * second);
    const texts = kubelet.node.entries.flatMap(({ message, error }) => [message, error ?? '']);
    expect(Math.max(...texts.map(({ length }) => length))).toBeLessThan(20_000);
    expect(kubelet.node.events('web', 'FailedMount').length).toBeGreaterThan(2);
  });

  it('that leaves a file where the mount was is asked again, and nothing of the file is removed', async () => {
    const world = new CsiWorld();
    world.volume('disk');
    await world.driver.start();
    const kubelet = await world.start();
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.node.untilReady('web');
    const target = `${rootDir}/pods/uid-of-web/volumes/kubernetes.io~csi/pv-disk/mount`;
    world.driver.afterUnpublish = async () => {
      await world.outside.makeDirectory(target);
      await world.outside.write(`${target}/left`, 'data');
    };
    await kubelet.end('web');
    await kubelet.node.advance(20 * second);
    expect(await world.outside.text(`${target}/left`)).toBe('data');
    expect(world.driver.log().filter((call) => call === 'nodeUnpublishVolume').length).toBeGreaterThan(2);
    const problems = kubelet.node.recorded('volume.unmount').map(({ error }) => error ?? '');
    expect(problems[0]).toContain(`failed to remove dir [${target}]`);
    world.driver.afterUnpublish = undefined;
    await world.outside.remove(`${target}/left`);
    await kubelet.untilNothingIsLeft();
  });
});

describe('a PersistentVolume', () => {
  it.each<[string, object, string]>([
    ['a driver that is a path', { driver: '../..' }, 'csi.driver "../.." is no name of a CSI driver'],
    ['a huge handle', { volumeHandle: 'x'.repeat(10_000) }, 'csi.volumeHandle is longer than 4096 bytes'],
    ['a type that is an option', { fsType: '-o suid' }, 'csi.fsType "-o suid" is no name of a file system'],
  ])('with %s keeps its pod waiting, and no other', async (_, csi, text) => {
    const world = new CsiWorld();
    world.volume('disk', { csi: { driver: world.driver.name, volumeHandle: 'vol-disk', ...csi } });
    await world.driver.start();
    const kubelet = await world.start();
    kubelet.node.set([claimPod('web', 'disk'), apiPod('other')]);
    await kubelet.node.untilReady('other');
    await kubelet.node.advance(20 * second);
    const [event] = kubelet.node.events('web', 'FailedMount');
    expect(event?.message).toContain(text);
    expect(event?.message.length).toBeLessThan(1000);
    expect(world.driver.log()).toEqual([]);
    expect(await world.outside.names(`${rootDir}/plugins/kubernetes.io/csi`)).toEqual([]);
    await kubelet.end('web');
    await kubelet.end('other');
    await kubelet.untilNothingIsLeft();
  });
});

it('a handle with slashes and dots stays within its directory', async () => {
  const world = new CsiWorld();
  const volumeHandle = '../../../../etc/passwd/../x';
  world.volume('disk', { csi: { driver: world.driver.name, volumeHandle } });
  await world.driver.start();
  await world.driver.volumes.write(volumeHandle, 'kept', 'kept');
  const kubelet = await world.start();
  kubelet.node.set([claimPod('web', 'disk')]);
  await kubelet.untilRuns('web', 'kept');
  const paths = [...(await world.driver.volumes.mounted()).values()].flat();
  for (const path of paths) expect(path.startsWith(`${rootDir}/`)).toBe(true);
  await kubelet.end('web');
  await kubelet.untilNothingIsLeft();
});

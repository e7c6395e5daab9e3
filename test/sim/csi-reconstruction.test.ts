/** What another kubelet has left on disk, written by hand: it is adopted, taken down, or left with a word about it. */
import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { simulatedHost } from '../../src/host/index.js';
import { inlineHandle } from '../../src/volumes/csi/names.js';
import { type CsiNode, CsiWorld, claimPod, inlinePod } from './csi-world.js';
import { endNodes, second } from './node.js';
import { rootDir } from './volume-node.js';

afterEach(endNodes);

const sha = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Writes what the reference kubelet writes. */
class Tree {
  readonly world = new CsiWorld();
  readonly host = simulatedHost({ machine: this.world.files });
  readonly driver = this.world.driver.name;
  readonly staged = `${rootDir}/plugins/kubernetes.io/csi/${this.driver}/${sha('vol-disk')}`;
  readonly published = `${rootDir}/pods/uid-of-web/volumes/kubernetes.io~csi/pv-disk`;
  readonly inline = `${rootDir}/pods/uid-of-web/volumes/kubernetes.io~csi/inline`;

  static async make(): Promise<Tree> {
    const tree = new Tree();
    tree.world.volume('disk');
    // As every kubelet does first.
    await tree.host.files.mkdir(rootDir, { recursive: true });
    await tree.host.mounts.makeShared(rootDir);
    await tree.world.driver.volumes.write('vol-disk', 'kept', 'kept');
    return tree;
  }

  async write(directory: string, data: string | object): Promise<void> {
    await this.host.files.mkdir(directory, { recursive: true });
    const text = typeof data === 'string' ? data : `${JSON.stringify(data)}\n`;
    await this.host.files.writeFile(`${directory}/vol_data.json`, text);
  }

  async stage(data: string | object = { driverName: this.driver, volumeHandle: 'vol-disk' }): Promise<void> {
    await this.write(this.staged, data);
    const target = `${this.staged}/globalmount`;
    await this.host.files.mkdir(target, { recursive: true });
    await this.host.mounts.mount({ source: '/dev/csi/vol-disk', target, fsType: 'ext4', options: [] });
  }

  async publish(data: string | object = this.publishData()): Promise<void> {
    await this.write(this.published, data);
    const target = `${this.published}/mount`;
    await this.host.files.mkdir(target, { recursive: true });
    await this.host.mounts.mount({ source: `${this.staged}/globalmount`, target, options: ['bind'] });
  }

  publishData(): Record<string, string> {
    return {
      attachmentID: `csi-${sha(`vol-disk${this.driver}node`)}`,
      driverName: this.driver,
      nodeName: 'node',
      specVolID: 'pv-disk',
      volumeHandle: 'vol-disk',
      volumeLifecycleMode: 'Persistent',
    };
  }

  /** Starts a kubelet, with the driver there. */
  async start(): Promise<CsiNode> {
    await this.world.driver.start();
    return this.world.start();
  }

  leftovers(kubelet: CsiNode): string[] {
    return kubelet.node
      .recorded('volume.leftover')
      .filter(({ kind }) => kind === 'problem')
      .map(({ message, error }) => `${message}: ${error}`);
  }
}

describe('what another kubelet has mounted', () => {
  it('for a pod that is wanted is staged and published again, and never taken away', async () => {
    const tree = await Tree.make();
    await tree.stage();
    await tree.publish({ ...tree.publishData(), unknownKey: 'stays harmless' });
    const kubelet = await tree.start();
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.untilRuns('web', 'kept');
    expect(tree.world.driver.log()).toEqual(['nodeStageVolume', 'nodePublishVolume']);
    await kubelet.end('web');
    await kubelet.untilNothingIsLeft();
  });

  it('for a pod that is gone is unpublished and unstaged', async () => {
    const tree = await Tree.make();
    await tree.stage();
    await tree.publish();
    const kubelet = await tree.start();
    kubelet.node.set([]);
    await kubelet.untilNothingIsLeft();
    expect(tree.world.driver.log()).toEqual(['nodeUnpublishVolume', 'nodeUnstageVolume']);
    expect(await tree.world.driver.volumes.read('vol-disk', 'kept')).toBe('kept');
  });

  it('and that no pod has a directory for is unstaged', async () => {
    const tree = await Tree.make();
    await tree.stage();
    const kubelet = await tree.start();
    kubelet.node.set([]);
    await kubelet.untilNothingIsLeft();
    expect(tree.world.driver.log()).toEqual(['nodeUnstageVolume']);
  });

  it('inline is unpublished, and not unstaged', async () => {
    const tree = await Tree.make();
    const volumeHandle = inlineHandle('uid-of-web', 'inline');
    await tree.write(tree.inline, {
      ...tree.publishData(),
      specVolID: 'inline',
      volumeHandle,
      volumeLifecycleMode: 'Ephemeral',
    });
    const target = `${tree.inline}/mount`;
    await tree.host.files.mkdir(target);
    await tree.host.mounts.mount({ source: `/dev/csi/${volumeHandle}`, target, fsType: 'ext4', options: [] });
    const kubelet = await tree.start();
    kubelet.node.set([]);
    await kubelet.untilNothingIsLeft();
    expect(tree.world.driver.log()).toEqual(['nodeUnpublishVolume']);
  });

  it('before a reboot is taken down without its mounts', async () => {
    const tree = await Tree.make();
    await tree.stage();
    await tree.publish();
    await tree.world.reboot();
    const kubelet = await tree.start();
    kubelet.node.set([]);
    await kubelet.untilNothingIsLeft();
  });

  it('is not taken down while its driver is not there; nothing is lost, and it goes on when the driver comes', async () => {
    const tree = await Tree.make();
    await tree.stage();
    await tree.publish();
    const kubelet = await tree.world.start();
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.node.advance(60 * second);
    expect([...(await tree.world.driver.volumes.mounted()).values()].flat()).toHaveLength(2);
    expect(await tree.world.outside.text(`${tree.published}/vol_data.json`)).toContain('vol-disk');
    await tree.world.driver.start();
    await kubelet.untilRuns('web', 'kept');
    expect(tree.world.driver.log()).toEqual(['nodeStageVolume', 'nodePublishVolume']);
    await kubelet.end('web');
    await kubelet.untilNothingIsLeft();
  });

  it('and that the driver then refuses for good stays, and is taken down with its pod', async () => {
    const tree = await Tree.make();
    await tree.stage();
    await tree.publish();
    tree.world.driver.fail({
      method: 'nodePublishVolume',
      when: 'before',
      effect: { kind: 'error', code: 'Internal' },
      times: 3,
    });
    const kubelet = await tree.start();
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.node.advance(second);
    expect(tree.world.driver.log()).toContain('nodePublishVolume Internal');
    expect(await tree.world.outside.text(`${tree.published}/vol_data.json`)).toContain('vol-disk');
    kubelet.node.set([]);
    await kubelet.untilNothingIsLeft();
    expect(tree.world.driver.log().slice(-2)).toEqual(['nodeUnpublishVolume', 'nodeUnstageVolume']);
  });
});

describe('metadata that nobody can read', () => {
  const broken: readonly [string, string | object, string][] = [
    ['nothing', '', 'has no volume data'],
    ['half of it', '{"driverName":"sim.c', 'has no volume data'],
    ['a list', '[]', 'has no volume data'],
    ['a number for a name', { driverName: 1, volumeHandle: 'x' }, '"driverName" is no text'],
    [
      'another volume',
      { driverName: 'sim.csi.example.com', volumeHandle: 'other' },
      'is about another volume',
    ],
    [
      'another driver',
      { driverName: 'other.example.com', volumeHandle: 'vol-disk' },
      'is about another volume',
    ],
    ['a path for a driver', { driverName: '../..', volumeHandle: 'vol-disk' }, 'is about another volume'],
    ['too much', `{"driverName":"${'x'.repeat(100_000)}"}`, 'longer than 65536 bytes'],
  ];

  it.each(broken)('of a staged volume (%s) leaves it there, with a word about it', async (_, data, text) => {
    const tree = await Tree.make();
    await tree.stage(data);
    const kubelet = await tree.start();
    kubelet.node.set([]);
    await kubelet.node.advance(60 * second);
    expect(tree.world.driver.log()).toEqual([]);
    expect([...(await tree.world.driver.volumes.mounted()).values()].flat()).toEqual([
      `${tree.staged}/globalmount`,
    ]);
    expect(tree.leftovers(kubelet)).toHaveLength(1);
    expect(tree.leftovers(kubelet)[0]).toContain(`${tree.staged} stays as it is`);
    expect(tree.leftovers(kubelet)[0]).toContain(text);
    expect(kubelet.node.metric('reconstruct_volume_operations_errors_total')).toBe(1);
  });

  it('of a staged volume that a pod wants is written anew', async () => {
    const tree = await Tree.make();
    await tree.stage('');
    const kubelet = await tree.start();
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.untilRuns('web', 'kept');
    await kubelet.end('web');
    await kubelet.untilNothingIsLeft();
  });

  it('of a published volume leaves it there, with a word about it', async () => {
    const tree = await Tree.make();
    await tree.stage();
    await tree.publish('');
    const kubelet = await tree.start();
    kubelet.node.set([]);
    await kubelet.node.advance(60 * second);
    expect(tree.world.driver.log().filter((call) => call === 'nodeUnstageVolume')).toEqual([]);
    expect(await tree.world.outside.mounts()).toEqual([`${tree.published}/mount`]);
    expect(tree.leftovers(kubelet)[0]).toContain(`could not remove ${tree.published}`);
    expect(kubelet.node.metric('reconstruct_volume_operations_errors_total')).toBe(1);
    expect(kubelet.node.metric('force_cleaned_failed_volume_operation_errors_total')).toBe(1);
  });

  it('of a published volume that its pod wants is written anew', async () => {
    const tree = await Tree.make();
    await tree.stage();
    await tree.publish('');
    const kubelet = await tree.start();
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.untilRuns('web', 'kept');
    expect(
      JSON.parse((await tree.world.outside.text(`${tree.published}/vol_data.json`)) ?? ''),
    ).toMatchObject({
      volumeHandle: 'vol-disk',
    });
    await kubelet.end('web');
    await kubelet.untilNothingIsLeft();
    expect(tree.leftovers(kubelet)).toEqual([]);
  });

  it.each(['fifo', 'socket', 'block-device'] as const)('that is a %s is not opened', async (kind) => {
    const tree = await Tree.make();
    await tree.stage();
    await tree.host.files.unlink(`${tree.staged}/vol_data.json`);
    tree.world.files.makeSpecialFile(`${tree.staged}/vol_data.json`, kind);
    const kubelet = await tree.start();
    kubelet.node.set([]);
    await kubelet.node.advance(60 * second);
    expect(tree.leftovers(kubelet)).toHaveLength(1);
    expect(tree.world.driver.log()).toEqual([]);
  });
});

describe('what has nothing in it goes', () => {
  it.each<[string, (tree: Tree) => Promise<void>]>([
    [
      'a staging directory',
      (tree) => tree.host.files.mkdir(`${tree.staged}/globalmount`, { recursive: true }),
    ],
    ['a directory of a pod', (tree) => tree.host.files.mkdir(`${tree.published}/mount`, { recursive: true })],
    [
      'half-written metadata',
      async (tree) => {
        for (const dir of [tree.staged, tree.published]) {
          await tree.host.files.mkdir(dir, { recursive: true });
          await tree.host.files.writeFile(`${dir}/vol_data.json.tmp`, '{"driv');
        }
      },
    ],
  ])('%s', async (_, make) => {
    const tree = await Tree.make();
    await make(tree);
    const kubelet = await tree.start();
    kubelet.node.set([]);
    await kubelet.untilNothingIsLeft();
    expect(tree.world.driver.log()).toEqual([]);
  });
});

it('a directory with nothing but metadata is kept, and counted', async () => {
  const tree = await Tree.make();
  await tree.write(tree.published, 'no JSON');
  const kubelet = await tree.start();
  kubelet.node.set([]);
  await kubelet.node.advance(60 * second);
  expect(await tree.world.outside.names(tree.published)).toEqual(['vol_data.json']);
  expect(tree.world.driver.log()).toEqual([]);
  expect(kubelet.node.metric('kubelet_orphan_pod_cleaned_volumes_errors')).toBe(1);
});

it('an inline volume keeps its handle over a restart', async () => {
  const world = new CsiWorld();
  await world.driver.start();
  const first = await world.start();
  const pod = inlinePod('web', world.driver.name);
  first.node.set([pod]);
  await first.node.untilReady('web');
  await first.crash();
  const next = await world.start();
  next.node.set([pod]);
  await next.node.untilReady('web');
  await next.node.advance(second);
  const ids = world.driver
    .requests<{ volumeId: string }>('nodePublishVolume')
    .map(({ volumeId }) => volumeId);
  expect(ids).toEqual([inlineHandle('uid-of-web', 'inline'), inlineHandle('uid-of-web', 'inline')]);
  await next.end('web');
  await next.untilNothingIsLeft();
});

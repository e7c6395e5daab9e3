/** A pod that waits for the volume of a driver names the step, the driver, since when, the last error and the next try. */
import { afterEach, describe, expect, it } from 'vitest';
import { viewPod } from '../../src/cli/run/pod-view.js';
import { type Explanation, explainPod } from '../../src/timeline/index.js';
import type { SimulatedCsiFault } from './csi-driver.js';
import { type CsiNode, CsiWorld, claimPod, inlinePod } from './csi-world.js';
import { endNodes, minute, second } from './node.js';

afterEach(endNodes);

function explain({ node }: CsiNode, name = 'web'): Explanation {
  const entries = node.entries.filter(({ pod }) => pod?.name === name);
  const ofNode = node.entries.filter(({ pod }) => pod === undefined);
  return explainPod(entries, ofNode, node.clock.now());
}

/** What the table of a run shows. */
function inTable({ node }: CsiNode, name = 'web', state: 'active' | 'stopping' = 'active'): string {
  const timeline = {
    ofPod: (uid: string) => node.entries.filter(({ pod }) => pod?.uid === uid),
    ofNode: () => node.entries.filter(({ pod }) => pod === undefined),
  };
  const pod = node.pod(name) ?? claimPod(name, 'disk');
  return viewPod({ pod, state }, timeline, node.clock.now()).waitsFor;
}

async function start(fault?: SimulatedCsiFault): Promise<{ world: CsiWorld; kubelet: CsiNode }> {
  const world = new CsiWorld();
  world.volume('disk');
  await world.driver.start();
  if (fault !== undefined) world.driver.fail(fault);
  return { world, kubelet: await world.start() };
}

const next = 'next try at \\d\\d:\\d\\d:\\d\\d \\(in \\d+s\\)';
const since = 'since 00:00:0\\d';
const driver = 'driver sim\\.csi\\.example\\.com';
const always = 1000;

describe('a pod waits for', () => {
  it.each<[string, SimulatedCsiFault['method'], string]>([
    ['the stage', 'nodeStageVolume', 'stage'],
    ['the publish', 'nodePublishVolume', 'publish'],
  ])('%s that fails', async (_, method, step) => {
    const effect = { kind: 'error', code: 'Internal' } as const;
    const { kubelet } = await start({ method, when: 'before', times: always, effect });
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.node.advance(20 * second);
    const { waitsFor, unblock } = explain(kubelet);
    expect(waitsFor).toEqual([
      expect.stringMatching(
        new RegExp(
          `^${driver} to ${step} volume pv-disk, ${since}, ${next}: .*code = Internal desc = injected$`,
        ),
      ),
    ]);
    expect(unblock[0]).toContain('look at the log of driver sim.csi.example.com');
    expect(inTable(kubelet)).toMatch(
      new RegExp(`^${driver} to ${step} volume pv-disk, ${next}: .*injected$`),
    );
    // When the wait for volumes is given up and begun again, nothing of this is lost.
    await kubelet.node.advance(4 * minute);
    expect(explain(kubelet).waitsFor[0]).toMatch(
      new RegExp(`^${driver} to ${step} volume pv-disk, ${since}`),
    );
  });

  it.each<[string, SimulatedCsiFault['method'], string]>([
    ['the stage', 'nodeStageVolume', 'stage'],
    ['the publish', 'nodePublishVolume', 'publish'],
  ])('%s that hangs', async (_, method, step) => {
    const { kubelet } = await start({ method, when: 'before', times: always, effect: { kind: 'hang' } });
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.node.advance(20 * second);
    expect(explain(kubelet)).toMatchObject({
      waitsFor: [],
      inProgress: { text: `driver sim.csi.example.com to ${step} volume pv-disk` },
    });
    expect(inTable(kubelet)).toBe(`driver sim.csi.example.com to ${step} volume pv-disk`);
    await kubelet.node.advance(4 * minute);
    expect(explain(kubelet).waitsFor[0]).toMatch(
      new RegExp(`^${driver} to ${step} volume pv-disk, ${since}.*: .*DeadlineExceeded`),
    );
  });

  it('a driver that is not registered', async () => {
    const { world, kubelet } = await start();
    await world.driver.stop();
    await kubelet.node.advance(2 * second);
    kubelet.node.set([inlinePod('web', world.driver.name)]);
    await kubelet.node.advance(20 * second);
    const { waitsFor, unblock } = explain(kubelet);
    expect(waitsFor).toEqual([
      expect.stringMatching(
        new RegExp(
          `^${driver} to publish volume inline, ${since}, ${next}: .*not found in the list of registered`,
        ),
      ),
    ]);
    expect(unblock[0]).toMatch(/^start driver sim.csi.example.com on this node/);
    await world.driver.start();
    await kubelet.node.untilReady('web');
    expect(explain(kubelet)).toMatchObject({ waitsFor: [], inProgress: undefined });
  });

  it('a secret that is missing', async () => {
    const { world, kubelet } = await start();
    const csi = {
      driver: world.driver.name,
      volumeHandle: 'vol-disk',
      nodeStageSecretRef: { namespace: 'ns', name: 'key' },
    };
    world.volume('disk', { csi });
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.node.advance(20 * second);
    expect(explain(kubelet).waitsFor[0]).toMatch(
      new RegExp(
        `^${driver} to stage volume pv-disk, ${since}, ${next}: .*fetching NodeStageSecretRef ns/key failed`,
      ),
    );
  });

  it('the end of the unpublish, when it is deleted', async () => {
    const { world, kubelet } = await start();
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.node.untilReady('web');
    expect(explain(kubelet)).toMatchObject({ waitsFor: [], inProgress: undefined });
    const effect = { kind: 'error', code: 'Aborted' } as const;
    world.driver.fail({ method: 'nodeUnpublishVolume', when: 'before', times: always, effect });
    kubelet.node.delete('web', 1);
    await kubelet.node.advance(20 * second);
    expect(explain(kubelet).waitsFor).toEqual([
      'what belongs to it to be cleaned up',
      expect.stringMatching(
        new RegExp(`^${driver} to unpublish volume pv-disk, since 00:00:\\d\\d, ${next}: .*code = Aborted`),
      ),
    ]);
    expect(inTable(kubelet, 'web', 'stopping')).toMatch(new RegExp(`^${driver} to unpublish volume pv-disk`));
    world.driver.mend();
    await kubelet.node.advance(minute);
    expect(explain(kubelet).waitsFor).toEqual([]);
  });

  it('the unstage of its volume, which an earlier pod used', async () => {
    const { world, kubelet } = await start();
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.node.untilReady('web');
    world.driver.fail({ method: 'nodeUnstageVolume', when: 'before', effect: { kind: 'hang' } });
    await kubelet.end('web');
    await kubelet.node.advance(5 * second);
    kubelet.node.set([claimPod('other', 'disk')]);
    await kubelet.node.advance(20 * second);
    expect(explain(kubelet, 'other').inProgress?.text).toBe(
      'driver sim.csi.example.com to unstage volume pv-disk',
    );
    await kubelet.node.untilReady('other', 5 * minute);
  });

  it('its turn, while the volume is staged for another', async () => {
    const { kubelet } = await start({ method: 'nodeStageVolume', when: 'before', effect: { kind: 'hang' } });
    kubelet.node.set([claimPod('a', 'disk'), claimPod('b', 'disk')]);
    await kubelet.node.advance(20 * second);
    const texts = ['a', 'b'].map((name) => explain(kubelet, name).inProgress?.text).sort();
    expect(texts).toEqual([
      'driver sim.csi.example.com to stage volume pv-disk',
      'its turn at volume pv-disk of driver sim.csi.example.com, which is busy for another pod',
    ]);
    await kubelet.node.untilReady('a', 5 * minute);
    await kubelet.node.untilReady('b', 5 * minute);
  });
});

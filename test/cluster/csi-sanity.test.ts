/** The storage driver of the tests is held to the test suite for storage drivers, so that it is a fair peer of the node. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommand } from '../env/command.js';
import { CsiDriverProcess } from '../env/csi-driver/driver-process.js';
import { csiSanityProgram } from '../env/csi-sanity.js';
import { CleanupStack, createTempDir } from '../env/index.js';
import { mountsBelow } from '../env/mounts.js';

let sanity: string;
let dir: string;
const cleanups = new CleanupStack();

beforeAll(async () => {
  sanity = await csiSanityProgram();
  ({ path: dir } = await createTempDir('csi-sanity', { cleanups }));
});
afterAll(() => cleanups.run());

const mib = 1024 * 1024;
/** What the driver does not offer; a spec that is skipped for another reason is a fault. */
const notOffered = /snapshot|source volume|attribute class|modify|health|group|ControllerGetVolume/i;
const ofAttaching = /ControllerPublishVolume|ControllerUnpublishVolume|volume lifecycle/;

interface Spec {
  readonly LeafNodeText: string;
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly State: string;
}

it.each([
  { access: 'mount', fsType: 'ext4', attaches: true, least: 59 },
  { access: 'mount', fsType: 'xfs', attaches: false, least: 49 },
  { access: 'block', fsType: 'ext4', attaches: true, least: 59 },
] as const)(
  'with access type $access $fsType, attaching: $attaches, every spec that applies passes',
  async ({ access, fsType, attaches, least }) => {
    const place = path.join(dir, `${access}-${fsType}`);
    const driver = new CsiDriverProcess({
      cleanups,
      rootDir: path.join(place, 'root'),
      dataDir: path.join(place, 'data'),
      name: 'sanity.test',
      attaches,
      maxVolumes: 4,
      capabilities: ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS', 'EXPAND_VOLUME', 'SINGLE_NODE_MULTI_WRITER'],
      fsType,
    });
    await driver.start();
    const report = path.join(place, 'report.json');
    await runCommand(sanity, [
      `--csi.endpoint=unix:${driver.endpoint}`,
      `--csi.mountdir=${path.join(place, 'mounts')}`,
      `--csi.stagingdir=${path.join(place, 'staged')}`,
      `--csi.testvolumeaccesstype=${access}`,
      `--csi.testvolumesize=${320 * mib}`,
      `--csi.testvolumeexpandsize=${400 * mib}`,
      `--ginkgo.json-report=${report}`,
      '--csi.testnodevolumeattachlimit',
      '--ginkgo.no-color',
    ]);
    const [{ SpecReports: specs }]: [{ SpecReports: Spec[] }] = JSON.parse(await readFile(report, 'utf8'));
    const named = specs.map(({ LeafNodeText, ContainerHierarchyTexts, State }) => ({
      name: [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' '),
      state: State,
    }));
    expect(named.filter(({ state }) => state === 'passed').length).toBeGreaterThanOrEqual(least);
    expect(named.filter(({ state }) => !['passed', 'skipped', 'pending'].includes(state))).toEqual([]);
    const skipped = named.filter(
      ({ state, name }) =>
        state === 'skipped' && !notOffered.test(name) && (attaches || !ofAttaching.test(name)),
    );
    expect(skipped.map(({ name }) => name)).toEqual([]);
    expect(driver.loopDevices()).toEqual([]);
    expect(mountsBelow(place)).toEqual([]);
    await driver.stop();
  },
);

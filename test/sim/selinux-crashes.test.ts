/** A kubelet that dies while a volume changes its SELinux label: the next one gives the next pod the volume with its own. */
import { afterEach, expect, it } from 'vitest';
import { resolveFeatureGates } from '../../src/config/index.js';
import { simulatedHost } from '../../src/host/index.js';
import type { Pod } from '../../src/kube/index.js';
import { policyWithoutObject } from '../../src/volumes/csi/driver-policy.js';
import type { NodeStageVolumeRequest } from '../../src/volumes/csi/gen/csi.js';
import { type CsiDeath, CsiWorld, claimPod } from './csi-world.js';
import { endNodes, hostFacts, second } from './node.js';

afterEach(endNodes);

const podWith = (name: string, level: string): Pod =>
  claimPod(name, 'disk', { spec: { securityContext: { seLinuxOptions: { level } } } });
const first = podWith('first', 's1');
const next = podWith('next', 's2');

async function worldWithFirst(): Promise<CsiWorld> {
  const policy = { ...policyWithoutObject, exists: true, attachRequired: false, seLinuxMount: true };
  const world = new CsiWorld({
    cluster: { policies: { synced: async () => {}, get: () => policy } },
    kubelet: {
      gates: resolveFeatureGates({ SELinuxMount: true }).gates,
      host: { ...hostFacts, isSelinuxEnabled: true },
    },
  });
  world.volume('disk');
  const { files } = simulatedHost({ machine: world.files });
  const directory = '/usr/share/containers/selinux';
  await files.mkdir(directory, { recursive: true });
  await files.writeFile(`${directory}/contexts`, 'file = "system_u:object_r:container_file_t:s0"\n');
  await world.driver.volumes.write('vol-disk', 'kept', 'kept');
  await world.driver.start();
  const kubelet = await world.start();
  kubelet.node.set([first]);
  await kubelet.untilRuns('first', 'kept');
  await kubelet.crash();
  return world;
}

/** One pod goes, and another comes; returns how many steps there were. */
async function change(world: CsiWorld, death?: CsiDeath) {
  const kubelet = await world.start(death);
  const before = kubelet.on.host.calls.length;
  const work = async (): Promise<void> => {
    kubelet.node.set([first]);
    await kubelet.node.clock.advance(3 * second);
    kubelet.node.set([next]);
    await kubelet.node.clock.advance(60 * second);
  };
  await work().catch((error: unknown) => {
    if (!kubelet.hasDied) throw error;
  });
  const died = kubelet.hasDied;
  await kubelet.crash();
  return { changes: kubelet.on.host.calls.length - before, calls: kubelet.line.calls.length, died };
}

it.each(['kill -9', 'reboot'])('%s at any step of the change', { timeout: 300_000 }, async (catastrophe) => {
  const { changes, calls } = await change(await worldWithFirst());
  await endNodes();
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
  const deaths: CsiDeath[] = [
    ...numbers(changes).map((number): CsiDeath => ({ kind: 'host', change: number, when: 'after' })),
    ...numbers(calls).flatMap((call) =>
      [false, true].map((withEffect): CsiDeath => ({ kind: 'call', call, withEffect })),
    ),
  ];
  let count = 0;
  for (const death of deaths) {
    const world = await worldWithFirst();
    try {
      if (!(await change(world, death)).died) continue;
      count++;
      if (catastrophe === 'reboot') await world.reboot();
      const kubelet = await world.start();
      kubelet.node.set([next]);
      await kubelet.untilRuns('next', 'kept');
      const [last] = world.driver.requests<NodeStageVolumeRequest>('nodeStageVolume').slice(-1);
      expect(last?.volumeCapability?.accessType).toMatchObject({
        value: { mountFlags: ['context="system_u:object_r:container_file_t:s2"'] },
      });
      await kubelet.end('next');
      await kubelet.untilNothingIsLeft();
    } catch (cause) {
      throw new Error(`${catastrophe} at ${JSON.stringify(death)}`, { cause });
    }
    await endNodes();
  }
  expect(count).toBeGreaterThan(10);
});

/** A node that can attach no more volumes: who learns of it, and what becomes of the pod. */
import { afterEach, describe, expect, it } from 'vitest';
import { samples } from '../../src/metrics/test-samples.js';
import { policyWithoutObject } from '../../src/volumes/csi/driver-policy.js';
import type { DriverNodeInfo } from '../../src/volumes/csi/node-info.js';
import { CsiWorld, claimPod } from './csi-world.js';
import { endNodes, minute, second } from './node.js';

afterEach(endNodes);

interface Case {
  readonly errorCode?: number;
  readonly periodSeconds?: number;
}

async function start({ errorCode, periodSeconds }: Case) {
  const updates: DriverNodeInfo[] = [];
  const world = new CsiWorld({
    cluster: {
      policies: {
        synced: async () => {},
        get: () => ({
          ...policyWithoutObject,
          exists: true,
          nodeAllocatableUpdatePeriodSeconds: periodSeconds,
        }),
      },
      objects: {
        secret: async () => ({ metadata: {} }),
        attachment: async () => ({
          isDeleting: false,
          attached: false,
          error: 'no room',
          errorCode,
          metadata: {},
        }),
      },
      attachments: { attached: () => new Set(), read: async () => new Set() },
      notice: {
        install: async () => {},
        uninstall: async () => {},
        update: async (_, info) => void updates.push(info),
      },
    },
  });
  world.volume('disk');
  await world.driver.start();
  const kubelet = await world.start();
  kubelet.node.set([claimPod('web', 'disk')]);
  return { world, node: kubelet.node, updates };
}

describe('a pod whose volume cannot be attached', () => {
  it('fails when the limit is reached, and the limit is told anew', async () => {
    const { world, node, updates } = await start({ errorCode: 8, periodSeconds: 3600 });
    world.driver.nodeInfo.maxVolumesPerNode = 4;
    await node.advance(2 * minute);
    expect(node.status('web')?.phase).toBe('Pending');
    expect(updates).toEqual([]);
    await node.advance(10 * second);
    const text =
      'Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: context deadline exceeded';
    expect(node.status('web')).toMatchObject({
      phase: 'Failed',
      reason: 'VolumeAttachmentLimitExceeded',
      message: `Pod was rejected: ${text}`,
    });
    expect(updates.map(({ maxVolumes }) => maxVolumes)).toEqual([4]);
    const events = node.entries.filter(({ event }) => event?.reason === 'VolumeAttachmentLimitExceeded');
    expect(events.map(({ message, event }) => [event?.type, message])).toEqual([['Warning', text]]);
    expect(samples(node.kubelet.registry)).toMatchObject({
      'kubelet_admission_rejections_total{reason="VolumeAttachmentLimitExceeded"}': 1,
    });
    await node.advance(5 * minute);
    expect(node.status('web')?.reason).toBe('VolumeAttachmentLimitExceeded');
    expect(world.driver.log()).toEqual([]);
  });

  it.each<[string, Case]>([
    ['without a code', { periodSeconds: 3600 }],
    ['with another code', { periodSeconds: 3600, errorCode: 13 }],
    ['of a driver whose limit does not change', { errorCode: 8 }],
  ])('waits on %s', async (_, given) => {
    const { node, updates } = await start(given);
    await node.advance(10 * minute);
    expect(node.status('web')?.phase).toBe('Pending');
    expect(updates).toEqual([]);
  });
});

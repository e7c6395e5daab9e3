import { describe, expect, it } from 'vitest';
import type { Pod } from '../../kube/index.js';
import type { KillReason } from '../plan/pod-plan.js';
import { container, makePod } from '../test-fixtures.js';
import { gracePeriod } from './grace.js';

describe('gracePeriod', () => {
  const probed = container('c', {
    livenessProbe: { terminationGracePeriodSeconds: 5 },
    startupProbe: { terminationGracePeriodSeconds: 90 },
  });
  const pod = (podSeconds?: number, deletionSeconds?: number): Pod =>
    makePod({ terminationGracePeriodSeconds: podSeconds }, { deletionGracePeriodSeconds: deletionSeconds });
  it.each<[string, Pod, KillReason, number | undefined, number, string]>([
    ['the override wins over all', pod(60, 40), 'LivenessProbe', 0, 0, 'override'],
    ['55: the deletion grace wins over the probe', pod(60, 40), 'LivenessProbe', undefined, 40, 'deletion'],
    ['55: the probe wins over the pod', pod(60), 'LivenessProbe', undefined, 5, 'probe'],
    ['the probe may give more than the pod', pod(60), 'StartupProbe', undefined, 90, 'probe'],
    ['without a probe reason the pod decides', pod(60), 'Unknown', undefined, 60, 'pod'],
    ['a pod that gives nothing', pod(0), '', undefined, 0, 'pod'],
    ['a probe without a pod period does not count', pod(), 'LivenessProbe', undefined, 2, 'minimum'],
  ])('%s', (_, wanted, reason, overrideSeconds, seconds, from) => {
    expect(gracePeriod({ pod: wanted, container: probed, reason, overrideSeconds })).toEqual({
      seconds,
      from,
    });
  });
});

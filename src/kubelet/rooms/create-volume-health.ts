/** Builds the part of a kubelet that asks CSI drivers for the health of volumes and storage; a feature gate turns it on. */
import { type CsiClientOptions, HealthUpdates } from '../../volumes/index.js';
import type { PodVolumes } from '../ports.js';
import type { KubeletSettings } from '../settings.js';
import type { StartManager } from '../start-up/managers.js';

type HealthSettings = Pick<KubeletSettings, 'clock' | 'timeline' | 'gates' | 'config' | 'csi'>;

/** Undefined where nobody is asked. */
export function createVolumeHealth(
  { clock, timeline, gates, config, csi }: HealthSettings,
  client: CsiClientOptions,
  volumes: Pick<PodVolumes, 'observedVolumes'>,
): StartManager | undefined {
  const notice = csi?.health;
  if (notice === undefined || !gates.enabled('CSIVolumeHealth')) return undefined;
  const updates = new HealthUpdates({
    clock,
    timeline,
    client,
    notice,
    volumes: () => volumes.observedVolumes?.() ?? [],
    periodMs: config.volumeStatsAggPeriod,
  });
  return async (tasks) => tasks.start('the health of volumes', (signal) => updates.run(signal));
}

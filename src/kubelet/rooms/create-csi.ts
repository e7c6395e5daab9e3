/** Builds what a kubelet has for CSI drivers: who is registered, and how they are called. */
import {
  AllocatableUpdates,
  type CsiClientOptions,
  CsiDrivers,
  CsiRegistration,
  type CsiVolumesOptions,
  callCsiByGrpc,
  createCsiMetrics,
} from '../../volumes/index.js';
import type { KubeletSettings } from '../settings.js';
import type { StartManager } from '../start-up/managers.js';

type CsiSettings = Pick<KubeletSettings, 'clock' | 'timeline' | 'registry' | 'csi' | 'outside'>;

export interface KubeletCsi {
  readonly client: CsiClientOptions;
  /** Takes plugins of the type CSIPlugin. */
  readonly registration: CsiRegistration;
  /** Asks a driver now how many volumes it can attach; absent without a cluster. */
  readonly refreshAllocatable?: CsiVolumesOptions['refreshAllocatable'];
  readonly start?: StartManager;
}

export function createCsi({ clock, timeline, registry, csi, outside }: CsiSettings): KubeletCsi {
  const client: CsiClientOptions = {
    clock,
    drivers: new CsiDrivers(),
    call: outside.port('csi', () => csi?.call ?? callCsiByGrpc),
    metrics: createCsiMetrics(registry),
  };
  const { notice, policies } = csi ?? {};
  const registration = new CsiRegistration({ ...client, notice });
  if (notice === undefined || policies === undefined) return { client, registration };
  const updates = new AllocatableUpdates({ clock, timeline, client, policies, notice });
  return {
    client,
    registration,
    // The pod is refused whether or not the cluster learns of it now.
    refreshAllocatable: (driver, signal) => updates.refresh(driver, signal).catch(() => {}),
    start: async (tasks) => tasks.start('the limits of CSI drivers', (signal) => updates.run(signal)),
  };
}

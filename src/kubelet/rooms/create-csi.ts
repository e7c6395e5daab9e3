/** Builds what a kubelet has for CSI drivers: who is registered, and how they are called. */
import {
  type CsiClientOptions,
  CsiDrivers,
  CsiRegistration,
  callCsiByGrpc,
  createCsiMetrics,
} from '../../volumes/index.js';
import type { KubeletSettings } from '../settings.js';

type CsiSettings = Pick<KubeletSettings, 'clock' | 'registry' | 'csi'>;

export interface KubeletCsi {
  readonly client: CsiClientOptions;
  /** Takes plugins of the type CSIPlugin. */
  readonly registration: CsiRegistration;
}

export function createCsi({ clock, registry, csi }: CsiSettings): KubeletCsi {
  const client: CsiClientOptions = {
    clock,
    drivers: new CsiDrivers(),
    call: csi?.call ?? callCsiByGrpc,
    metrics: createCsiMetrics(registry),
  };
  return { client, registration: new CsiRegistration({ ...client, notice: csi?.notice }) };
}

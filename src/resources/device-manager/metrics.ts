/** The metrics of the device manager. */
import { Registry } from '../../metrics/index.js';

export type DeviceManagerMetrics = ReturnType<typeof createDeviceManagerMetrics>;

/** Without a registry nobody reads them. */
export function createDeviceManagerMetrics(registry = new Registry()) {
  return {
    registrations: registry.counter(
      'kubelet_device_plugin_registration_total',
      'Cumulative number of device plugin registrations. Broken down by resource name.',
      ['resource_name'],
    ),
    allocationDuration: registry.histogram(
      'kubelet_device_plugin_alloc_duration_seconds',
      'Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.',
      ['resource_name'],
    ),
  };
}

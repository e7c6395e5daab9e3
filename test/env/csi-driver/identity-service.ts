/** Who a storage driver of the tests is, and what it can do. */
import {
  PluginCapability_Service_Type,
  PluginCapability_VolumeExpansion_Type,
} from '../../../src/volumes/csi/gen/csi.js';

export function identityService(name: string, hasController: boolean): object {
  const service = { case: 'service', value: { type: PluginCapability_Service_Type.CONTROLLER_SERVICE } };
  const expansion = {
    case: 'volumeExpansion',
    value: { type: PluginCapability_VolumeExpansion_Type.ONLINE },
  };
  return {
    getPluginInfo: async () => ({ name, vendorVersion: '1' }),
    getPluginCapabilities: async () => ({
      capabilities: hasController ? [{ type: service }, { type: expansion }] : [],
    }),
    probe: async () => ({ ready: { value: true } }),
  };
}

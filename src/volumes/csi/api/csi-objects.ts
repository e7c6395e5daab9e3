/** Reads what CSI volumes need of the cluster: secrets and VolumeAttachments, both as they are now. */
import { type KubeApi, resources } from '../../../kube-client/index.js';
import type { CsiObjects } from '../plugin.js';

export function apiCsiObjects(api: KubeApi): CsiObjects {
  return {
    secret: (namespace, name, signal) => api.get(resources.secrets, { namespace, name }, { signal }),
    async attachment(name, signal) {
      const { metadata, status } = await api.get(resources.volumeAttachments, { name }, { signal });
      return {
        isDeleting: metadata.deletionTimestamp !== undefined,
        attached: status?.attached === true,
        error: status?.attachError?.message,
        errorCode: status?.attachError?.errorCode,
        metadata: status?.attachmentMetadata ?? {},
      };
    },
  };
}

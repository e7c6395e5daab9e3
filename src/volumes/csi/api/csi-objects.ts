/** Reads what CSI volumes need of the cluster: secrets and VolumeAttachments, both as they are now. */
import { type KubeApi, resources } from '../../../kube-client/index.js';
import type { CsiObjects } from '../plugin.js';

export function apiCsiObjects(api: KubeApi): CsiObjects {
  return {
    async secret(namespace, name, signal) {
      const { data = {} } = await api.get(resources.secrets, { namespace, name }, { signal });
      return Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
      );
    },
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

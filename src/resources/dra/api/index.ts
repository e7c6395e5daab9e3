/** What dynamic resources need of a cluster's API; loaded only where there is one. */
import { isForbidden, isNotFound, type KubeApi, resources } from '../../../kube-client/index.js';
import type { DraApi } from '../contracts.js';

/** The node authorizer demands the name of the node in the selector. */
export function apiDynamicResources(api: KubeApi, nodeName: string): DraApi {
  return {
    claim: (namespace, name, signal) => api.get(resources.resourceClaims, { namespace, name }, { signal }),
    async deleteSlices(driver, signal) {
      const ofNode = `spec.nodeName=${nodeName}`;
      const fieldSelector = driver === undefined ? ofNode : `spec.driver=${driver},${ofNode}`;
      await api
        .deleteCollection(resources.resourceSlices, { fieldSelector, signal })
        .catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
    },
    isGone: (error) => isNotFound(error) || isForbidden(error),
  };
}

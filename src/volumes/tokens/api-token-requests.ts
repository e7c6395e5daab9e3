/** Requests service account tokens from the API. */

import { parseTimestamp } from '../../kube/index.js';
import {
  isApiError,
  isNotFound,
  type KubeApi,
  subresources,
  type TokenRequest,
} from '../../kube-client/index.js';
import { noTokenEndpoint, type RequestToken } from './service-account-tokens.js';

/** Tokens are never recorded; errors carry only what the server said about the request. */
export function apiTokenRequests(api: KubeApi): RequestToken {
  return async (request, signal) => {
    const {
      namespace,
      serviceAccountName: name,
      serviceAccountUid,
      audiences,
      expirationSeconds,
      boundPod,
    } = request;
    const body: TokenRequest = {
      // The server refuses a token of an account with another UID.
      ...(serviceAccountUid === undefined ? {} : { metadata: { uid: serviceAccountUid } }),
      spec: {
        audiences: [...audiences],
        expirationSeconds,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: boundPod.name, uid: boundPod.uid },
      },
    };
    const { spec, status } = await asked(() =>
      api.post(subresources.token, { namespace, name }, body, { signal }),
    );
    const expiresAtMs = parseTimestamp(status?.expirationTimestamp ?? '');
    if (status === undefined || expiresAtMs === undefined) {
      throw new Error(`the API response has no token for ${namespace}/${name}`);
    }
    return { token: status.token, expiresAtMs, lifetimeSeconds: spec.expirationSeconds };
  };
}

async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    // The response names a missing account or pod, but not a missing endpoint.
    const isEndpointMissing = isNotFound(error) && isApiError(error) && !error.details?.name;
    if (isEndpointMissing) throw new Error(noTokenEndpoint, { cause: error });
    throw error;
  }
}

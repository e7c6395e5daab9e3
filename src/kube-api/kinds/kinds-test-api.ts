/** A served API for tests of kinds: with a namespace and its account, and refusals as texts. */
import { VirtualClock } from '../../async/index.js';
import type { KubeObject, Pod } from '../../kube/types/index.js';
import { ApiError } from '../../kube-client/api-error.js';
import type { ObjectSubresource, Resource } from '../../kube-client/resources.js';
import { resources } from '../../kube-client/resources.js';
import { ServedApi, type ServedApiOptions } from '../server.js';

export async function testApi(
  options: Omit<ServedApiOptions, 'clock'> = {},
): Promise<{ api: ServedApi; clock: VirtualClock }> {
  const clock = new VirtualClock();
  const api = new ServedApi({ clock, ...options });
  await api.create(resources.namespaces, { metadata: { name: 'shop' } }, undefined);
  await api.create(resources.serviceAccounts, { metadata: { name: 'default' } }, 'shop');
  return { api, clock };
}

/** `422 Pod "x" is invalid: …`, or `accepted`. */
export async function refusalOf(write: Promise<unknown>): Promise<string> {
  try {
    await write;
    return 'accepted';
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return `${error.code} ${error.message}`;
  }
}

/** An object as a client wrote it: of any shape. */
export function written<T extends KubeObject>(object: unknown): T {
  return object as T;
}

export function createIn<T extends KubeObject>(
  api: ServedApi,
  resource: Resource<T>,
  object: unknown,
): Promise<T> {
  return api.create(resource, written<T>(object), resource.namespaced ? 'shop' : undefined);
}

/** Changes an object by a merge patch. */
export function change<T extends KubeObject>(
  api: ServedApi,
  resource: Resource<T>,
  name: string,
  body: unknown,
  subresource?: ObjectSubresource,
): Promise<T> {
  const ref = resource.namespaced ? { namespace: 'shop', name } : { name };
  return api.patch(resource, ref, { type: 'merge', body }, { subresource });
}

export function testPod(spec: Partial<Pod['spec']> = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  return written<Pod>({
    metadata: { name: 'web', ...metadata },
    spec: { containers: [{ name: 'app', image: 'busybox' }], ...spec },
  });
}

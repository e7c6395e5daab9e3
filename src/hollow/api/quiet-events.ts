/** An API that takes events and keeps none, for fleets whose API server should not have to store them. */
import type { KubeObject } from '../../kube/index.js';
import type { KubeApi, ObjectRef, Resource, UnpostedObject } from '../../kube-client/index.js';

export function quietEvents(api: KubeApi): KubeApi {
  return {
    get: (...call) => api.get(...call),
    list: (...call) => api.list(...call),
    update: async (_, object) => object,
    delete: (...call) => api.delete(...call),
    deleteCollection: (...call) => api.deleteCollection(...call),
    post: (...call) => api.post(...call),
    watch: (...call) => api.watch(...call),
    getText: (...call) => api.getText(...call),
    async create<T extends KubeObject>(_: Resource<T>, object: UnpostedObject<NoInfer<T>>): Promise<T> {
      // What a server would add to an event is its identity, which nobody asks an unstored one for.
      return object as unknown as T;
    },
    async patch<T extends KubeObject>(_: Resource<T>, { namespace, name }: ObjectRef): Promise<T> {
      // As above: the recorder goes on from the name of what it patched.
      return { metadata: { ...(namespace === undefined ? {} : { namespace }), name } } as unknown as T;
    },
  };
}

/** The pod lists: the desired pods with their status, and the running pods of the runtime. */
import { errorText } from '../async/index.js';
import type { ObservedPod } from '../cri/index.js';
import type { Pod, PodList } from '../kube/index.js';
import type { ServerKubelet } from './contracts.js';
import { json, text } from './responses.js';
import type { Route } from './routes.js';

export function podsRoute(kubelet: Pick<ServerKubelet, 'pods'>): Route {
  return {
    kind: 'resource',
    path: '/pods',
    methods: ['GET'],
    produces: 'application/json',
    handle: () => json(podList(kubelet.pods())),
  };
}

/** A debugging endpoint: only for servers with authentication. */
export function runningPodsRoute(kubelet: Pick<ServerKubelet, 'runningPods'>): Route {
  return {
    kind: 'resource',
    path: '/runningpods/',
    methods: ['GET'],
    produces: 'application/json',
    handle: async () => {
      try {
        return json(podList(runningPods(await kubelet.runningPods())));
      } catch (error) {
        return text(500, errorText(error));
      }
    },
  };
}

export function podList(pods: readonly Pod[]): PodList {
  return {
    kind: 'PodList',
    apiVersion: 'v1',
    metadata: {},
    // Items of a typed list do not repeat its type.
    items: pods.map(({ metadata, spec, status }) => ({ metadata, spec, status: status ?? {} })),
  };
}

/** The running pods, with only their names, containers and images. */
export function runningPods(observed: readonly ObservedPod[]): Pod[] {
  return observed.flatMap(({ uid, name, namespace, sandboxes, containers }) => {
    const running = containers.filter(({ state }) => state === 'running');
    if (running.length === 0 && !sandboxes.some(({ state }) => state === 'running')) return [];
    return [
      {
        metadata: { name, namespace, uid },
        spec: {
          containers: running.map((container) => ({
            name: container.name,
            image: container.image,
            resources: {},
          })),
        },
        status: {},
      },
    ];
  });
}

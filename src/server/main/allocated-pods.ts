/** `/allocatedPods`: the active pods with the resources that they were given, which may be others than they ask for. */
import type { Pod } from '../../kube/index.js';
import type { Kubelet } from '../../kubelet/index.js';
import { findPod } from '../api/running.js';
import { podList } from '../pods.js';
import { json, type RouteResponse, text } from '../responses.js';
import type { PathValues, Route } from '../routes.js';

export function allocatedPodsRoute(kubelet: Pick<Kubelet, 'allocatedPods'>): Route {
  return {
    kind: 'template',
    path: '/allocatedPods',
    templates: [[], ['namespace', 'name'], ['namespace', 'name', 'uid']],
    methods: ['GET'],
    produces: 'application/json',
    handle: (_, values) => answer(kubelet.allocatedPods(), values),
  };
}

function answer(pods: readonly Pod[], { namespace = '', name, uid }: PathValues): RouteResponse {
  if (name === undefined) return json(podList(pods.map(withoutStatus)));
  const pod = findPod(pods, namespace, name);
  if (pod === undefined || (uid !== undefined && pod.metadata.uid !== uid)) return text(404, 'pod not found');
  return json({ kind: 'Pod', apiVersion: 'v1', ...withoutStatus(pod) });
}

function withoutStatus({ metadata, spec }: Pod): Pod {
  return { metadata, spec, status: {} };
}

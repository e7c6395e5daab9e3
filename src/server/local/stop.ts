/** `POST /stop`: stops some pods, or everything. */
import type { Pod } from '../../kube/index.js';
import { podRef } from '../../timeline/index.js';
import { findPod } from '../api/running.js';
import { jsonLines } from '../lines.js';
import { type RouteResponse, text } from '../responses.js';
import type { Route, ServerRequest } from '../routes.js';
import type { LocalServerOptions, StopPodsRequest } from './contracts.js';

export type StopDecision =
  | { readonly kind: 'stop'; readonly request: StopPodsRequest }
  | { readonly kind: 'refuse'; readonly response: RouteResponse };

export function stopRoute(kubelet: { pods(): readonly Pod[] }, stop: LocalServerOptions['stop']): Route {
  return {
    kind: 'resource',
    path: '/stop',
    methods: ['POST'],
    produces: 'application/jsonl',
    handle: (request) => {
      const decision = decideStop(kubelet.pods(), request.query);
      if (decision.kind === 'refuse') return decision.response;
      return jsonLines(async (write, signal) => {
        const { pods } = decision.request;
        await write({ state: 'stopping', pods });
        await stop(decision.request, signal);
        await write({ state: 'stopped', pods });
      });
    },
  };
}

/** `pod=<namespace>/<name>`, repeated for each pod, or `all=1`: nothing stops by mistake. */
export function decideStop(pods: readonly Pod[], query: ServerRequest['query']): StopDecision {
  const refuse = (status: number, message: string): StopDecision => ({
    kind: 'refuse',
    response: text(status, message),
  });
  const grace = query.get('gracePeriodSeconds');
  if (grace !== null && !/^\d{1,9}$/.test(grace))
    return refuse(400, `gracePeriodSeconds ${JSON.stringify(grace)} is not a number of seconds`);
  const names = query.getAll('pod');
  const all = query.get('all') === '1';
  if (all === names.length > 0) return refuse(400, 'name pods, or all of them');
  const found: Pod[] = [];
  for (const fullName of names) {
    const [namespace = '', name = ''] = fullName.split('/', 2);
    const pod = findPod(pods, namespace, name);
    if (pod === undefined) return refuse(404, `pod ${JSON.stringify(fullName)} does not exist`);
    found.push(pod);
  }
  return {
    kind: 'stop',
    request: {
      pods: found.map(podRef),
      ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    },
  };
}

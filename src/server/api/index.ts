/** The pod routes of the kubelet API, for every port that serves them. */
import { podsRoute, runningPodsRoute } from '../pods.js';
import type { Route } from '../routes.js';
import { containerLogsRoute } from './container-logs.js';
import type { ApiKubelet, ApiOptions } from './contracts.js';
import { runCommandRoute } from './run-command.js';
import { streamRoutes } from './streams.js';

export type { ApiKubelet, ApiOptions } from './contracts.js';

/**
 * The routes for everybody who may read the node, and the debugging ones that change it or show pods' output.
 */
export function podRoutes(kubelet: ApiKubelet, options: ApiOptions = {}): Route[] {
  return [
    podsRoute(kubelet),
    runningPodsRoute(kubelet),
    containerLogsRoute(kubelet, options),
    runCommandRoute(kubelet),
    ...streamRoutes(kubelet, options),
  ];
}

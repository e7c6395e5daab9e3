/** The local server: the kubelet API and more for commands of the same user, on a unix socket. */
import { systemClock } from '../../async/index.js';
import type { Kubelet } from '../../kubelet/index.js';
import { podRoutes } from '../api/index.js';
import { describeNodeRoute } from '../describe-node.js';
import { healthzRoutes, pingCheck } from '../healthz.js';
import type { ServerListener } from '../listen.js';
import { configzRoute } from '../main/debug.js';
import { statsRoutes } from '../main/stats.js';
import { json } from '../responses.js';
import type { Route } from '../routes.js';
import { timelineRoute } from '../timeline.js';
import { watchRoute } from '../watch.js';
import { whatIfRoutes } from '../what-if.js';
import type { LocalInfo, LocalServerOptions } from './contracts.js';
import { explainRoutes } from './explain.js';
import { serveRoutesOnSocket } from './serve-socket.js';
import { stopRoute } from './stop.js';

export type LocalKubelet = Pick<
  Kubelet,
  | 'nodeName'
  | 'pods'
  | 'runningPods'
  | 'onStatus'
  | 'onPods'
  | 'runtime'
  | 'clock'
  | 'timeline'
  | 'blockers'
  | 'whatIf'
  | 'describeNode'
  | 'healthChecks'
  | 'config'
>;

/** Rejects when another process listens on the socket. Whoever can open the socket may do everything. */
export async function startLocalServer(
  kubelet: LocalKubelet,
  options: LocalServerOptions,
): Promise<ServerListener> {
  const { clock = systemClock } = options;
  return await serveRoutesOnSocket(localRoutes(kubelet, options, clock.now()), options);
}

function localRoutes(kubelet: LocalKubelet, options: LocalServerOptions, startedAtMs: number): Route[] {
  const { socketPath, timeline, info = {}, stop, stats, version = '' } = options;
  return [
    ...podRoutes(kubelet, { splitLogStreams: true, translateStreams: true }),
    {
      kind: 'resource',
      path: '/api/info',
      methods: ['GET'],
      produces: 'application/json',
      handle: () => {
        const response: LocalInfo = {
          ...info,
          pid: process.pid,
          nodeName: kubelet.nodeName,
          startedAt: new Date(startedAtMs).toISOString(),
          socketPath,
          blockers: kubelet.blockers().join('; '),
        };
        return json(response);
      },
    },
    ...explainRoutes(timeline),
    stopRoute(kubelet, stop),
    watchRoute(kubelet, '/watch'),
    watchRoute(kubelet, '/debug/watch'),
    timelineRoute(timeline, kubelet.clock),
    ...healthzRoutes([pingCheck, ...kubelet.healthChecks]),
    ...(stats === undefined ? [] : statsRoutes({ stats, version, timeline })),
    configzRoute(kubelet.config),
    ...whatIfRoutes(kubelet.whatIf),
    describeNodeRoute(kubelet),
  ];
}

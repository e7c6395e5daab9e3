/** `/containerLogs/{namespace}/{pod}/{container}`: a container's log, now or as it grows. */
import { errorText } from '../../async/index.js';
import { findPodContainer, runtimeContainerId } from '../../kube/index.js';
import {
  type LogSinks,
  logOptions,
  readContainerLogs,
  readKeptLog,
  selectLogContainer,
} from '../../runtime-manager/logs/index.js';
import { type BodySink, type RouteResponse, text } from '../responses.js';
import type { PathValues, Route, ServerRequest } from '../routes.js';
import type { ApiKubelet, ApiOptions } from './contracts.js';
import { decodeLogQuery, type StreamChoice } from './log-query.js';
import { findPod } from './running.js';

export function containerLogsRoute(kubelet: ApiKubelet, options: ApiOptions): Route {
  return {
    kind: 'template',
    path: '/containerLogs',
    templates: [['namespace', 'pod', 'container']],
    methods: ['GET'],
    handle: (request, values) => containerLogs(kubelet, options, request, values),
  };
}

function containerLogs(
  kubelet: ApiKubelet,
  { splitLogStreams = false }: ApiOptions,
  { query: parameters }: ServerRequest,
  { namespace = '', pod: podName = '', container: containerName = '' }: PathValues,
): RouteResponse {
  const decoded = decodeLogQuery(parameters);
  if (decoded.kind === 'undecodable') return text(400, '{"message": "Unable to decode query."}');
  if (decoded.kind === 'invalid') return text(422, '{"message": "Invalid request."}');
  const { request, previous, stream = 'All' } = decoded.query;

  const pod = findPod(kubelet.pods(), namespace, podName);
  if (pod === undefined) return text(404, `pod ${JSON.stringify(podName)} does not exist`);
  if (findPodContainer(pod, containerName) === undefined) {
    return text(
      404,
      `container ${JSON.stringify(containerName)} not found in pod ${JSON.stringify(podName)}`,
    );
  }
  if (stream !== 'All' && !splitLogStreams) {
    return text(
      400,
      `unable to return the given log stream: ${JSON.stringify(stream)}. Please enable PodLogsQuerySplitStreams feature gate in kubelet`,
    );
  }
  const selected = selectLogContainer({ podName, status: pod.status ?? {}, containerName, previous });
  if (!selected.found) return text(400, selected.message);
  return {
    status: 200,
    headers: {},
    body: {
      stream: (sink, signal) => {
        const { containerId } = selected;
        const options = logOptions(request, kubelet.clock.now());
        const sinks = sinksFor(stream, sink);
        const log = kubelet.keptLog?.(runtimeContainerId(containerId));
        if (log !== undefined) return readKeptLog({ log, options, sinks, signal });
        const { runtime: cri, clock, timeline } = kubelet;
        return readContainerLogs({ cri, clock, timeline, containerId, options, sinks, signal });
      },
      // The first error may be long in coming, so a reader of stderr alone still gets a failure as the
      // status.
      headAtOnce: stream !== 'Stderr',
      failed: (error) => text(400, errorText(error)),
    },
  };
}

function sinksFor(stream: StreamChoice, sink: BodySink): LogSinks {
  switch (stream) {
    case 'All':
      return { stdout: sink, stderr: sink };
    case 'Stdout':
      return { stdout: sink };
    case 'Stderr':
      return { stderr: sink };
  }
}

/** `/run`: runs a command in a container to its end and responds with its output. */
import { errorText } from '../../async/index.js';
import { commandOutcome } from '../../cri/index.js';
import { type RouteResponse, text } from '../responses.js';
import type { PathValues, Route, ServerRequest } from '../routes.js';
import type { ApiKubelet } from './contracts.js';
import { findObservedPod, findPod, runningContainer } from './running.js';

export function runCommandRoute(kubelet: ApiKubelet): Route {
  return {
    kind: 'template',
    path: '/run',
    templates: [
      ['namespace', 'pod', 'container'],
      ['namespace', 'pod', 'uid', 'container'],
    ],
    methods: ['POST'],
    handle: (request, values) => runCommand(kubelet, request, values),
  };
}

async function runCommand(
  kubelet: ApiKubelet,
  { query, signal }: ServerRequest,
  { namespace = '', pod: name = '', container = '' }: PathValues,
): Promise<RouteResponse> {
  if (findPod(kubelet.pods(), namespace, name) === undefined) return text(404, 'pod does not exist');
  try {
    const pod = findObservedPod(await kubelet.runningPods(), namespace, name);
    const running = runningContainer(pod, container);
    if (running === undefined) return text(500, `container not found (${JSON.stringify(container)})`);
    const cmd = (query.get('cmd') ?? '').split(' ');
    const response = await kubelet.runtime.execSync(
      { containerId: running.id, cmd },
      signal === undefined ? {} : { signal },
    );
    const { output, error } = commandOutcome(cmd, response);
    if (error !== undefined) return text(500, error.message);
    return { status: 200, headers: { 'Content-Type': 'application/json' }, body: output };
  } catch (error) {
    return text(500, errorText(error));
  }
}

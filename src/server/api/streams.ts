/**
 * `/exec`, `/attach` and `/portForward`: asks the runtime for its streaming URL and proxies the request
 * there.
 */

import { type Clock, errorText } from '../../async/index.js';
import { CriError } from '../../cri/index.js';
import { buildPodFullName, findPodContainer } from '../../kube/index.js';
import type { WantedStreams } from '../../streaming/index.js';
import { createStreamMetrics, type StreamMetrics } from '../metrics.js';
import { plainError, type RouteResponse, text } from '../responses.js';
import type { PathValues, Route, ServerRequest } from '../routes.js';
import type { ApiKubelet, ApiOptions } from './contracts.js';
import { findObservedPod, findPod, runningContainer, runningSandbox } from './running.js';
import { decodePorts, decodeStreams, offersClosing, upgradeKind } from './stream-query.js';
import { translateCommand } from './translated-command.js';
import { tunnelPortForward } from './tunnel.js';
import { proxyUpgrade } from './upgrade-proxy.js';

const methods = ['GET', 'POST'];
const containerTemplates = [
  ['namespace', 'pod', 'container'],
  ['namespace', 'pod', 'uid', 'container'],
];
const podTemplates = [
  ['namespace', 'pod'],
  ['namespace', 'pod', 'uid'],
];

type StreamRouteOptions = ApiOptions & { readonly metrics: StreamMetrics };

type StreamEndpoint = (
  kubelet: ApiKubelet,
  request: ServerRequest,
  values: PathValues,
  options: StreamRouteOptions,
) => Promise<RouteResponse>;

export function streamRoutes(kubelet: ApiKubelet, given: ApiOptions): Route[] {
  const options: StreamRouteOptions = { ...given, metrics: given.metrics ?? createStreamMetrics() };
  const route = (
    path: string,
    templates: readonly (readonly string[])[],
    endpoint: StreamEndpoint,
  ): Route => ({
    kind: 'template',
    path,
    templates,
    methods,
    handle: (request, values) => endpoint(kubelet, request, values, options),
  });
  return [
    route('/exec', containerTemplates, exec),
    route('/attach', containerTemplates, attach),
    route('/portForward', podTemplates, portForward),
  ];
}

const noStreams = text(400, 'you must specify at least 1 of stdin, stdout, stderr');
const noPod = text(404, 'pod does not exist');

/** The pod's instance does not matter here: the container's name in the running one does. */
const exec: StreamEndpoint = async (
  kubelet,
  request,
  { namespace = '', pod: name = '', container = '' },
  options,
) => {
  const streams = decodeStreams(request.query);
  if (streams === undefined) return noStreams;
  if (findPod(kubelet.pods(), namespace, name) === undefined) return noPod;
  const translated = commandTranslation('exec', streams, request, options);
  return proxied(kubelet, request, translated, async () => {
    const running = runningContainer(
      findObservedPod(await kubelet.runningPods(), namespace, name),
      container,
    );
    if (running === undefined) throw new Error(`container not found (${JSON.stringify(container)})`);
    const cmd = request.query.getAll('command');
    return kubelet.runtime.exec({ containerId: running.id, cmd, ...streams }, signalOf(request));
  });
};

const attach: StreamEndpoint = async (
  kubelet,
  request,
  { namespace = '', pod: name = '', uid, container = '' },
  options,
) => {
  const streams = decodeStreams(request.query);
  if (streams === undefined) return noStreams;
  const pod = findPod(kubelet.pods(), namespace, name);
  if (pod === undefined) return noPod;
  // The container's spec decides about its terminal, not the client.
  const tty = findPodContainer(pod, container)?.container.tty ?? false;
  const translated = commandTranslation('attach', { ...streams, tty }, request, options);
  return proxied(kubelet, request, translated, async () => {
    const fullName = buildPodFullName(name, namespace);
    const observed = findObservedPod(await kubelet.runningPods(), namespace, name);
    if (uid !== undefined && uid !== pod.metadata.uid) throw new Error(`pod ${fullName} not found`);
    const running = runningContainer(observed, container);
    if (running === undefined) throw new Error(`container ${container} not found in pod ${fullName}`);
    return kubelet.runtime.attach({ containerId: running.id, ...streams, tty }, signalOf(request));
  });
};

const portForward: StreamEndpoint = async (
  kubelet,
  request,
  { namespace = '', pod: name = '', uid },
  options,
) => {
  const decoded = decodePorts(request.query, request.headers);
  if (decoded.kind === 'invalid') return text(400, decoded.message);
  const pod = findPod(kubelet.pods(), namespace, name);
  if (pod === undefined) return noPod;
  if (uid !== undefined && uid !== pod.metadata.uid) return text(404, 'pod not found');
  const tunnels = options.translateStreams === true && upgradeKind(request.headers) === 'tunnel';
  const translated = tunnels ? translation('portforward', options, tunnelPortForward) : undefined;
  return proxied(kubelet, request, translated, async () => {
    const sandbox = runningSandbox(findObservedPod(await kubelet.runningPods(), namespace, name));
    if (sandbox === undefined)
      throw new Error(`pod not found (${JSON.stringify(buildPodFullName(name, namespace))})`);
    const port = [...decoded.ports];
    return kubelet.runtime.portForward({ podSandboxId: sandbox.id, port }, signalOf(request));
  });
};

type StreamTranslation = (
  url: string,
  request: ServerRequest,
  clock: Clock,
) => RouteResponse | Promise<RouteResponse>;

function translation(
  subresource: 'exec' | 'attach' | 'portforward',
  { metrics: { translated } }: StreamRouteOptions,
  translate: StreamTranslation,
): StreamTranslation {
  return (...call) => {
    translated.inc({ subresource });
    return translate(...call);
  };
}

/** Undefined for clients that the runtime supports itself. */
function commandTranslation(
  kind: 'exec' | 'attach',
  streams: WantedStreams,
  request: ServerRequest,
  options: StreamRouteOptions,
): StreamTranslation | undefined {
  if (options.translateStreams !== true || !offersClosing(request.headers)) return undefined;
  return translation(kind, options, (url, asked, clock) =>
    translateCommand({ url, kind, streams, request: asked, clock }),
  );
}

async function proxied(
  kubelet: ApiKubelet,
  request: ServerRequest,
  translated: StreamTranslation | undefined,
  ask: () => Promise<{ readonly url: string }>,
): Promise<RouteResponse> {
  let url: string;
  try {
    ({ url } = await ask());
  } catch (error) {
    return streamFailure(error);
  }
  if (!request.upgradable) return plainError(500, 'Upgrade request required');
  return (translated ?? proxyUpgrade)(url, request, kubelet.clock);
}

function signalOf({ signal }: ServerRequest): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

/** The runtime's failures keep their meaning for the client. */
export function streamFailure(error: unknown): RouteResponse {
  const message = errorText(error);
  const code = error instanceof CriError ? error.codeName : undefined;
  if (code === 'NotFound') return text(404, message);
  if (code === 'ResourceExhausted') {
    const response = text(429, message);
    return { ...response, headers: { ...response.headers, 'Retry-After': '60' } };
  }
  return text(500, message);
}

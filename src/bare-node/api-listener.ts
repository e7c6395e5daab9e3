/** The API's port: TLS, who asks, whether they may, and the way of each request to its answer. */
import type { Clock } from '../async/index.js';
import { statusResponse } from '../kube-api/http/errors.js';
import { KindIndex, targetOf } from '../kube-api/http/target.js';
import {
  type ApiHandler,
  type ApiUser,
  decideAccess,
  ownersGroup,
  type ServedApi,
  type TokenIssuer,
  usageKinds,
} from '../kube-api/index.js';
import { kubeApiLimits } from '../kube-api/limits.js';
import { ApiError } from '../kube-client/index.js';
import { type Authenticators, authenticate } from '../server/auth/authenticate.js';
import { ClientCertificates } from '../server/auth/client-certificates.js';
import type { UserIdentity } from '../server/auth/identity.js';
import { mainLimits } from '../server/limits.js';
import { listen, type ServerListener } from '../server/listen.js';
import type { RouteResponse } from '../server/responses.js';
import { dispatch, type RequestGate, type Route, type ServerRequest } from '../server/routes.js';
import { readCaBundle } from '../server/tls/ca-bundle.js';
import { secureServing, type TlsServing } from '../server/tls/secure-serving.js';
import { tlsSettings } from '../server/tls/settings.js';
import type { Timeline } from '../timeline/index.js';
import { accessRequest } from './access-request.js';
import type { NodeAuthority } from './authority.js';
import { actingUser } from './impersonation.js';
import { overWebSocket } from './log-over-websocket.js';
import { kubeletRequest } from './pod-connections.js';

export interface ApiListenerOptions {
  readonly api: ServedApi;
  readonly handler: ApiHandler;
  readonly authority: NodeAuthority;
  readonly tokens: TokenIssuer;
  /** The kubelet's own routes; undefined until it has started. */
  readonly kubeletRoutes: () => readonly Route[] | undefined;
  readonly address: string;
  readonly port: number;
  readonly clock: Clock;
  readonly timeline: Timeline;
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export function startApiListener(options: ApiListenerOptions): Promise<ServerListener> {
  const { api, handler, authority, tokens, address, port, clock, timeline } = options;
  const bundle = readCaBundle(authority.caPem);
  const secure: TlsServing = secureServing({
    certificate: () => authority.serving,
    clientCa: () => bundle,
    settings: tlsSettings({ tlsCipherSuites: [], tlsMinVersion: '', tlsCurvePreferences: [] }),
    timeline,
  });
  const users = new WeakMap<ServerRequest, ApiUser>();
  const kinds = new KindIndex(api.kinds);
  const allKinds = new KindIndex([...api.kinds, ...usageKinds]);
  const authenticators: Authenticators = {
    anonymous: false,
    certificates: new ClientCertificates({
      clock,
      bundle: () => bundle,
      handshakeOf: (connection) => secure.handshakeOf(connection),
    }),
    tokens: { identityOf: (token) => Promise.resolve(identityOf(tokens, token)) },
  };
  const gate: RequestGate = async (asked) => {
    const authentication = await authenticate(authenticators, asked);
    if (authentication.kind === 'unknown')
      return {
        kind: 'refused',
        response: statusResponse(new ApiError({ code: 401, message: 'Unauthorized' })),
      };
    const { identity, request } = authentication;
    const acting = actingUser(userOf(identity), request.headers);
    if (acting.kind === 'refused')
      return {
        kind: 'refused',
        response: statusResponse(new ApiError({ code: 403, message: acting.because })),
      };
    const { user } = acting;
    const wanted = accessRequest(allKinds, request.method, request.path, request.query);
    const { allowed, reason } = decideAccess(user, wanted);
    if (!allowed) return { kind: 'refused', response: statusResponse(forbidden(user, wanted, reason)) };
    users.set(request, user);
    // Any pod has a token, and may ask what the API has: that must not fill the listener.
    return { kind: 'admitted', request, givesPlace: !user.groups.includes(ownersGroup) };
  };
  const handle = async (request: ServerRequest): Promise<RouteResponse> => {
    const user = users.get(request);
    if (user === undefined) throw new Error('a request passed that nobody admitted');
    const connected = await connectToKubelet(options, kinds, request);
    if (connected !== undefined) return connected;
    return handler.handle({ ...request, query: request.query, user });
  };
  // Only a route with templates is offered upgrades; any depth below a namespace is such a path.
  const depths = Array.from({ length: 8 }, (_, depth) =>
    Array.from({ length: depth }, (_, at) => `part${at}`),
  );
  const routes: Route[] = [
    { kind: 'template', path: '/api/v1/namespaces', templates: depths, methods, handle },
    { kind: 'plain', path: '/', handle },
  ];
  return listen(routes, {
    name: 'api',
    address,
    port,
    timeline,
    clock,
    limits: {
      ...mainLimits,
      bodyBytes: kubeApiLimits.requestBytes,
      sessions: kubeApiLimits.openStreams,
      inactivityMs: kubeApiLimits.inactivityMs,
    },
    gate,
    secure,
  });
}

/** What the kubelet answers is asked of its own routes, as the API server does over the network. */
async function connectToKubelet(
  { api, kubeletRoutes, clock }: ApiListenerOptions,
  kinds: KindIndex,
  request: ServerRequest,
): Promise<RouteResponse | undefined> {
  try {
    const target = targetOf(kinds, request.path);
    const wanted = target === undefined ? undefined : kubeletRequest(api, target, request.query);
    if (wanted === undefined) return undefined;
    const routes = kubeletRoutes();
    if (routes === undefined)
      throw new ApiError({
        code: 503,
        message: 'the node is still starting; try again in a moment',
        retryAfterSeconds: 1,
      });
    const passed: ServerRequest = { ...request, path: wanted.path, query: wanted.query };
    return overWebSocket(request, await dispatch(routes, passed), clock);
  } catch (error) {
    return statusResponse(error);
  }
}

function identityOf(tokens: TokenIssuer, token: string): UserIdentity {
  const found = tokens.verify(token, []);
  if (found === undefined) throw new Error('the token is not valid here');
  const { name, uid, groups, extra } = found.user;
  return {
    user: name,
    groups,
    ...(uid === undefined ? {} : { uid }),
    ...(extra === undefined ? {} : { extra }),
  };
}

function userOf({ user, uid, groups, extra }: UserIdentity): ApiUser {
  return {
    name: user,
    groups,
    ...(uid === undefined ? {} : { uid }),
    ...(extra === undefined ? {} : { extra }),
  };
}

function forbidden(
  user: ApiUser,
  { verb, resource, path }: ReturnType<typeof accessRequest>,
  reason: string,
): ApiError {
  const what =
    resource === undefined ? `path ${JSON.stringify(path ?? '')}` : `resource ${JSON.stringify(resource)}`;
  const message = `User ${JSON.stringify(user.name)} cannot ${verb} ${what}: ${reason}`;
  return new ApiError({ code: 403, message });
}

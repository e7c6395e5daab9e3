/** Admits only authenticated and authorized requests to the kubelet's API, and records the others. */
import { type Clock, errorText } from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';
import { text } from '../responses.js';
import { canonicalPath, type RefusedRequest, type RequestGate, type ServerRequest } from '../routes.js';
import type { AccessReviews } from './access-reviews.js';
import { attributesOf } from './attributes.js';
import { type Authenticators, authenticate } from './authenticate.js';
import type { UserIdentity } from './identity.js';
import { RefusalLog } from './refusal-log.js';

export interface GateOptions {
  readonly authenticators: Authenticators;
  /** Absent where every authenticated user may do everything. */
  readonly access?: Pick<AccessReviews, 'isAllowed'> | undefined;
  readonly clock: Clock;
  readonly timeline: Timeline;
}

export function apiGate({ authenticators, access, clock, timeline }: GateOptions): RequestGate {
  const refusals = new RefusalLog(clock, timeline);
  const refuse = (
    request: ServerRequest,
    status: 401 | 403 | 500,
    body: string,
    because: string,
    identity?: UserIdentity,
  ): RefusedRequest => {
    const { method, path, remoteAddress = '' } = request;
    refusals.tell(remoteAddress, {
      kind: 'decision',
      what: 'server.refuse',
      message: `${method} ${path.slice(0, shownPathChars)} answered ${status}`,
      because,
      level: status === 500 ? 'error' : 'info',
      data: { status, remoteAddress, ...(identity === undefined ? {} : { user: identity.user }) },
    });
    return { kind: 'refused', response: text(status, body) };
  };

  return async (asked) => {
    const authentication = await authenticate(authenticators, asked);
    if (authentication.kind === 'unknown') {
      return refuse(asked, 401, 'Unauthorized', authentication.because);
    }
    const { identity, request } = authentication;
    if (access === undefined) return { kind: 'admitted', request };
    // The canonical path, as for routing: another spelling must not need another permission.
    const wanted = attributesOf(request.method, canonicalPath(request.path) ?? request.path);
    const { user } = identity;
    for (const attributes of wanted) {
      const { verb, subresource } = attributes;
      try {
        if (await access.isAllowed(identity, attributes, request.path, request.signal)) {
          return { kind: 'admitted', request };
        }
      } catch (error) {
        const body = `Authorization error (user=${user}, verb=${verb}, resource=nodes, subresource=${subresource})`;
        return refuse(request, 500, body, errorText(error), identity);
      }
    }
    const names = wanted.map(({ subresource }) => subresource).join(' ');
    const verb = wanted[0]?.verb ?? '';
    return refuse(
      request,
      403,
      `Forbidden (user=${user}, verb=${verb}, resource=nodes, subresource(s)=[${names}])\n`,
      `${user} may not ${verb === '' ? 'do this' : verb} to nodes/${names.replaceAll(' ', ' or nodes/')}`,
      identity,
    );
  };
}

const shownPathChars = 200;

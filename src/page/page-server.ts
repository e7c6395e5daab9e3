/** The server of the page: it listens on loopback alone, lets browsers in that hold an address of its own, and asks the node. */
import { type Clock, systemClock } from '../async/index.js';
import { listen } from '../server/listen.js';
import { json, type RouteResponse, text } from '../server/responses.js';
import { dispatch, type Route, type ServerRequest } from '../server/routes.js';
import type { Timeline } from '../timeline/index.js';
import { askNode, openNode } from './ask-node.js';
import type { NodeTarget } from './contracts.js';
import { pageFiles, type ReadPageFile } from './files.js';
import { guardHeaders } from './headers.js';
import { pageLimits } from './limits.js';
import { nodeRequest } from './node-paths.js';
import { foreignRequest } from './request-rules.js';
import { PageSessions } from './sessions.js';

export interface PageServerOptions {
  readonly target: NodeTarget;
  /** 0: any free port. */
  readonly port: number;
  /** Records what goes wrong with the server itself. */
  readonly timeline: Timeline;
  readonly clock?: Clock;
  /** Default: the page as it was built. */
  readonly files?: ReadPageFile;
}

export interface PageServer {
  /** A new address that lets one browser in, once. */
  newAddress(): string;
  close(): Promise<void>;
}

const address = '127.0.0.1';

export async function startPageServer(options: PageServerOptions): Promise<PageServer> {
  const { target, timeline, clock = systemClock, files = await pageFiles() } = options;
  // The port is known when it listens, and nothing is answered before.
  let port = options.port;
  let sessions = new PageSessions(port);
  const routes = pageRoutes(files, target, clock, {
    letIn: (secret) => sessions.letIn(secret),
  });
  const guarded = (request: ServerRequest): Promise<RouteResponse> => {
    const isNode = request.path === '/node' || request.path.startsWith('/node/');
    const foreign = foreignRequest({
      port,
      headers: request.headers,
      needsOrigin: request.method !== 'GET' || request.upgradable === true,
    });
    if (foreign !== undefined) return Promise.resolve(text(403, foreign));
    if (isNode && !sessions.isKnown(request.headers))
      return Promise.resolve(
        text(401, 'this browser is not let in: open an address that "nodelet ui" prints'),
      );
    return dispatch(routes, request);
  };
  const handle = async (request: ServerRequest): Promise<RouteResponse> => {
    const response = await guarded(request);
    return { ...response, headers: { ...response.headers, ...guardHeaders } };
  };
  const listener = await listen(
    [
      // Only a route with templates is offered upgrades.
      { kind: 'template', path: '/node', templates: depths, methods: ['GET'], handle },
      { kind: 'plain', path: '/', handle },
    ],
    {
      name: 'page',
      address,
      port,
      timeline,
      clock,
      limits: {
        connections: pageLimits.connections,
        strangersPerAddress: pageLimits.connections,
        sessions: pageLimits.streams,
        bodyBytes: pageLimits.loginBytes,
      },
    },
  );
  port = listener.address()?.port ?? port;
  sessions = new PageSessions(port);
  return {
    newAddress: () => `http://${address}:${port}/#${sessions.newSecret()}`,
    close: () => listener.close(),
  };
}

const longestPath = 4;
const depths = Array.from({ length: longestPath + 1 }, (_, depth) =>
  Array.from({ length: depth }, (_, at) => `part${at}`),
);

function pageRoutes(
  files: ReadPageFile,
  target: NodeTarget,
  clock: Clock,
  { letIn }: Pick<PageSessions, 'letIn'>,
): Route[] {
  return [
    {
      kind: 'resource',
      path: '/session',
      methods: ['POST'],
      produces: 'application/json',
      handle: async ({ readBody }) => {
        const secret = ((await readBody?.()) ?? Buffer.alloc(0)).toString('utf8');
        const session = letIn(secret);
        if (session === undefined) return text(403, 'this address was opened before, or is not of this page');
        const response = json({ key: session.key, kind: target.kind, name: target.name });
        return { ...response, headers: { ...response.headers, 'Set-Cookie': session.setCookie } };
      },
    },
    {
      kind: 'resource',
      path: '/node/about',
      methods: ['GET'],
      produces: 'application/json',
      handle: () => json({ kind: target.kind, name: target.name }),
    },
    {
      kind: 'template',
      path: '/node',
      templates: depths,
      methods: ['GET'],
      handle: (request, values) => {
        const segments = Object.values(values);
        const wanted = nodeRequest(segments);
        if (wanted === 'read') return askNode(target, segments, request);
        if (wanted === 'open' && request.upgradable) return openNode(target, segments, request, clock);
        return text(404, 'the page does not ask the node for this');
      },
    },
    {
      kind: 'plain',
      path: '/',
      handle: async ({ method, path }) => {
        if (method !== 'GET') return text(405, 'only GET');
        const file = await files(path === '/' ? 'index.html' : path.slice(1));
        return file === undefined
          ? text(404, 'there is no such file')
          : { status: 200, headers: { 'Content-Type': file.type }, body: file.bytes };
      },
    },
  ];
}

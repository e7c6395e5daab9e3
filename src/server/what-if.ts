/** `/debug/what-if/…`: what eviction, garbage collection and the like would do now. No request changes anything. */
import path from 'node:path';
import { errorText } from '../async/index.js';
import type { WhatIf } from '../kubelet/index.js';
import { json, type RouteResponse, text } from './responses.js';
import type { Route, ServerRequest } from './routes.js';

export const whatIfPrefix = '/debug/what-if/';

export function whatIfRoutes(whatIf: WhatIf): Route[] {
  return [
    look('evict', () => whatIf.evict()),
    look('gc', () => whatIf.gc()),
    look('shutdown', async () => whatIf.shutdown()),
    {
      kind: 'resource',
      path: `${whatIfPrefix}config`,
      methods: ['POST'],
      produces: 'application/json',
      handle: (request) => configured(whatIf, request),
    },
  ];
}

function look(name: string, see: () => Promise<unknown>): Route {
  return {
    kind: 'resource',
    path: `${whatIfPrefix}${name}`,
    methods: ['GET'],
    produces: 'application/json',
    handle: () => answered(see),
  };
}

async function answered(see: () => Promise<unknown>, nothing?: RouteResponse): Promise<RouteResponse> {
  try {
    const seen = await see();
    return seen === undefined && nothing !== undefined ? nothing : json(seen);
  } catch (error) {
    return text(503, `the node cannot be seen now: ${errorText(error)}`);
  }
}

const longestFileName = 4096;

/** The body is the file. `file` in the query names it; nothing is read from there. */
async function configured(whatIf: WhatIf, { query, readBody }: ServerRequest): Promise<RouteResponse> {
  const file = query.get('file') ?? undefined;
  if (file !== undefined && (!path.isAbsolute(file) || file.length > longestFileName))
    return text(400, 'file must be an absolute path');
  const body = (await readBody?.())?.toString('utf8') ?? '';
  if (body.trim() === '') return text(400, 'the body must be a KubeletConfiguration, and it is empty');
  return answered(async () => await whatIf.config(body, file), noFile);
}

const noFile = text(404, 'a run has no configuration file: name the kubelet API of an agent with --server');

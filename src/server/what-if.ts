/** `/debug/what-if/…`: what eviction, garbage collection and the like would do now. No request changes anything. */
import { errorText } from '../async/index.js';
import type { WhatIf } from '../kubelet/index.js';
import { json, type RouteResponse, text } from './responses.js';
import type { Route } from './routes.js';

export const whatIfPrefix = '/debug/what-if/';

export function whatIfRoutes(whatIf: WhatIf): Route[] {
  return [
    look('evict', () => whatIf.evict()),
    look('gc', () => whatIf.gc()),
    look('shutdown', async () => whatIf.shutdown()),
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

async function answered(see: () => Promise<unknown>): Promise<RouteResponse> {
  try {
    return json(await see());
  } catch (error) {
    return text(503, `the node cannot be seen now: ${errorText(error)}`);
  }
}

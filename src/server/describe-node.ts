/** `/debug/describe/node`: what the node has, who was given what, and what is free. */
import { errorText } from '../async/index.js';
import type { Kubelet } from '../kubelet/index.js';
import { json, text } from './responses.js';
import type { Route } from './routes.js';

export const describePrefix = '/debug/describe/';

export function describeNodeRoute({ describeNode }: Pick<Kubelet, 'describeNode'>): Route {
  return {
    kind: 'resource',
    path: `${describePrefix}node`,
    methods: ['GET'],
    produces: 'application/json',
    handle: async () => {
      try {
        return json(await describeNode());
      } catch (error) {
        return text(503, `the node cannot be described now: ${errorText(error)}`);
      }
    },
  };
}

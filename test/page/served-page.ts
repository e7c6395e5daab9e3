/** The server of the page in front of a node of a test, and a browser that was let in. */
import { type NodeTarget, type PageServer, startPageServer } from '../../src/page/index.js';
import { Timeline } from '../../src/timeline/index.js';

export function servePage(socketPath: () => string, more: Partial<NodeTarget> = {}): Promise<PageServer> {
  return startPageServer({
    target: {
      kind: 'run',
      name: 'a node of a test',
      endpoint: async () => ({ kind: 'socket', socketPath: socketPath() }),
      ...more,
    },
    port: 0,
    timeline: new Timeline(),
  });
}

/** A Kubernetes of one node in one process: what its API costs, and how it compares with a control plane and an agent. */
import { createTempDir } from '../test/env/index.js';
import { CleanupStack } from '../test/env/tempdir.js';
import { buildAgent } from './agent.js';
import { measureAgainstPlane } from './bare-node/against-plane.js';
import { measureApi } from './bare-node/api-costs.js';
import type { Bench } from './measure.js';

export const bareNode: Bench = {
  name: 'bare-node',
  summary: 'nodelet up: 1,000 objects, 100 watchers; 100 pods against a whole control plane',
  run: async (context) => {
    const cleanups = new CleanupStack();
    try {
      const { path: dir } = await createTempDir('bench', { cleanups });
      const program = await buildAgent(dir, context.note);
      return [
        ...(await measureApi(dir, program, context)),
        ...(await measureAgainstPlane(dir, program, context)),
      ];
    } finally {
      await cleanups.run();
    }
  },
};

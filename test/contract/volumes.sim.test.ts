/** The volume plugins on a simulated machine. */
import { simulatedHost } from '../../src/host/index.js';
import { describeVolumeContract } from './volume-contract.js';

describeVolumeContract('simulated', async () => {
  const host = simulatedHost();
  await host.files.mkdir('/var/test', { recursive: true });
  return {
    host,
    directory: '/var/test',
    dispose: async () => {
      if (host.machine.heldPaths > 0)
        throw new Error(`${host.machine.heldPaths} held paths were left behind`);
    },
  };
});

/** A simulated machine under test. */
import { simulatedHost } from '../../src/host/index.js';
import type { HostUnderTest } from './host-contract.js';

export async function thisSimulation(): Promise<HostUnderTest> {
  const host = simulatedHost();
  await host.files.mkdir('/var/test');
  return {
    host,
    directory: '/var/test',
    makePipe: (path) => host.machine.makeSpecialFile(path, 'fifo'),
    dispose: async () => {
      if (host.machine.heldPaths > 0)
        throw new Error(`${host.machine.heldPaths} held paths were left behind`);
    },
  };
}

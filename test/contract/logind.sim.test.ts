/** The simulated logind keeps the contract. */
import { SimulatedLogind } from '../../src/node/index.js';
import { logindContract } from './logind-contract.js';

logindContract('simulated', async () => {
  let nextDelayMs: number | undefined;
  const logind = new SimulatedLogind({ onReload: async () => nextDelayMs ?? 5_000 });
  return {
    logind,
    heldLocks: async () => logind.heldLocks,
    prepare: async (isBegun) => logind.prepare(isBegun),
    setNextDelayMs: (delayMs) => {
      nextDelayMs = delayMs;
    },
    loseBus: async () => logind.loseBus(),
    killHolders: async () => logind.loseLocks(),
    close: async () => {},
  };
});

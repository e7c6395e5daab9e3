/** The simulated API server holds the contract. */
import { systemClock } from '../../src/async/index.js';
import { SimulatedKubeApi } from '../../src/kube-api/index.js';
import { describeKubeApiContract } from './kube-api-contract.js';

describeKubeApiContract('simulated', async () => {
  const api = new SimulatedKubeApi({ clock: systemClock });
  return {
    api,
    newNamespace: async () => 'contract',
    forgetChanges: async () => api.compact(),
    cutWatches: async () => api.cutWatches(),
    close: async () => undefined,
  };
});

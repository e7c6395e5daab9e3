/** The API that a node serves itself holds the contract, through the port of its own process. */
import { systemClock } from '../../src/async/index.js';
import { LocalKubeApi, PostedObjects, ServedApi } from '../../src/kube-api/index.js';
import { resources } from '../../src/kube-client/index.js';
import { describeKubeApiContract } from './kube-api-contract.js';

describeKubeApiContract('served', async () => {
  const served = new ServedApi({ clock: systemClock });
  const tokens = {
    issue: () => ({ token: 'token', expiresMs: systemClock.now() + 3_600_000 }),
    verify: () => undefined,
  };
  const api = new LocalKubeApi(served, new PostedObjects(served, tokens));
  return {
    api,
    newNamespace: async () => {
      await api.create(resources.namespaces, { metadata: { name: 'contract' } });
      await api.create(resources.serviceAccounts, { metadata: { name: 'default', namespace: 'contract' } });
      return 'contract';
    },
    forgetChanges: async () => served.storage.compact(),
    close: async () => served.endWatches(),
  };
});

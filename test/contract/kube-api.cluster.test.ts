/** A real API server holds the contract through the HTTP client. */
import { resources } from '../../src/kube-client/index.js';
import { startControlPlane } from '../env/control-plane.js';
import { CleanupStack } from '../env/index.js';
import { describeKubeApiContract } from './kube-api-contract.js';

describeKubeApiContract('kube-apiserver', async () => {
  const cleanups = new CleanupStack();
  const plane = await startControlPlane({ cleanups, etcd: 'newer' });
  const connection = await plane.connect();
  const api = connection.client();
  return {
    api,
    newNamespace: async () => {
      const { metadata } = await api.create(resources.namespaces, {
        metadata: { generateName: 'contract-' },
      });
      // Without its controller nobody makes the account that every pod needs.
      await api.create(resources.serviceAccounts, {
        metadata: { name: 'default', namespace: metadata.name! },
      });
      return metadata.name!;
    },
    // Its memory of changes begins with its start.
    forgetChanges: async () => {
      await plane.server('kube-apiserver').kill();
      await plane.server('kube-apiserver').start();
    },
    cutWatches: async () => connection.resetConnections(),
    close: () => cleanups.run(),
  };
});

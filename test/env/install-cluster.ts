/** Before the first test with a control plane: the packages whose programs these tests start. */
import { etcdProgram } from './control-plane-binaries.js';
import { ensurePackages } from './packages.js';
import { packagesFor } from './programs.js';

export default async (): Promise<void> => {
  await ensurePackages(packagesFor('base', 'unit', 'containerd'));
  // Another etcd may be given by KUBEBUILDER_ASSETS.
  await etcdProgram();
};

/** Before the first test on the newer containerd: the packages of these tests, and the programs that are built from sources. */
import { containerdEnvironment } from './containerd-programs.js';
import { ensurePackages } from './packages.js';
import { packagesFor } from './programs.js';

export default async (): Promise<void> => {
  await ensurePackages(packagesFor('base', 'unit', 'containerd'));
  await containerdEnvironment('newer');
};

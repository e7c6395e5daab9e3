/** Before the first test with containerd: the packages whose programs these tests start. */
import { ensurePackages } from './packages.js';
import { packagesFor } from './programs.js';

export default (): Promise<void> => ensurePackages(packagesFor('base', 'unit', 'containerd'));

/** Before the first unit test: the packages whose programs unit tests start. */
import { ensurePackages } from './packages.js';
import { packagesFor } from './programs.js';

export default (): Promise<void> => ensurePackages(packagesFor('base', 'unit'));

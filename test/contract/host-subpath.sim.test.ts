/** subPath mounts on the simulated machine. */
import { thisSimulation } from './host-simulated.js';
import { describeSubPaths } from './host-subpath.js';

describeSubPaths('simulated', thisSimulation);

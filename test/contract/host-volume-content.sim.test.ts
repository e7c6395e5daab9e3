/** Files of volumes on the simulated machine. */
import { thisSimulation } from './host-simulated.js';
import { describeVolumeContent } from './host-volume-content.js';

describeVolumeContent('simulated', thisSimulation);

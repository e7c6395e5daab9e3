/** The volume plugins on a simulated machine. */
import { thisSimulation } from './host-simulated.js';
import { describeVolumeContract } from './volume-contract.js';

describeVolumeContract('simulated', thisSimulation);

/** The simulated machine holds the host contract. */
import { describeHostContract } from './host-contract.js';
import { thisSimulation } from './host-simulated.js';

describeHostContract('simulated', thisSimulation);

/** The volume plugins on this machine. */
import { onThisMachine } from './host-linux.js';
import { describeVolumeContract } from './volume-contract.js';

onThisMachine(describeVolumeContract);

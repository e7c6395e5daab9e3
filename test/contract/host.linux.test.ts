/** This machine holds the host contract. */
import { describeHostContract } from './host-contract.js';
import { onThisMachine } from './host-linux.js';

onThisMachine(describeHostContract);

/** Files of volumes on this machine. */
import { onThisMachine } from './host-linux.js';
import { describeVolumeContent } from './host-volume-content.js';

onThisMachine(describeVolumeContent);

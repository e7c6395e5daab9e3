/** subPath mounts on this machine. */
import { onThisMachine } from './host-linux.js';
import { describeSubPaths } from './host-subpath.js';

onThisMachine(describeSubPaths);

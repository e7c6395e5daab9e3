/** The machine as a port with two sides: the Linux machine that the agent runs on, and one in memory for tests. */
export { isHostError, isMissing, toHostError } from './errors.js';
export { exists } from './exists.js';
export * from './host.js';
export { type LinuxHostOptions, linuxHost } from './linux/linux-host.js';
export {
  type CleanMountPointOptions,
  cleanMountPoint,
  isCorruptedMount,
  isMountPoint,
  mountAt,
  mountPointsUnder,
  unmountTree,
} from './mount-points.js';
export { namesIn } from './names-in.js';
export { removeTree } from './remove-tree.js';
export { type HostCall, HostDied, type HostFault } from './simulated/faults.js';
export { SimulatedMachine } from './simulated/machine.js';
export { type SimulatedHost, type SimulatedHostOptions, simulatedHost } from './simulated/simulated-host.js';

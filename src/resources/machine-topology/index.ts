/** The machine's processors and memory: what they look like, and how they are read. */
export type * from './machine-topology.js';
export { readMachineTopology } from './read-machine-topology.js';
export type { TopologyHost } from './sysfs.js';

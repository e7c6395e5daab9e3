/** The machine port with two implementations: the Linux machine of the agent, and one in memory for tests. */
export { hostApart } from './apart.js';
export {
  type DurableFileRead,
  DurableFiles,
  type DurableFilesObserver,
  type DurableFilesOptions,
  type UnusableFile,
} from './durable/durable-files.js';
export { DurableState } from './durable/durable-state.js';
export { readWholeFile } from './durable/read-whole-file.js';
export { type ReplaceFileOptions, replaceFile, temporarySuffix } from './durable/replace-file.js';
export { isSetAside, setAside } from './durable/set-aside.js';
export { isHostError, isMissing, isShortage, toHostError } from './errors.js';
export { exists } from './exists.js';
export { type HoldBelowOptions, holdBelow } from './hold-below.js';
export * from './host.js';
export { Lanes, type LanesOptions } from './linux/lanes.js';
export { type LinuxHostOptions, linuxHost } from './linux/linux-host.js';
export { makeDirectoriesSync } from './linux/make-directories.js';
export { blockBytesOf } from './linux/stats.js';
export { isInUserNamespace } from './linux/user-namespace.js';
export { entriesIn, entriesOf } from './list-directory.js';
export { measureFilesIn, measureTree, type TreeSize } from './measure-tree.js';
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
export { openRegular, readExactly, readLastBytes, readRegular, readWhole } from './read-file.js';
export { removeEmptyTree } from './remove-empty-tree.js';
export { removeTree } from './remove-tree.js';
export { removeTreeHere } from './remove-tree-here.js';
export {
  type AroundHostCall,
  type FaultCaller,
  type HostCall,
  HostDied,
  type HostFault,
} from './simulated/faults.js';
export { SimulatedMachine } from './simulated/machine.js';
export { type SimulatedHost, type SimulatedHostOptions, simulatedHost } from './simulated/simulated-host.js';

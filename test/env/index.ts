/** The test environment's public surface: real servers to start, images to run in them, and their clean-up. */

export {
  buildImage,
  type ImageConfig,
  type ImageSpec,
  type OciImage,
} from '../../src/runtimes/containerd/oci.js';
export type { TarEntry } from '../../src/runtimes/containerd/tar.js';
export type { TomlTable } from '../../src/runtimes/containerd/toml.js';
export { freePort, machineAddress } from './addresses.js';
export { ClusterNode, type ClusterNodeOptions, startClusterNode } from './cluster-node.js';
export { CommandError, type CommandResult, runCommand } from './command.js';
export {
  type ContainerdOptions,
  type RunContainerOptions,
  startContainerd,
  TestContainerd,
} from './containerd.js';
export {
  type ContainerdRelease,
  chosenRelease,
  containerdEnvironment,
  newerContainerdVersion,
} from './containerd-programs.js';
export { ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.js';
export { CuttableLine, type LineTrouble, openLine } from './cuttable-line.js';
export { startDbusDaemon, type TestDbusDaemon } from './dbus.js';
export { buildBusyboxImage, buildTestImages, type TestImageName, testImages } from './images.js';
export { startTestLogind, type TestLogind, type TestLogindOptions } from './logind.js';
export { ensurePackages } from './packages.js';
export { pollUntil } from './poll.js';
export { type RegistryCredentials, type RegistryOptions, startRegistry, TestRegistry } from './registry.js';
export { startTestSystemd, type TestSystemd, type TestSystemdOptions } from './systemd-service.js';
export { sweepLeftovers } from './teardown.js';
export { CleanupStack, createTempDir, type TempDir, type TempDirOptions } from './tempdir.js';

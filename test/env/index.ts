/** The test environment's public surface: real servers to start, images to run in them, and their clean-up. */
export { CommandError, type CommandResult, runCommand } from './command.js';
export {
  type ContainerdOptions,
  type RunContainerOptions,
  startContainerd,
  TestContainerd,
} from './containerd.js';
export { buildBusyboxImage, buildTestImages, type TestImageName, testImages } from './images.js';
export { buildImage, type ImageConfig, type ImageSpec, type OciImage } from './oci.js';
export { ensurePackages } from './packages.js';
export { pollUntil } from './poll.js';
export { type RegistryCredentials, type RegistryOptions, startRegistry, TestRegistry } from './registry.js';
export type { TarEntry } from './tar.js';
export { sweepLeftovers } from './teardown.js';
export { CleanupStack, createTempDir, type TempDir, type TempDirOptions } from './tempdir.js';
export type { TomlTable } from './toml.js';

/** The files of the node that configs of pods are made with, as a port: a kubelet over a record touches none. */
import {
  createTerminationLog,
  makeLogDirectory,
  readNodeFile,
  readVolumeFile,
  writeHostsFile,
} from './pod-files.js';
import type { ResolvConf } from './resolv-conf.js';
import { ResolverFile } from './resolver-file.js';

export interface NodeFiles {
  makeLogDirectory(path: string): void;
  /** Reads a file of the node, such as its hosts file. */
  readNodeFile(path: string): Promise<string>;
  /** The resolver file of the node; empty when there is no path. */
  readResolver(path: string): Promise<ResolvConf>;
  writeHostsFile(path: string, content: string): void;
  /** Makes the file of a container's termination message; returns its path. */
  createTerminationLog(directory: string): string;
  /** Reads a file of a volume for the environment of a container. */
  readVolumeFile(volumeDirectory: string, path: string): Promise<string>;
}

/** Those of this machine. */
export function machineNodeFiles(): NodeFiles {
  const resolver = new ResolverFile();
  return {
    makeLogDirectory,
    readNodeFile,
    readResolver: (path) => resolver.read(path),
    writeHostsFile: (path, content) => writeHostsFile(path, content),
    createTerminationLog,
    readVolumeFile,
  };
}

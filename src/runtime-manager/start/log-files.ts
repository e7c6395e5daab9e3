/** The files of container logs as a start uses them: runtimes write them to this machine, whatever the kubelet's machine is. */
import { type Host, linuxHost } from '../../host/index.js';
import { linkContainerLog } from './log-symlink.js';

export interface LogFiles {
  readonly host: Host;
  /** Links to a log if it exists. */
  link(logPath: string, linkPath: string): void;
}

/** Those of this machine. */
export function machineLogFiles(): LogFiles {
  return { host: linuxHost(), link: linkContainerLog };
}

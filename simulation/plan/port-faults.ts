/** The calls of each port that may go wrong, and the codes with which they fail. */
import type { PortName } from './step.js';

const criCalls = [
  'runPodSandbox',
  'createContainer',
  'startContainer',
  'stopContainer',
  'stopPodSandbox',
  'removeContainer',
  'removePodSandbox',
  'listPodSandbox',
  'listContainers',
  'containerStatus',
  'podSandboxStatus',
  'pullImage',
  'imageStatus',
  'status',
  'execSync',
  'event',
] as const;
const apiCalls = [
  'patch pods',
  'delete pods',
  'create pods',
  'get pods',
  'list pods',
  'watch pods',
  'event pods',
  'get nodes',
  'patch nodes',
  'create nodes',
  'list nodes',
  'get configmaps',
  'list configmaps',
  'list secrets',
  'watch configmaps',
  'update leases',
  'create leases',
] as const;
const hostCalls = [
  'writeFile',
  'mkdir',
  'rename',
  'symlink',
  'readdir',
  'readFile',
  'lstat',
  'stat',
  'unlink',
  'rmdir',
  'mount',
  'unmount',
  'list mounts',
  'hold',
  'syncFile',
  'syncDirectory',
] as const;
const deviceCalls = ['options', 'allocate', 'report'] as const;
const csiCalls = [
  'NodeStageVolume',
  'NodePublishVolume',
  'NodeUnpublishVolume',
  'NodeUnstageVolume',
  'NodeGetCapabilities',
  'NodeGetInfo',
  'info',
  'notify',
] as const;
const grpcCodes = ['Unavailable', 'Internal', 'DeadlineExceeded', 'Aborted', 'ResourceExhausted'] as const;
const criCodes = ['Unknown', 'Unavailable', 'DeadlineExceeded', 'Internal', 'ResourceExhausted'] as const;
const apiCodes = ['unreachable', '401', '403', '409', '429', '500', '503', '504'] as const;
const hostCodes = ['EIO', 'ENOSPC', 'EACCES', 'EROFS', 'EMFILE', 'EBUSY', 'ENOMEM'] as const;

export interface PortFaults {
  readonly calls: readonly [string, ...string[]];
  readonly codes: readonly [string, ...string[]];
}

export const portFaults: Readonly<Record<PortName, PortFaults>> = {
  cri: { calls: criCalls, codes: criCodes },
  api: { calls: apiCalls, codes: apiCodes },
  host: { calls: hostCalls, codes: hostCodes },
  device: { calls: deviceCalls, codes: grpcCodes },
  csi: { calls: csiCalls, codes: grpcCodes },
};

/** The cluster that specs run in: a control plane and one node with the given images, gone when the run ends. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { controlPlaneProgram } from '../../test/env/control-plane-binaries.js';
import {
  type CleanupStack,
  machineAddress,
  startClusterNode,
  startContainerd,
  startControlPlane,
} from '../../test/env/index.js';
import type { ConformanceOptions } from './arguments.js';
import { provideImages } from './images.js';
import { usualKubeletPort } from './kubelet-port.js';

export interface ConformanceCluster {
  readonly kubeconfig: string;
  readonly kubectl: string;
  /** Flags for the specs' program, for what this cluster is. */
  readonly flags: readonly string[];
  /** The images of the archives. */
  readonly images: readonly string[];
  containerdLog(): string;
  /** Whether the kubelet still runs. */
  isAlive(): boolean;
  /** The end of what the kubelet has written. */
  kubeletLog(): string;
}

export async function startCluster(
  options: ConformanceOptions,
  logsDir: string,
  cleanups: CleanupStack,
): Promise<ConformanceCluster> {
  const kubectl = await controlPlaneProgram('kubectl');
  const containerd = await startContainerd({ cleanups });
  const images = await provideImages(options.images, containerd, cleanups);
  const plane = await startControlPlane({ cleanups, controllers: true, scheduler: true });
  const port = await usualKubeletPort(machineAddress());
  const node = await startClusterNode({
    cleanups,
    plane,
    containerd,
    ...(port === undefined ? {} : { config: { port } }),
    ...(options.kubelet === undefined ? {} : { kubelet: options.kubelet }),
  });
  // What is deferred last is run first, while the logs are there.
  cleanups.defer('the logs', async () => {
    copyFileSync(node.logPath, join(logsDir, 'kubelet.log'));
    copyFileSync(containerd.layout.log, join(logsDir, 'containerd.log'));
  });
  await node.ready();
  return {
    kubeconfig: plane.adminKubeconfig,
    kubectl,
    flags: [],
    images,
    containerdLog: () => containerd.logs(),
    isAlive: () => node.isRunning,
    kubeletLog: () => node.log,
  };
}

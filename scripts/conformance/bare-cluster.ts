/** The cluster that specs run in when there is no control plane: one process of `nodelet up`, gone when the run ends. */
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { linuxCgroups } from '../../src/resources/cgroups/index.js';
import { controlPlaneProgram } from '../../test/env/control-plane-binaries.js';
import {
  type CleanupStack,
  CommandError,
  createTempDir,
  freePort,
  runCommand,
  startContainerd,
  type TestContainerd,
} from '../../test/env/index.js';
import { ServerProcess } from '../../test/env/server-process.js';
import type { ConformanceOptions } from './arguments.js';
import type { ConformanceCluster } from './cluster.js';
import { provideImages } from './images.js';
import { usualKubeletPort } from './kubelet-port.js';

const binary = fileURLToPath(new URL('../../bin/nodelet', import.meta.url));
/** The program begins by counting the pods of replication controllers, a kind that a bare node does not serve. */
const flags = ['--minStartupPods=-1'];
const startTimeoutMs = 120_000;

export async function startBareCluster(
  options: ConformanceOptions,
  logsDir: string,
  cleanups: CleanupStack,
): Promise<ConformanceCluster> {
  const kubectl = await controlPlaneProgram('kubectl');
  // Removed last: pods have their volumes in it.
  const { path: dir } = await createTempDir('bare', { cleanups });
  const containerd = await startContainerd({ cleanups });
  const images = await provideImages(options.images, containerd, cleanups);
  const stateDir = join(dir, 'state');
  const logPath = join(dir, 'nodelet.log');
  const kubeconfig = join(stateDir, 'kubeconfig');
  const node = new ServerProcess({
    name: 'nodelet up',
    program: process.execPath,
    args: [binary, 'up', ...(await commandLine(dir, stateDir, containerd))],
    logPath,
    isReady: () => isNodeReady(kubectl, kubeconfig),
    startTimeoutMs,
  });
  cleanups.defer('nodelet up', () => node.stop());
  cleanups.defer('the logs', async () => {
    if (existsSync(logPath)) copyFileSync(logPath, join(logsDir, 'kubelet.log'));
    copyFileSync(containerd.layout.log, join(logsDir, 'containerd.log'));
  });
  await node.start();
  return {
    kubeconfig,
    kubectl,
    flags,
    images,
    containerdLog: () => containerd.logs(),
    isAlive: () => node.isRunning,
    kubeletLog: () => node.logs(),
  };
}

/** Neither the usual one nor that of another run: no other containerd has this subnet for its pods. */
function serviceCidrBeside({ subnet }: TestContainerd): string {
  return `10.216.${subnet.split('.')[2]}.0/24`;
}

/** As a user starts it, but for what several nodes of one machine must not share. */
async function commandLine(dir: string, stateDir: string, containerd: TestContainerd): Promise<string[]> {
  const { cgroupParent, endpoint } = containerd;
  const configDir = join(dir, 'kubelet.conf.d');
  mkdirSync(configDir);
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    cgroupRoot: cgroupParent,
    podLogsDir: join(dir, 'logs'),
    healthzPort: 0,
    makeIPTablesUtilChains: false,
    port: (await usualKubeletPort('127.0.0.1')) ?? (await freePort()),
  };
  writeFileSync(join(configDir, 'apart.conf'), JSON.stringify(config));
  const version = existsSync('/sys/fs/cgroup/cgroup.controllers') ? 2 : 1;
  linuxCgroups({ version, hugePageSizes: [] }).create(cgroupParent);
  return [
    `--state-dir=${stateDir}`,
    `--port=${await freePort()}`,
    `--container-runtime-endpoint=${endpoint}`,
    `--service-cidr=${serviceCidrBeside(containerd)}`,
    '--',
    `--config-dir=${configDir}`,
    `--container-logs-dir=${join(dir, 'log-links')}`,
    `--device-plugin-dir=${join(dir, 'devices')}`,
  ];
}

async function isNodeReady(kubectl: string, kubeconfig: string): Promise<boolean> {
  if (!existsSync(kubeconfig)) return false;
  const ready = 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}';
  const args = ['--kubeconfig', kubeconfig, 'get', 'nodes', '--output', ready];
  try {
    const { stdout } = await runCommand(kubectl, args);
    return stdout.trim() === 'True';
  } catch (error) {
    // It does not answer yet.
    if (error instanceof CommandError) return false;
    throw error;
  }
}

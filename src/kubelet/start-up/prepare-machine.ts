/** What a kubelet does to its machine before its parts run. */
import { readFile } from 'node:fs/promises';
import { errorText } from '../../async/index.js';
import { parseResolvConf, resolvConfLimitProblem } from '../../runtime-manager/config/index.js';
import type { KubeletContext } from '../settings.js';
import { makeRootDirectories } from '../sync/pod-directories.js';

/** Throws when the kubelet cannot run here. `withoutRuntime` starts what is needed before the runtime is. */
export async function prepareMachine(
  context: KubeletContext,
  withoutRuntime: () => Promise<void>,
): Promise<void> {
  const { nodeName, timeline, metrics, host, config, cri } = context;
  timeline.nodeEvent(nodeName, 'Normal', 'Starting', 'Starting kubelet.');
  try {
    await makeDirectories(context);
    await withoutRuntime();
  } catch (error) {
    const text = errorText(error);
    timeline.nodeEvent(nodeName, 'Warning', 'KubeletSetupFailed', text);
    throw error;
  }
  metrics.cgroupVersion.set(host.cgroupVersion);
  if (host.cgroupVersion === 1) {
    timeline.nodeEvent(
      nodeName,
      'Warning',
      'CgroupV1',
      'cgroup v1 is deprecated; move the machine to cgroup v2',
    );
  }
  await checkResolvConf(context);
  if (config.podCIDR !== '') {
    await cri.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr: config.podCIDR } } });
  }
}

async function makeDirectories({
  machine,
  podDirectories,
  rootDir,
  podLogsDir,
  containerLogsDir,
}: KubeletContext): Promise<void> {
  if (!podDirectories) return;
  const { files } = machine;
  await makeRootDirectories(files, rootDir);
  if (podLogsDir !== '') await files.mkdir(podLogsDir, { recursive: true, mode: 0o750 });
  if (containerLogsDir !== undefined) await files.mkdir(containerLogsDir, { recursive: true, mode: 0o755 });
}

/** Warns once when the node's resolver file has more than pods can be given of it. */
async function checkResolvConf({
  config,
  nodeName,
  timeline,
  podDirectories,
}: KubeletContext): Promise<void> {
  if (config.resolvConf === '' || !podDirectories) return;
  let problem: string | undefined;
  try {
    const parsed = parseResolvConf(await readFile(config.resolvConf, 'utf8'));
    problem = resolvConfLimitProblem(config.resolvConf, parsed, config.clusterDomain);
  } catch (error) {
    problem = errorText(error);
  }
  if (problem !== undefined) timeline.nodeEvent(nodeName, 'Warning', 'CheckLimitsForResolvConf', problem);
}

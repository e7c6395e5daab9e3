/** What a kubelet does to its machine before anything runs: directories, warnings, the range of pod addresses. */
import { join } from 'node:path/posix';
import { errorText } from '../../async/index.js';
import { parseResolvConf, resolvConfLimitProblem } from '../../runtime-manager/config/index.js';
import type { KubeletSettings } from '../settings.js';
import { makeRootDirectories } from '../sync/pod-directories.js';
import { labelPluginDirectories } from './plugin-labels.js';

type DirectorySettings = Pick<
  KubeletSettings,
  'machine' | 'podDirectories' | 'rootDir' | 'podLogsDir' | 'containerLogsDir'
> &
  Parameters<typeof labelPluginDirectories>[0];
type ResolvConfSettings = Pick<
  KubeletSettings,
  'config' | 'nodeName' | 'timeline' | 'podDirectories' | 'nodeFiles'
>;

/** Throws when the kubelet cannot run here. `withoutRuntime` starts what is needed before the runtime is. */
export async function prepareMachine(
  settings: DirectorySettings & ResolvConfSettings & Pick<KubeletSettings, 'metrics' | 'cri'>,
  withoutRuntime: () => Promise<void>,
): Promise<void> {
  const { nodeName, timeline, metrics, host, config, cri } = settings;
  timeline.nodeEvent(nodeName, 'Normal', 'Starting', 'Starting kubelet.');
  try {
    await makeDirectories(settings);
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
      'cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1',
    );
  }
  await checkResolvConf(settings);
  if (config.podCIDR !== '') {
    await cri.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr: config.podCIDR } } });
  }
}

async function makeDirectories(settings: DirectorySettings): Promise<void> {
  const { machine, podDirectories, rootDir, podLogsDir, containerLogsDir } = settings;
  if (!podDirectories) return;
  const { files } = machine;
  await makeRootDirectories(files, rootDir);
  await labelPluginDirectories(settings, [join(rootDir, 'plugins'), join(rootDir, 'plugins_registry')]);
  if (podLogsDir !== '') await files.mkdir(podLogsDir, { recursive: true, mode: 0o750 });
  if (containerLogsDir !== undefined) await files.mkdir(containerLogsDir, { recursive: true, mode: 0o755 });
}

/** Warns once when the node's resolver file has more than pods can be given of it. */
async function checkResolvConf({
  config,
  nodeName,
  timeline,
  podDirectories,
  nodeFiles,
}: ResolvConfSettings): Promise<void> {
  if (config.resolvConf === '' || !podDirectories) return;
  let problem: string | undefined;
  try {
    const parsed = parseResolvConf(await nodeFiles.readNodeFile(config.resolvConf));
    problem = resolvConfLimitProblem(config.resolvConf, parsed, config.clusterDomain);
  } catch (error) {
    problem = errorText(error);
  }
  if (problem !== undefined) timeline.nodeEvent(nodeName, 'Warning', 'CheckLimitsForResolvConf', problem);
}

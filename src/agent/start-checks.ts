/** The checks and warnings before anything runs; each refusal says what to do about it. */
import { stat, writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import {
  changedFlags,
  type GuardedFileState,
  guardedFiles,
  inertGates,
  inertSettings,
  insecureSettings,
  type LoadedConfiguration,
  serializeConfiguration,
} from '../config/index.js';
import {
  actedOnFields,
  actedOnGates,
  clusterFlags,
  inertFlags,
  partlyActedOnGates,
} from '../kubelet/index.js';
import type { MachineFacts } from '../runtime-manager/config/index.js';
import type { Timeline } from '../timeline/index.js';
import { StartFailure } from './start-failure.js';
import type { UserNamespaceRule } from './user-namespace.js';

/** Throws when this build cannot do what the command line asks for. */
export function refuseImpossible(
  { standalone, flags, config }: LoadedConfiguration,
  host: MachineFacts,
): void {
  if (!standalone && flags.objectManifestPath !== '') {
    throw new StartFailure(
      `--object-manifest-path ${flags.objectManifestPath}: the objects of pods come from the API server of --kubeconfig; leave one of the two out`,
    );
  }
  if (flags.rootDir === '') throw new StartFailure('--root-dir must name a directory');
  if (host.swapCapacityBytes > 0 && config.failSwapOn) {
    throw new StartFailure(
      'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false',
    );
  }
}

/** Tells the whole configuration in force, so that a log says later what was true. */
export function announceConfiguration(
  { publishedConfig }: Pick<LoadedConfiguration, 'publishedConfig'>,
  timeline: Timeline,
): void {
  const what = 'config.effective';
  const message = 'Effective KubeletConfiguration';
  const staticPodURL = withoutSecrets(publishedConfig.staticPodURL);
  const configuration = stringify(serializeConfiguration({ ...publishedConfig, staticPodURL }));
  timeline.record({ kind: 'notice', what, message, level: 'info', data: { configuration } });
}

/** A URL may carry a password or a token, which `/configz` shows to those who may ask; a log is read by more. */
function withoutSecrets(text: string): string {
  if (text === '' || !URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.username === '' && url.password === '' && url.search === '') return text;
  if (url.username !== '' || url.password !== '') url.username = 'masked';
  url.password = '';
  if (url.search !== '') url.search = '?masked';
  return url.href;
}

/** The form of all objects that are sent to the API server and asked of it. */
const jsonType = 'application/json';

/** Says what a user should know of the configuration before it is used. */
export function announce(
  { warnings, explicit, flags, config, featureGates, standalone }: LoadedConfiguration,
  timeline: Timeline,
): void {
  const warn = (
    what: 'config.warning' | 'config.inert' | 'agent.user' | 'agent.sources',
    message: string,
  ): void => void timeline.record({ kind: 'notice', what, message, level: 'warn' });
  for (const warning of warnings) warn('config.warning', warning);
  const inert = inertSettings(explicit, actedOnFields);
  const ineffective = new Set([...inertFlags, ...(standalone ? clusterFlags : [])]);
  const ignored = [
    ...inert.paths.filter((path) => path !== 'contentType'),
    ...inertGates(config.featureGates, actedOnGates),
    ...changedFlags(flags, ineffective),
  ];
  if (ignored.length > 0)
    warn('config.inert', `settings without effect in this build: ${ignored.join(', ')}`);
  if (explicit.has('contentType') && config.contentType !== jsonType)
    warn(
      'config.inert',
      `contentType ${config.contentType} is not used: requests to the API server are ${jsonType}`,
    );
  for (const [gate, missing] of partlyActedOnGates) {
    if (featureGates.enabled(gate))
      warn('config.inert', `featureGates.${gate} has only a part of its effect in this build: ${missing}`);
  }
  const uid = process.getuid?.();
  if (uid !== 0) warn('agent.user', `kubelet needs to run as uid \`0\`. It is being run as ${uid}`);
  if (standalone && config.staticPodPath === '' && config.staticPodURL === '') {
    warn(
      'agent.sources',
      'no source of pods is configured: set staticPodPath or staticPodURL. Pods that the runtime still has are stopped',
    );
  }
}

/** Names each setting in force that opens the node further than it must, one line each. */
export async function announceInsecure(
  configuration: LoadedConfiguration,
  servesMainPort: boolean,
  timeline: Timeline,
): Promise<void> {
  const files: GuardedFileState[] = [];
  for (const file of guardedFiles(configuration)) {
    // One that is not there is told of by whoever needs it.
    const found = await stat(file.path).catch(() => undefined);
    if (found !== undefined) files.push({ ...file, mode: found.mode, uid: found.uid });
  }
  for (const { field, value, severity, risk, fix } of insecureSettings(configuration, {
    servesMainPort,
    files,
  })) {
    timeline.record({
      kind: 'notice',
      what: 'config.insecure',
      message: `${field} is ${value}: ${risk}; ${fix}`,
      level: severity === 'advice' ? 'info' : 'warn',
    });
  }
}

/** The first kernel on which a cgroup at `memory.high` makes progress whatever it does. */
const throttlingKernel = [5, 9] as const;

/** Says where protecting and slowing down the memory of pods does not work as it should. */
export function announceMemoryQos(
  { featureGates }: Pick<LoadedConfiguration, 'featureGates'>,
  { cgroupVersion, kernelRelease }: Pick<MachineFacts, 'cgroupVersion'> & { readonly kernelRelease: string },
  timeline: Timeline,
): void {
  if (!featureGates.enabled('MemoryQoS')) return;
  const [major = 0, minor = 0] = kernelRelease.split('.').map((part) => Number.parseInt(part, 10));
  const [firstMajor, firstMinor] = throttlingKernel;
  const isOld = major < firstMajor || (major === firstMajor && minor < firstMinor);
  const message =
    cgroupVersion === 1
      ? 'the gate MemoryQoS has no effect with cgroups of version 1'
      : isOld
        ? `processes may hang where memory.high holds them back: kernel ${kernelRelease} is older than ${firstMajor}.${firstMinor}`
        : undefined;
  if (message !== undefined)
    timeline.record({ kind: 'notice', what: 'config.warning', message, level: 'warn' });
}

/** Lets the kernel spare the agent when memory runs out; failing to is only worth a note. */
export async function setOomScore(adj: number, rule: UserNamespaceRule, timeline: Timeline): Promise<void> {
  try {
    await writeFile('/proc/self/oom_score_adj', String(adj));
  } catch (error) {
    timeline.record({
      kind: 'problem',
      what: 'agent.oom',
      message: `own oom_score_adj could not be set to ${adj}`,
      level: rule === 'machine' ? 'debug' : 'warn',
      error,
    });
  }
}

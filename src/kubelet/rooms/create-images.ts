/** Builds what pulls images: the credentials to pull with, and the memory of who showed them. */
import { errorText, type TaskGroup } from '../../async/index.js';
import {
  type CredentialPlugin,
  createImageMetrics,
  createPluginMetrics,
  createPullRecordMetrics,
  ImageKeyring,
  ImageManager,
  loadCredentialPlugins,
  machineCredentialFiles,
  NodeCredentials,
  PullQueue,
  PullRate,
  PullRecords,
  type PullSource,
  PullWatch,
  type VerificationPolicy,
} from '../../runtime-manager/images/index.js';
import type { Keyring, PodServiceAccounts } from '../../runtime-manager/index.js';
import type { KubeletSettings } from '../settings.js';

type PluginSettings = Pick<
  KubeletSettings,
  | 'credentialProviders'
  | 'clock'
  | 'timeline'
  | 'registry'
  | 'gates'
  | 'tokens'
  | 'serviceAccount'
  | 'stopping'
>;

export interface Images {
  readonly manager: ImageManager;
  /** Absent where every pod may use every image. */
  readonly records: PullRecords | undefined;
  /** Fails when the credential plugins cannot be used as they are configured. */
  start(): Promise<void>;
}

export function createImages(
  settings: PluginSettings &
    Pick<
      KubeletSettings,
      | 'config'
      | 'cri'
      | 'rootDir'
      | 'podDirectories'
      | 'durable'
      | 'objects'
      | 'keyring'
      | 'pulls'
      | 'outside'
    >,
  tasks: TaskGroup,
): Images {
  const { config, gates, cri, clock, timeline, rootDir, registry, podDirectories, durable } = settings;
  const verifies = gates.enabled('KubeletEnsureSecretPulledImages');
  let plugins: readonly CredentialPlugin[] = [];
  const own =
    podDirectories && settings.keyring === undefined
      ? new ImageKeyring({
          timeline,
          objects: settings.objects,
          node: new NodeCredentials({
            ...settings.outside.port('credential files', machineCredentialFiles),
            clock,
            timeline,
            rootDir,
          }),
          plugins: () => plugins,
        })
      : undefined;
  const keyring: Keyring | undefined = settings.keyring ?? own;
  // Records are files, and without files of its own a node has no say over what is on its machine.
  const records =
    own === undefined || !verifies
      ? undefined
      : new PullRecords({
          rootDir,
          store: durable,
          clock,
          timeline,
          policy: verificationPolicy(config.imagePullCredentialsVerificationPolicy),
          allowlist: config.preloadedImagesVerificationAllowlist,
          podSecrets: (pod, image) => own.podSecrets(pod, image),
          podServiceAccount: (pod, image, signal) => own.podServiceAccount(pod, image, signal),
          metrics: createPullRecordMetrics(registry),
        });
  const manager = new ImageManager({
    cri,
    clock,
    timeline,
    queue: new PullQueue({
      maxParallelPulls: config.serializeImagePulls ? 1 : config.maxParallelImagePulls,
      rate: new PullRate({ clock, qps: config.registryPullQPS, burst: config.registryBurst }),
    }),
    metrics: registry.once(createImageMetrics),
    announcesAccess: verifies,
    namesHandlers: gates.enabled('RuntimeClassInImageCriApi'),
    ...(settings.pulls === undefined ? {} : { watch: watchOf(settings.pulls, settings, tasks) }),
    ...(keyring === undefined ? {} : { keyring }),
    ...(records === undefined ? {} : { access: records, recorder: records }),
  });
  return {
    manager,
    records,
    async start() {
      if (own !== undefined) plugins = await loadPlugins(settings);
      await records?.start(cri);
    },
  };
}

function watchOf(open: () => PullSource, { clock, timeline }: PluginSettings, tasks: TaskGroup): PullWatch {
  return new PullWatch({
    clock,
    tasks,
    open,
    onFailure: (image, error) =>
      timeline.record({
        kind: 'problem',
        what: 'image.progress',
        message: 'The runtime does not tell how far a pull is',
        level: 'debug',
        data: { image },
        error,
      }),
  });
}

async function loadPlugins(settings: PluginSettings): Promise<readonly CredentialPlugin[]> {
  const { credentialProviders, clock, timeline, registry, gates } = settings;
  if (credentialProviders === undefined) return [];
  try {
    return await loadCredentialPlugins({
      ...credentialProviders,
      clock,
      timeline,
      metrics: createPluginMetrics(registry),
      tokensEnabled: gates.enabled('KubeletServiceAccountTokenForCredentialProviders'),
      serviceAccounts: serviceAccountsOf(settings),
    });
  } catch (cause) {
    throw new Error(
      `credential provider plugins of ${credentialProviders.configPath} cannot be used: ${errorText(cause)}`,
      { cause },
    );
  }
}

/** What the API gives when it is asked for no particular lifetime. */
const tokenSeconds = 3600;

function serviceAccountsOf({
  tokens,
  serviceAccount,
  stopping,
}: PluginSettings): PodServiceAccounts | undefined {
  if (tokens === undefined || serviceAccount === undefined) return undefined;
  return {
    serviceAccount,
    token: ({ signal = stopping.signal, ...wanted }) =>
      tokens.token({ ...wanted, expirationSeconds: tokenSeconds, signal }),
  };
}

/** An unset policy is that of a gate that is off, which nobody asks then. */
function verificationPolicy(policy: VerificationPolicy | ''): VerificationPolicy {
  return policy === '' ? 'NeverVerifyPreloadedImages' : policy;
}

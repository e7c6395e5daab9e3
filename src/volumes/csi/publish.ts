/** Publishes volumes: a driver mounts one into the directory of a pod, and takes it away again. */
import { join } from 'node:path/posix';
import { errorText } from '../../async/index.js';
import { formatTimestamp, goQuote, type Pod } from '../../kube/index.js';
import { type SetUpRequest, VolumeFailure, type VolumeSpec } from '../contracts.js';
import { giveToPodGroup } from '../ownership/index.js';
import { innerNameOf } from '../plugins/inner-name.js';
import { fsGroupOf } from '../plugins/volume-modes.js';
import { publishContext } from './attach.js';
import { csiStep } from './client.js';
import type { DriverPolicy } from './driver-policy.js';
import { callFailure, prefixed, transient } from './failures.js';
import { csiLimits } from './limits.js';
import { attachmentName, type DriverVolume, publishedMount, stagedMount, stagingDirectory } from './names.js';
import type { CsiVolumesOptions } from './plugin.js';
import {
  attributesOf,
  givesToGroup,
  isReadOnly,
  lifecycleModeOf,
  lifecycleProblem,
  podInfo,
  tokensKey,
  volumeCapability,
} from './requests.js';
import { readSecret } from './secrets.js';
import { mounted } from './stage.js';
import { labelData, readVolData, removeMountDirectory, writeVolData } from './vol-data.js';

const prefix = 'kubernetes.io/csi: ';
const directoryMode = 0o750;
/** The API's own default for a token's lifetime. */
const tokenSeconds = 3600;

export interface PublishOptions extends CsiVolumesOptions {
  readonly volume: DriverVolume;
  /** The volume's directory in the pod's; the driver makes `mount` in it. */
  readonly directory: string;
}

/** Rejects with a VolumeFailure, whose class says whether the driver may still publish it. */
export async function publishVolume(options: PublishOptions, request: SetUpRequest): Promise<void> {
  const { host, rootDir, nodeName, client, volume, directory } = options;
  const { pod, spec, isRemount, seLinuxLabel, signal } = request;
  const mode = lifecycleModeOf(spec);
  const driver = within('mounter.SetUpAt failed to get CSI client', () =>
    csiStep(client, volume.driver, signal, spec),
  );
  const policy = policyOf(options, volume.driver);
  const refusal = lifecycleProblem(volume.driver, mode, policy);
  if (refusal !== undefined) {
    throw new VolumeFailure(
      'transient',
      `${prefix}mounter.SetupAt failed to check volume lifecycle mode: ${refusal}`,
    );
  }
  const capabilities = await driver.capabilities().catch((error: unknown) => {
    throw transient(
      `${prefix}mounter.SetUpAt failed to ask for the capabilities of the node service: `,
      error,
    );
  });
  const isGivenToGroup = within('mounter.SetupAt failed to check fsGroup policy', () =>
    givesToGroup(spec, pod, policy, capabilities),
  );
  const isStaged = spec.kind === 'persistent' && capabilities.has('STAGE_UNSTAGE_VOLUME');
  const context = spec.kind === 'persistent' ? await contextOf(options, volume, signal) : {};
  await makeDirectory(options);
  const { volumeContext, secrets } = await contents(options, request, policy);
  await writeVolData(host, directory, {
    attachmentID: attachmentName(volume, nodeName),
    driverName: volume.driver,
    nodeName,
    specVolID: innerNameOf(spec),
    volumeHandle: volume.handle,
    volumeLifecycleMode: mode,
    ...labelData(seLinuxLabel),
  }).catch((error: unknown) => {
    throw transient(`${prefix}failed to save volume data file ${directory}: `, error);
  });
  const target = join(directory, publishedMount);
  try {
    await driver.publish({
      volumeId: volume.handle,
      publishContext: { ...context },
      stagingTargetPath: isStaged ? join(stagingDirectory(rootDir, volume), stagedMount) : '',
      targetPath: target,
      volumeCapability: volumeCapability(spec, capabilities, fsGroupOf(pod), seLinuxLabel),
      readonly: isReadOnly(spec),
      secrets,
      volumeContext,
    });
  } catch (error) {
    throw await afterFailedPublish(options, isRemount, callFailure(error));
  }
  if (isGivenToGroup) await giveToGroup(options, pod, target, signal);
}

/** A driver that failed for good may still have left a mount; that one must be taken away later. */
async function afterFailedPublish(
  { host, directory }: PublishOptions,
  isRemount: boolean,
  failure: VolumeFailure,
): Promise<VolumeFailure> {
  if (failure.failureClass !== 'final' || isRemount) return failure;
  const left = await removeMountDirectory(host, directory, publishedMount, mounted(host)).catch(
    (): 'still mounted' => 'still mounted',
  );
  return left === 'removed' ? failure : new VolumeFailure('uncertain', failure.message, { cause: failure });
}

function policyOf({ policies }: PublishOptions, driver: string): DriverPolicy {
  const policy = policies.get(driver);
  if (policy === undefined) throw new VolumeFailure('transient', 'the CSIDriver objects are not known yet');
  return policy;
}

async function contextOf(
  options: PublishOptions,
  volume: DriverVolume,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  return publishContext(options, volume, signal).catch((error: unknown) => {
    throw transient(`${prefix}mounter.SetUpAt failed to fetch publishContext: `, error);
  });
}

async function makeDirectory({ host, directory }: PublishOptions): Promise<void> {
  await host.files.mkdir(directory, { recursive: true, mode: directoryMode }).catch((error: unknown) => {
    throw transient(`${prefix}mounter.SetUpAt failed to create dir ${goQuote(directory)}:  `, error);
  });
}

/** What the driver gets beside the volume itself: attributes, then what is known of the pod, then its tokens. */
async function contents(
  options: PublishOptions,
  { pod, spec, signal }: SetUpRequest,
  policy: DriverPolicy,
): Promise<{ volumeContext: Record<string, string>; secrets: Record<string, string> }> {
  const reference = secretReference(spec, pod);
  const secrets =
    reference === undefined ? {} : await readSecret(options, 'NodePublishSecretRef', reference, signal);
  const info = policy.podInfoOnMount ? podInfo(pod, lifecycleModeOf(spec)) : {};
  const tokens = await tokensOf(options, pod, policy, signal);
  return {
    volumeContext: { ...attributesOf(spec), ...info, ...(policy.tokensInSecrets ? {} : tokens) },
    secrets: { ...secrets, ...(policy.tokensInSecrets ? tokens : {}) },
  };
}

function secretReference(
  spec: VolumeSpec,
  pod: Pod,
): { readonly namespace?: string; readonly name?: string } | undefined {
  if (spec.kind === 'persistent') return spec.persistentVolume.spec.csi?.nodePublishSecretRef;
  const name = spec.volume.csi?.nodePublishSecretRef?.name;
  return name === undefined ? undefined : { namespace: pod.metadata.namespace, name };
}

async function tokensOf(
  { tokens }: PublishOptions,
  pod: Pod,
  { tokenRequests }: DriverPolicy,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  if (tokenRequests.length === 0) return {};
  try {
    if (tokens === undefined) throw new Error('this node has no API server that issues tokens');
    if (tokenRequests.length > csiLimits.tokenRequests) {
      throw new Error(`spec.tokenRequests of the CSIDriver has more than ${csiLimits.tokenRequests} entries`);
    }
    const issued: Record<string, { token: string; expirationTimestamp: string }> = {};
    const sorted = tokenRequests.toSorted((a, b) => (a.audience < b.audience ? -1 : 1));
    for (const { audience, expirationSeconds = tokenSeconds } of sorted) {
      const { token, expiresAtMs } = await tokens.issued({
        pod,
        audience: audience === '' ? undefined : audience,
        expirationSeconds,
        signal,
      });
      issued[audience] = { token, expirationTimestamp: formatTimestamp(expiresAtMs) };
    }
    return { [tokensKey]: JSON.stringify(issued) };
  } catch (error) {
    throw transient(`${prefix}mounter.SetUpAt failed to get service accoount token attributes: `, error);
  }
}

async function giveToGroup(
  { host, clock, warn, volume }: PublishOptions,
  pod: Pod,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  await giveToPodGroup({ host, clock, warn }, pod, target, signal).catch((error: unknown) => {
    // The driver has published it.
    throw new VolumeFailure(
      'uncertain',
      `applyFSGroup failed for vol ${volume.handle}: ${errorText(error)}`,
      {
        cause: error,
      },
    );
  });
}

/** Needs nothing but what is on disk and the driver. */
export async function unpublishVolume(
  { host, client }: Pick<CsiVolumesOptions, 'host' | 'client'>,
  directory: string,
): Promise<void> {
  const data = await readVolData(host, directory);
  if (data === undefined) {
    // Without metadata only an empty directory can be removed; a mount stays for the administrator.
    const left = await removeMountDirectory(host, directory, publishedMount, mounted(host));
    if (left === 'still mounted') throw new Error(`${prefix}${directory} has a mount but no volume data`);
    return;
  }
  const driver = within('Unmounter.TearDownAt failed to get CSI client', () =>
    csiStep(client, data.driverName),
  );
  await driver
    .unpublish({ volumeId: data.volumeHandle, targetPath: join(directory, publishedMount) })
    .catch((error: unknown) => {
      throw new Error(`${prefix}Unmounter.TearDownAt failed: ${errorText(error)}`, { cause: error });
    });
  const left = await removeMountDirectory(host, directory, publishedMount, mounted(host));
  // It stays known as perhaps mounted, so that the driver is asked again.
  if (left === 'still mounted') {
    throw new Error(
      `${prefix}Unmounter.TearDownAt failed: driver ${data.driverName} says that it has unpublished the volume, but ${join(directory, publishedMount)} is still mounted`,
    );
  }
}

function within<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const text = `${prefix}${what}: `;
    throw error instanceof VolumeFailure ? prefixed(text, error) : transient(text, error);
  }
}

/** Asks a driver to make a mounted volume use the size that its storage has grown to. */
import { join } from 'node:path/posix';
import { errorText } from '../../async/index.js';
import { type GrpcCodeName, GrpcError } from '../../grpc/index.js';
import { type ExpandOutcome, type ExpandRequest, volumeModeOf } from '../contracts.js';
import { innerNameOf } from '../plugins/inner-name.js';
import { blockPlaces } from './block-names.js';
import { type CsiNodeClient, csiStep } from './client.js';
import { type DriverVolume, stagedMount, stagingDirectory } from './names.js';
import type { CsiVolumesOptions } from './plugin.js';
import { volumeCapability } from './requests.js';
import { readSecret } from './secrets.js';

export interface ExpandOnNodeOptions extends Pick<CsiVolumesOptions, 'rootDir' | 'client' | 'objects'> {
  readonly volume: DriverVolume;
  /** Where the volume is for the pod. */
  readonly path: string;
}

/** Never rejects: what went wrong is part of the outcome. */
export async function expandOnNode(
  options: ExpandOnNodeOptions,
  { spec, sizeBytes, signal }: ExpandRequest,
): Promise<ExpandOutcome> {
  const { rootDir, client, volume, path } = options;
  if (sizeBytes < 0n) return hindered('size can not be less than 0');
  let driver: CsiNodeClient;
  try {
    driver = csiStep(client, volume.driver, signal, spec);
  } catch (error) {
    return { kind: 'failed', cause: 'unregistered', message: errorText(error) };
  }
  try {
    const capabilities = await driver.capabilities();
    if (!capabilities.has('EXPAND_VOLUME')) {
      return {
        kind: 'unsupported',
        message: `NodeExpand is not supported by the CSI driver ${volume.driver}`,
      };
    }
    const reference =
      spec.kind === 'persistent' ? spec.persistentVolume.spec.csi?.nodeExpandSecretRef : undefined;
    const secrets = reference === undefined ? {} : await expandSecret(options, reference, signal);
    return await asked(() =>
      driver.expand({
        volumeId: volume.handle,
        volumePath: path,
        capacityRange: { requiredBytes: Number(sizeBytes), limitBytes: 0 },
        // Also of a driver that does not stage.
        stagingTargetPath:
          volumeModeOf(spec) === 'Block'
            ? blockPlaces(rootDir, innerNameOf(spec)).staging
            : join(stagingDirectory(rootDir, volume), stagedMount),
        volumeCapability: volumeCapability(spec, capabilities, undefined),
        secrets: { ...secrets },
      }),
    );
  } catch (error) {
    return hindered(errorText(error));
  }
}

const hindered = (message: string): ExpandOutcome => ({ kind: 'failed', cause: 'hindered', message });

async function expandSecret(
  { objects }: ExpandOnNodeOptions,
  reference: { readonly namespace?: string; readonly name?: string },
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const { namespace = '', name = '' } = reference;
  return readSecret({ objects }, 'NodeExpandSecretRef', reference, signal).catch((error: unknown) => {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw new Error(
      `expander.NodeExpand failed to get NodeExpandSecretRef ${namespace}/${name}: kubernetes.io/csi: failed to find the secret ${name} in the namespace ${namespace} with error: ${errorText(cause)}`,
      { cause: error },
    );
  });
}

const causes: Readonly<Partial<Record<GrpcCodeName, 'infeasible' | 'in-use'>>> = {
  InvalidArgument: 'infeasible',
  OutOfRange: 'infeasible',
  NotFound: 'infeasible',
  FailedPrecondition: 'in-use',
};

async function asked(call: () => Promise<void>): Promise<ExpandOutcome> {
  try {
    await call();
    return { kind: 'expanded' };
  } catch (error) {
    const cause = (error instanceof GrpcError ? causes[error.codeName] : undefined) ?? 'refused';
    const message = `Expander.NodeExpand failed to expand the volume : ${errorText(error)}`;
    return { kind: 'failed', cause, message };
  }
}

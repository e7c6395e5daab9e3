/** Reads the secrets that a volume's drivers are given. */
import { errorText } from '../../async/index.js';
import { VolumeFailure } from '../contracts.js';
import { secretTexts } from '../secret-texts.js';
import type { CsiVolumesOptions } from './plugin.js';

/** Rejects with a transient failure; the text never has content of the secret. */
export async function readSecret(
  { objects }: Pick<CsiVolumesOptions, 'objects'>,
  field: 'NodeStageSecretRef' | 'NodePublishSecretRef' | 'NodeExpandSecretRef',
  { namespace = '', name = '' }: { readonly namespace?: string; readonly name?: string },
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  try {
    if (objects === undefined) throw new Error('this node has no API server to read it from');
    return secretTexts(await objects.secret(namespace, name, signal));
  } catch (error) {
    throw new VolumeFailure(
      'transient',
      `fetching ${field} ${namespace}/${name} failed: kubernetes.io/csi: failed to find the secret ${name} in the namespace ${namespace} with error: ${errorText(error)}`,
      { cause: error },
    );
  }
}

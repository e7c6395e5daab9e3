/** Chooses where the certificate of the kubelet's own API comes from. */
import {
  FileServingCertificate,
  type ServingCertificate,
  SignedServingCertificate,
  type SignedServingOptions,
  selfSignedFiles,
} from './serving.js';

export interface ServingChoice extends Omit<SignedServingOptions, 'api'> {
  /** Who signs it; left out on a node without an API or where that is not wanted. */
  readonly signer?: SignedServingOptions['api'];
  /** Empty for none. */
  readonly certificateFile: string;
  readonly keyFile: string;
}

/** Signed by the cluster if it may be, else the configured files, else self-signed ones. */
export async function openServingCertificate(choice: ServingChoice): Promise<ServingCertificate> {
  const { signer, certificateFile, keyFile, files, clock, timeline, certDir, nodeName } = choice;
  if (signer !== undefined) return new SignedServingCertificate({ ...choice, api: signer });
  const isConfigured = certificateFile !== '' || keyFile !== '';
  return await FileServingCertificate.open(
    isConfigured
      ? { files, clock, timeline, certificateFile, keyFile }
      : await selfSignedFiles({ files, clock, timeline, certDir, hostname: nodeName }),
  );
}

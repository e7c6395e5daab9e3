/** Chooses the source of the kubelet API's serving certificate. */
import {
  FileServingCertificate,
  type ServingCertificate,
  SignedServingCertificate,
  type SignedServingOptions,
  selfSignedFiles,
} from './serving.js';

export interface ServingChoice extends Omit<SignedServingOptions, 'api'> {
  /** The signer; omitted on a standalone node or where signing is off. */
  readonly signer?: SignedServingOptions['api'];
  /** Empty for none. */
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Whether configured files may change while they are in use; default yes. */
  readonly reloads?: boolean;
}

/** Signed by the cluster if possible, otherwise the configured files, otherwise self-signed. */
export async function openServingCertificate(choice: ServingChoice): Promise<ServingCertificate> {
  const {
    signer,
    reloads = true,
    certificateFile,
    keyFile,
    files,
    clock,
    timeline,
    certDir,
    nodeName,
  } = choice;
  if (signer !== undefined) return new SignedServingCertificate({ ...choice, api: signer });
  const isConfigured = certificateFile !== '' || keyFile !== '';
  return await FileServingCertificate.open(
    isConfigured
      ? { files, clock, timeline, certificateFile, keyFile, reloads }
      : await selfSignedFiles({ files, clock, timeline, certDir, hostname: nodeName }),
  );
}

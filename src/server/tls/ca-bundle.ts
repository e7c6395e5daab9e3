/** The authorities for client certificates, parsed from PEM. */
import { X509Certificate } from 'node:crypto';
import { pemBlocks } from '../../x509/pem.js';

export interface CaBundle {
  readonly pem: string;
  readonly certificates: readonly X509Certificate[];
}

/** Throws when the text contains no certificate, or an unreadable one. */
export function readCaBundle(pem: string): CaBundle {
  const blocks = pemBlocks(pem, 'CERTIFICATE').map(({ whole }) => whole);
  if (blocks.length === 0) throw new Error('data does not contain any valid RSA or ECDSA certificates');
  return { pem: blocks.join('\n'), certificates: blocks.map((block) => new X509Certificate(block)) };
}

/** A serving certificate that somebody else puts into two files and replaces there. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type Clock, systemClock } from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';
import { reloadedFiles } from './reloaded-files.js';
import type { ServingCertificate } from './secure-serving.js';

export interface ServingCertificateFiles {
  readonly certificate: () => ServingCertificate;
  close(): void;
}

/** Rejects when the files hold no pair to begin with; later ones that do not leave the last pair in use. */
export async function servingCertificateFiles(options: {
  readonly certFile: string;
  readonly keyFile: string;
  readonly timeline: Timeline;
  readonly clock?: Clock;
}): Promise<ServingCertificateFiles> {
  const { certFile, keyFile, timeline, clock = systemClock } = options;
  const files = await reloadedFiles({
    paths: [certFile, keyFile],
    what: 'the serving certificate',
    parse: ([certificatePem = '', keyPem = '']) => checkedPair({ certificatePem, keyPem }),
    clock,
    timeline,
  });
  return { certificate: () => files.current(), close: () => files.close() };
}

/** Throws when the key is not that of the certificate. */
export function checkedPair(pair: ServingCertificate): ServingCertificate {
  const leaf = new X509Certificate(pair.certificatePem);
  if (!leaf.checkPrivateKey(createPrivateKey(pair.keyPem))) {
    throw new Error('tls: private key does not match public key');
  }
  return pair;
}

/** Pod certificates for projected volumes; the manager stands apart, so that a node without an API never loads its client. */
export type { PodCertificateSource, PodCertificates, PodCredential } from './contract.js';

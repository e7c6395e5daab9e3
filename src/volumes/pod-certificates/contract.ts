/** What projected volumes ask of pod certificates. */
import type { Pod, PodCertificateProjection } from '../../kube/index.js';

/** A podCertificate source of a projected volume. */
export interface PodCertificateSource {
  readonly pod: Pod;
  readonly volumeName: string;
  /** The place among all sources of the volume. */
  readonly sourceIndex: number;
  readonly projection: PodCertificateProjection;
}

/** The key is secret: it goes only into files. */
export interface PodCredential {
  readonly keyPem: string;
  readonly chainPem: string;
}

export interface PodCertificates {
  /** Waits a little for the first certificate; rejects while there is none, and for ever after a denial. */
  credential(source: PodCertificateSource, signal: AbortSignal): Promise<PodCredential>;
  /** Drops the keys and certificates of a volume. */
  forget(podUid: string, volumeName: string): void;
}

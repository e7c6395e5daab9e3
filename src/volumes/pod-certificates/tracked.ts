/** The certificates that volumes of this node use, by pod. */

import type { PodCertificateSource } from './contract.js';
import { podCertificateLimits } from './limits.js';
import type { Lateness, PodCertificateState } from './states.js';

export interface TrackedCertificate {
  readonly source: PodCertificateSource;
  state: PodCertificateState;
  /** Why the last request could not be made. */
  problem: string | undefined;
  /** What events have told of the certificate in use. */
  readonly told: Set<Lateness>;
  /** Volumes that wait for the first certificate. */
  readonly waiting: Set<() => void>;
}

export class TrackedCertificates {
  readonly #pods = new Map<string, Map<string, TrackedCertificate>>();

  /** Throws when the pod has too many. */
  track(source: PodCertificateSource): { readonly tracked: TrackedCertificate; readonly isNew: boolean } {
    const { uid } = source.pod.metadata;
    const ofPod = this.#pods.get(uid) ?? new Map<string, TrackedCertificate>();
    const key = JSON.stringify([source.volumeName, source.sourceIndex]);
    const known = ofPod.get(key);
    if (known !== undefined) return { tracked: known, isNew: false };
    if (ofPod.size >= podCertificateLimits.sourcesOfPod) {
      throw new Error(
        `the pod has more than ${podCertificateLimits.sourcesOfPod} podCertificate sources; remove some`,
      );
    }
    const tracked: TrackedCertificate = {
      source,
      state: { kind: 'initial' },
      problem: undefined,
      told: new Set(),
      waiting: new Set(),
    };
    ofPod.set(key, tracked);
    this.#pods.set(uid, ofPod);
    return { tracked, isNew: true };
  }

  /** A volume that was torn down and set up again has a new one. */
  has(tracked: TrackedCertificate): boolean {
    const { pod, volumeName, sourceIndex } = tracked.source;
    return this.#pods.get(pod.metadata.uid)?.get(JSON.stringify([volumeName, sourceIndex])) === tracked;
  }

  ofPod(uid: string): readonly TrackedCertificate[] {
    return [...(this.#pods.get(uid)?.values() ?? [])];
  }

  all(): readonly TrackedCertificate[] {
    return [...this.#pods.values()].flatMap((ofPod) => [...ofPod.values()]);
  }

  /** Returns those that were dropped; all of the pod without a volume. */
  drop(podUid: string, volumeName?: string): readonly TrackedCertificate[] {
    const ofPod = this.#pods.get(podUid);
    if (ofPod === undefined) return [];
    const dropped: TrackedCertificate[] = [];
    for (const [key, tracked] of ofPod) {
      if (volumeName !== undefined && tracked.source.volumeName !== volumeName) continue;
      ofPod.delete(key);
      dropped.push(tracked);
    }
    if (ofPod.size === 0) this.#pods.delete(podUid);
    return dropped;
  }
}

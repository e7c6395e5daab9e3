/** Pods as bytes, each converted once for all clients until it changes. */
import type { Pod, PodStatus } from '../../kube/index.js';
import { podMessage, servedPod } from './served-pod.js';

interface Converted {
  readonly status: PodStatus | undefined;
  readonly bytes: Uint8Array | undefined;
}

export class PodBytes {
  /** By the pod as it was configured: a change of it is another object. Goes with the pod. */
  readonly #converted = new WeakMap<Pod, Converted>();
  readonly #onMisfit: (pod: Pod, error: unknown) => void;

  /** `onMisfit` is told once of a pod that protobuf cannot express; nobody gets that pod. */
  constructor(onMisfit: (pod: Pod, error: unknown) => void) {
    this.#onMisfit = onMisfit;
  }

  /** Undefined for a pod that protobuf cannot express. */
  of(pod: Pod, status: PodStatus | undefined): Uint8Array | undefined {
    const known = this.#converted.get(pod);
    if (known !== undefined && known.status === status) return known.bytes;
    const bytes = this.#convert(pod, status);
    this.#converted.set(pod, { status, bytes });
    return bytes;
  }

  #convert(pod: Pod, status: PodStatus | undefined): Uint8Array | undefined {
    try {
      return podMessage.encode(servedPod(pod, status));
    } catch (error) {
      this.#onMisfit(pod, error);
      return undefined;
    }
  }
}

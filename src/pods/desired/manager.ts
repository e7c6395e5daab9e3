/** The desired pods of this node by UID and by full name, and the mirrors of static pods. */
import {
  configHashAnnotation,
  configMirrorAnnotation,
  isMirrorPod,
  type Pod,
  podFullName,
} from '../../kube/index.js';

export class PodManager {
  readonly #pods = new Map<string, Pod>();
  readonly #podsByFullName = new Map<string, Pod>();
  readonly #mirrors = new Map<string, Pod>();
  readonly #mirrorsByFullName = new Map<string, Pod>();
  readonly #staticUidOfMirror = new Map<string, string>();
  readonly #listeners = new Set<() => void>();

  /** Calls back when a pod came, changed or went; returns how to stop that. Mirrors do not count. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Adds a pod or updates it. */
  upsert(pod: Pod): void {
    const uid = pod.metadata.uid;
    const fullName = podFullName(pod);
    if (isMirrorPod(pod)) {
      this.#mirrors.set(uid, pod);
      this.#mirrorsByFullName.set(fullName, pod);
      const owner = this.#podsByFullName.get(fullName);
      if (owner !== undefined) this.#staticUidOfMirror.set(uid, owner.metadata.uid);
      return;
    }
    this.#pods.set(uid, pod);
    this.#podsByFullName.set(fullName, pod);
    const mirror = this.#mirrorsByFullName.get(fullName);
    if (mirror !== undefined) this.#staticUidOfMirror.set(mirror.metadata.uid, uid);
    for (const listener of this.#listeners) listener();
  }

  remove(pod: Pod): void {
    const uid = pod.metadata.uid;
    const fullName = podFullName(pod);
    if (isMirrorPod(pod)) {
      this.#mirrors.delete(uid);
      removeIfSame(this.#mirrorsByFullName, fullName, uid);
      this.#staticUidOfMirror.delete(uid);
      return;
    }
    this.#pods.delete(uid);
    // A pod that took over the name in the meantime keeps it.
    removeIfSame(this.#podsByFullName, fullName, uid);
    for (const listener of this.#listeners) listener();
  }

  byUid(uid: string): Pod | undefined {
    return this.#pods.get(uid);
  }

  byFullName(fullName: string): Pod | undefined {
    return this.#podsByFullName.get(fullName);
  }

  list(): readonly Pod[] {
    return [...this.#pods.values()];
  }

  mirrors(): readonly Pod[] {
    return [...this.#mirrors.values()];
  }

  mirrorOf(pod: Pod): Pod | undefined {
    return this.#mirrorsByFullName.get(podFullName(pod));
  }

  /** A pod and its mirror, whichever of the two is given. */
  podAndMirror(pod: Pod): { pod: Pod | undefined; mirror: Pod | undefined; wasMirror: boolean } {
    if (isMirrorPod(pod))
      return { pod: this.#podsByFullName.get(podFullName(pod)), mirror: pod, wasMirror: true };
    return { pod, mirror: this.mirrorOf(pod), wasMirror: false };
  }

  /** The static pod's UID for a mirror's; any other UID unchanged. */
  translateUid(uid: string): string {
    return this.#staticUidOfMirror.get(uid) ?? uid;
  }

  /** Full names that have a mirror but no pod. */
  orphanedMirrors(): readonly string[] {
    return [...this.#mirrorsByFullName.keys()].filter((fullName) => !this.#podsByFullName.has(fullName));
  }
}

/** Whether a mirror belongs to exactly this version of the static pod. */
export function isMirrorOf(mirror: Pod, pod: Pod): boolean {
  return (
    mirror.metadata.name === pod.metadata.name &&
    mirror.metadata.namespace === pod.metadata.namespace &&
    mirror.metadata.annotations?.[configMirrorAnnotation] === pod.metadata.annotations?.[configHashAnnotation]
  );
}

function removeIfSame(byFullName: Map<string, Pod>, fullName: string, uid: string): void {
  if (byFullName.get(fullName)?.metadata.uid === uid) byFullName.delete(fullName);
}

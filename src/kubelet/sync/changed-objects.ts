/** Reacts to ConfigMaps and Secrets that changed: volumes show them at once, and pods that wait for them try again. */
import type { PodObjects, PodVolumes } from '../ports.js';

export interface ChangedObjectsOptions {
  readonly objects: Pick<PodObjects, 'onChange'> | undefined;
  readonly volumes: Pick<PodVolumes, 'objectsChanged'>;
  readonly isTerminating: (uid: string) => boolean;
  readonly sync: (uids: readonly string[]) => void;
}

/** Returns how to end it. */
export function followChangedObjects(options: ChangedObjectsOptions): () => void {
  const { objects, volumes, isTerminating, sync } = options;
  const unsubscribe = objects?.onChange?.(({ podUids }) => {
    // A pod that ends keeps what it has: its objects may be deleted before it is gone.
    volumes.objectsChanged(new Set(podUids.filter((uid) => !isTerminating(uid))));
    sync(podUids);
  });
  return unsubscribe ?? (() => {});
}

/** The name of a volume's folder. */
import type { VolumeSpec } from '../contracts.js';

/** The pod volume's name for inline volumes, the PersistentVolume's for others. */
export function innerNameOf(spec: VolumeSpec): string {
  return spec.kind === 'inline' ? spec.volume.name : (spec.persistentVolume.metadata.name ?? '');
}

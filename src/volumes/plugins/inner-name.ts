/** The name of a volume's directory. */
import type { VolumeSpec } from '../contracts.js';

/** The pod volume's name for inline volumes, otherwise the PersistentVolume's. */
export function innerNameOf(spec: VolumeSpec): string {
  return spec.kind === 'inline' ? spec.volume.name : (spec.persistentVolume.metadata.name ?? '');
}

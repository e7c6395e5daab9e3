/** Where CSI volumes of mode Block are on disk. */
import { join } from 'node:path/posix';
import { stagingRoot } from './names.js';

export interface BlockPlaces {
  /** `volumeDevices/<pv>`: all that is not the driver's. */
  readonly volume: string;
  readonly data: string;
  /** The binds of the device, one for each pod. */
  readonly map: string;
  readonly staging: string;
  /** The driver's files, one for each pod. */
  readonly publish: string;
}

export function blockRoot(rootDir: string): string {
  return join(stagingRoot(rootDir), 'volumeDevices');
}

export function blockPlaces(rootDir: string, volumeName: string): BlockPlaces {
  const root = blockRoot(rootDir);
  const volume = join(root, volumeName);
  return {
    volume,
    data: join(volume, 'data'),
    map: join(volume, 'dev'),
    staging: join(root, 'staging', volumeName),
    publish: join(root, 'publish', volumeName),
  };
}

/** Directories of all volumes stand beside those of single ones, which therefore cannot have their names. */
const reserved: ReadonlySet<string> = new Set(['staging', 'publish', '', '.', '..']);

export function isBlockVolumeName(name: string): boolean {
  return !reserved.has(name) && !name.includes('/');
}

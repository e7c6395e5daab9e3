/** Which subPaths are allowed, and the paths of their mounts. */
import { join } from 'node:path/posix';

/** What is wrong with a subPath (after expanding `subPathExpr`), or undefined. */
export function subPathProblem(subPath: string): string | undefined {
  if (subPath.startsWith('/')) return `error SubPath \`${subPath}\` must not be an absolute path`;
  if (subPath.split('/').includes('..'))
    return `unable to provision SubPath \`${subPath}\`: must not contain '..'`;
  return undefined;
}

/** The elements of a path without empty ones and `.`. */
export function pathElements(path: string): readonly string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

/** The elements from a base to a path in it, both without links; undefined if the path is not in it. */
export function elementsBelow(base: string, path: string): readonly string[] | undefined {
  const prefix = base === '/' ? '/' : `${base}/`;
  return path === base || path.startsWith(prefix) ? pathElements(path.slice(base.length)) : undefined;
}

/** The directory of a pod's subPath mounts. */
export function subPathsDirectory(podDirectory: string): string {
  return join(podDirectory, 'volume-subpaths');
}

/** The directory of a volume's subPath mounts. */
export function volumeSubPathsDirectory(podDirectory: string, innerVolumeName: string): string {
  return join(subPathsDirectory(podDirectory), oneName(innerVolumeName));
}

export interface SubPathLocation {
  /** `<root>/pods/<uid>` */
  readonly podDirectory: string;
  /** The pod volume's name, or the PersistentVolume's. */
  readonly innerVolumeName: string;
  readonly containerName: string;
  /** Index of the volumeMount in the container's list. */
  readonly mountIndex: number;
}

/** Where a subPath is mounted for the container runtime. */
export function subPathTarget(place: SubPathLocation): string {
  const volume = volumeSubPathsDirectory(place.podDirectory, place.innerVolumeName);
  return join(volume, oneName(place.containerName), String(place.mountIndex));
}

function oneName(name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('/'))
    throw new Error(`"${name}" cannot name a directory of subPath mounts`);
  return name;
}

/** Removes a volume's subPath mounts by their paths alone, without touching what is mounted. */
import { errorText } from '../../async/index.js';
import { cleanMountPoint, exists, type Host, isHostError, isMissing, namesIn } from '../../host/index.js';
import { subPathsDirectory, volumeSubPathsDirectory } from './subpath-names.js';

export interface SubPathRemains {
  readonly host: Host;
  /** `<root>/pods/<uid>` */
  readonly podDirectory: string;
  readonly innerVolumeName: string;
}

/** Idempotent; must run before the volume is torn down. One failing mount does not stop the others. */
export async function cleanSubPaths({ host, podDirectory, innerVolumeName }: SubPathRemains): Promise<void> {
  const volume = volumeSubPathsDirectory(podDirectory, innerVolumeName);
  // Most pods have none.
  if (!(await exists(host.ownFiles, subPathsDirectory(podDirectory)))) return;
  const failures: unknown[] = [];
  const attempt = async (step: () => Promise<void>): Promise<void> => {
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  };
  for (const container of await namesIn(host, volume)) {
    const dir = `${volume}/${container}`;
    await attempt(async () => {
      for (const entry of await namesIn(host, dir))
        await attempt(() => cleanMountPoint(host, `${dir}/${entry}`));
    });
    if (failures.length === 0) await attempt(() => removeIfThere(host, dir));
  }
  if (failures.length > 0) throw new AggregateError(failures, failures.map(errorText).join('; '));
  await removeIfThere(host, volume);
  await removeIfEmpty(host, subPathsDirectory(podDirectory));
}

async function removeIfThere({ files }: Host, dir: string): Promise<void> {
  try {
    await files.rmdir(dir);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

async function removeIfEmpty(host: Host, dir: string): Promise<void> {
  try {
    await removeIfThere(host, dir);
  } catch (error) {
    if (!isHostError(error, 'ENOTEMPTY', 'EEXIST')) throw error;
  }
}

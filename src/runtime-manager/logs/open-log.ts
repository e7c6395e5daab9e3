/** Finds the file of a container's log, which pods that mount the folder of logs may have exchanged for something else. */
import { basename, dirname, relative } from 'node:path';
import { type HeldPath, type Host, holdBelow, isHostError } from '../../host/index.js';

/** What logs are read through. */
export type LogFiles = Pick<Host, 'hold' | 'files'>;

/**
 * Holds the log. Links are followed as long as they stay among the logs of pods, and to where Docker writes its own: any
 * other could show a file of the node to whoever may read logs.
 */
export async function holdLog(host: LogFiles, path: string): Promise<HeldPath> {
  const logs = logsFolder(path);
  try {
    return await holdBelow(host, logs, relative(logs, path), { absoluteLinks: 'of the machine' });
  } catch (error) {
    if (!isHostError(error, 'EXDEV')) throw error;
    const real = await host.files.realpath(path);
    if (!isDockerLog(real)) throw error;
    return await host.hold(real);
  }
}

/** Holds the folder that a log lies in, by the same rule. */
export async function holdLogFolder(host: LogFiles, path: string): Promise<HeldPath> {
  const logs = logsFolder(path);
  return await holdBelow(host, logs, relative(logs, dirname(path)), { absoluteLinks: 'of the machine' });
}

/** The folder of all pods' logs: those of a container are at `<folder>/<pod>/<container>/<restartCount>.log`. */
function logsFolder(path: string): string {
  return dirname(dirname(dirname(path)));
}

/** `…/containers/<id>/<id>-json.log` */
export function isDockerLog(path: string): boolean {
  const folder = basename(dirname(path));
  return (
    /^[0-9a-f]{64}$/.test(folder) &&
    basename(path) === `${folder}-json.log` &&
    basename(dirname(dirname(path))) === 'containers'
  );
}

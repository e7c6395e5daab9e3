/** Opens a container's log safely: a pod that mounts the log directory may have replaced the file. */
import { basename, dirname, relative } from 'node:path';
import { type HeldPath, type Host, holdBelow, isHostError } from '../../host/index.js';

/** The host through which logs are read. */
export type LogHost = Pick<Host, 'hold' | 'files'>;

/**
 * Holds the log. Follows links only within the pod logs and to where Docker writes its own: any other could
 * expose a file of the node to whoever may read logs.
 */
export async function holdLog(host: LogHost, path: string): Promise<HeldPath> {
  const logs = logsDirectory(path);
  try {
    return await holdBelow(host, logs, relative(logs, path), { absoluteLinks: 'of the machine' });
  } catch (error) {
    if (!isHostError(error, 'EXDEV')) throw error;
    const real = await host.files.realpath(path);
    if (!isDockerLog(real)) throw error;
    return await host.hold(real);
  }
}

/** Holds a log's directory, by the same rule. */
export async function holdLogDirectory(host: LogHost, path: string): Promise<HeldPath> {
  const logs = logsDirectory(path);
  return await holdBelow(host, logs, relative(logs, dirname(path)), { absoluteLinks: 'of the machine' });
}

/** The directory of all pod logs: a container's are at `<directory>/<pod>/<container>/<restartCount>.log`. */
function logsDirectory(path: string): string {
  return dirname(dirname(dirname(path)));
}

/** `…/containers/<id>/<id>-json.log` */
export function isDockerLog(path: string): boolean {
  const dir = basename(dirname(path));
  return (
    /^[0-9a-f]{64}$/.test(dir) &&
    basename(path) === `${dir}-json.log` &&
    basename(dirname(dirname(path))) === 'containers'
  );
}

/** A host whose file calls run apart from all others. */
import type { Host } from './host.js';

/** The same machine, for paths whose file system may not respond; see `Host.apart`. */
export function hostApart(host: Host, key: string): Host {
  const { files, hold } = host.apart(key);
  return { ...host, files, hold };
}

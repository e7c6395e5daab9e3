/** Gives a host whose file calls are made apart from those of everybody else. */
import type { Host } from './host.js';

/** The same machine for work on a place whose file system may not answer; see `Host.apart`. */
export function hostApart(host: Host, key: string): Host {
  const { files, hold } = host.apart(key);
  return { ...host, files, hold };
}

/** The node's resolver file, reread only when it changed: every sandbox needs it, many at once. */
import { type BigIntStats, statSync } from 'node:fs';
import { errorText } from '../../async/index.js';
import { readNodeFile } from './pod-files.js';
import { emptyResolvConf, parseResolvConf, type ResolvConf } from './resolv-conf.js';

/** A file written this shortly before it was read may be written again with the same timestamps. */
const settledAfterMs = 2_000;

export class ResolverFile {
  #known: { readonly path: string; readonly info: BigIntStats; readonly conf: ResolvConf } | undefined;

  /** The file's current content; empty when there is no path. */
  async read(path: string): Promise<ResolvConf> {
    if (path === '') return emptyResolvConf;
    try {
      const info = statSync(path, { bigint: true });
      const known = this.#known;
      if (known?.path === path && isSame(known.info, info)) return known.conf;
      const conf = parseResolvConf(await readNodeFile(path));
      this.#known = isSettled(info) ? { path, info, conf } : undefined;
      return conf;
    } catch (cause) {
      throw new Error(`could not read the resolver file ${path}: ${errorText(cause)}`, { cause });
    }
  }
}

function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return (
    a.ino === b.ino &&
    a.dev === b.dev &&
    a.size === b.size &&
    a.mtimeNs === b.mtimeNs &&
    a.ctimeNs === b.ctimeNs
  );
}

/** The file system's clock is this machine's. */
function isSettled({ ctimeMs }: BigIntStats): boolean {
  return Date.now() - Number(ctimeMs) > settledAfterMs;
}

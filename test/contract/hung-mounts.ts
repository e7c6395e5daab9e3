/** File systems that never answer: FUSE mounts whose server reads nothing. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';

export interface HungMounts {
  readonly paths: readonly string[];
  /** Every call that hangs comes back with ENOTCONN, and the mounts go. May be repeated. */
  end(): void;
}

/** Mounts below a directory, as root. Only a signal that kills ends a call to them. */
export function hungMounts(directory: string, count: number): HungMounts {
  const servers: number[] = [];
  const paths: string[] = [];
  const mounted: string[] = [];
  const end = (): void => {
    for (const server of servers.splice(0)) closeSync(server);
    for (const path of mounted.splice(0)) execFileSync('umount', ['--lazy', path]);
  };
  try {
    for (let index = 0; index < count; index++) {
      const path = join(directory, `hung-${index}`);
      mkdirSync(path);
      const server = openSync('/dev/fuse', 'r+');
      servers.push(server);
      const options = 'fd=3,rootmode=40000,user_id=0,group_id=0';
      execFileSync('mount', ['--internal-only', '-t', 'fuse', '-o', options, 'hung', path], {
        stdio: ['ignore', 'ignore', 'inherit', server],
      });
      paths.push(path);
      mounted.push(path);
    }
  } catch (error) {
    end();
    throw error;
  }
  return { paths, end };
}

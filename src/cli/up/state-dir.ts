/** Where a bare node keeps everything, and the socket in it for the commands of its owner. */
import { homedir } from 'node:os';
import path from 'node:path';

/** Of the one node that a machine usually is. */
export const rootStateDir = '/var/lib/nodelet/node';

export function defaultStateDir(env: NodeJS.ProcessEnv = process.env): string {
  const own = env.NODELET_STATE_DIR;
  if (own) return path.join(own, 'node');
  if (process.getuid?.() === 0) return rootStateDir;
  return path.join(env.XDG_STATE_HOME || path.join(env.HOME || homedir(), '.local/state'), 'nodelet/node');
}

export { bareNodeSocket } from '../../bare-node/socket-path.js';

/** The socket of a bare node, in its state directory. */
import path from 'node:path';

export function bareNodeSocket(stateDir: string): string {
  return path.join(stateDir, 'nodelet.sock');
}

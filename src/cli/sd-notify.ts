/** Tells systemd that the service is ready, where it was started by systemd. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const timeoutMs = 5_000;

/** Node has no datagram unix sockets, so systemd's own tool speaks for this process. */
export async function notifySystemd(state: string, env: NodeJS.ProcessEnv): Promise<void> {
  if (env.NOTIFY_SOCKET === undefined || env.NOTIFY_SOCKET === '') return;
  await promisify(execFile)('systemd-notify', [`--pid=${process.pid}`, state], { env, timeout: timeoutMs });
}

/** Connects to a port and closes the connection. */
import { connect } from 'node:net';
import { Cancelled } from '../async/index.js';
import { formatHost, networkErrorText, podLookups } from '../http-get/index.js';
import type { ProbeCallLimits, TcpAddress } from './contracts.js';

export function tcpConnect({ host, port }: TcpAddress, limits: ProbeCallLimits): Promise<void> {
  const { clock, timeoutMs, signal } = limits;
  if (signal.aborted) return Promise.reject(new Cancelled());
  const wanted = formatHost({ hostname: host, port });
  return new Promise((resolve, reject) => {
    let isOver = false;
    const lookup = podLookups.lookup(() => !isOver);
    const socket = connect({ host: host || '127.0.0.1', port, lookup });
    const end = (settle: () => void): void => {
      isOver = true;
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      settle();
      socket.destroy();
    };
    const onAbort = (): void => end(() => reject(new Cancelled()));
    const timer = clock.setTimer(timeoutMs, () =>
      end(() => reject(new Error(`dial tcp ${wanted}: i/o timeout`))),
    );
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('connect', () => end(resolve));
    socket.on('error', (error) =>
      end(() => reject(new Error(networkErrorText(error, wanted, {}), { cause: error }))),
    );
  });
}
